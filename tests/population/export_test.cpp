#include <cmath>
#include <regex>

#include "engine/base/rng.h"
#include "engine/task/plan_resolution.h"
#include "population/code/kernel_source.h"
#include "population/code/target_guard.h"
#include "population/export/read_export.h"
#include "tests/population/export_fixture.h"
#include "tests/population/export_program.h"
#include "tests/population/fixture.h"

using namespace evo;
using namespace evo::test;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::Equals;
using Catch::Matchers::StartsWith;

namespace {

const Bindings kRight = {{"apply", std::string("right")},
                         {"threads", std::int64_t{32}},
                         {"cluster_size", std::int64_t{2}},
                         {"pdl", true},
                         {"swizzle", std::int64_t{64}}};

ExportRequest toy_request() {
  return export_request(toy_tree(), "toy", {"narrow", "wide"}, kRight, 90);
}

std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

std::string replaced(std::string text, const std::string& what, const std::string& with) {
  const std::size_t at = text.find(what);
  REQUIRE(at != std::string::npos);
  return text.replace(at, what.size(), with);
}

std::string read_error(const std::string& text) {
  return error_of([&] { read_exports(text, "best.cu").at(0); });
}

}  // namespace

TEST_CASE("the same request gives the same text") {
  CHECK(export_cuda(toy_request()) == export_cuda(toy_request()));
}

TEST_CASE("what is exported can be read back") {
  const ExportRequest request = toy_request();
  const Exported exported = read_exports(export_cuda(request), "best.cu").at(0);
  const Provenance& want = request.provenance;
  const Provenance& got = exported.provenance;
  CHECK_FALSE(exported.edited);
  CHECK(got.task == "toy");
  CHECK(got.task_hash == want.task_hash);
  CHECK(got.genome == want.genome);
  CHECK(got.target.options == want.target.options);
  REQUIRE(got.target.timed.size() == 2);
  CHECK(got.target.timed[1].name == "wide");
  CHECK(got.target.timed[1].parameters == want.target.timed[1].parameters);
  CHECK(got.target.validated.size() == want.target.validated.size());
  CHECK(got.device.name == "Test GPU");
  CHECK(got.device.uuid == "GPU-1");
  CHECK(got.device.facts == want.device.facts);
  CHECK(got.objective == want.objective);
  CHECK(got.latency_us == want.latency_us);
  CHECK(got.worst_relative_l2 == want.worst_relative_l2);
  REQUIRE(got.timings.size() == 2);
  CHECK(got.timings[0].median_us == 8.91);
  CHECK(got.timings[0].high_us == 8.95);
  CHECK(got.timings[0].conditions.sm_mhz_low == 1965);
  CHECK(got.timings[0].conditions.memory_mhz == 3201);
  CHECK(got.timings[0].conditions.other_processes == 2);
  CHECK(got.timings[0].conditions.power_limited);
  CHECK(got.salt == want.salt);
  CHECK(got.run == 3);
  CHECK(got.candidate == 217);
  CHECK(got.evo_version == "0.1.0");
  CHECK(got.nvrtc_version == "13.0");
  CHECK(got.compile_flags == want.compile_flags);
  REQUIRE(exported.programs.size() == 2);
  for (std::size_t i = 0; i < 2; ++i) {
    CHECK(exported.programs[i].source == source_in_export(request, i));
    CHECK(exported.programs[i].source_hash == request.programs[i].source_hash);
    CHECK(exported.programs[i].specialisation == request.programs[i].specialisation);
    CHECK(exported.programs[i].max_registers == 64);
  }
}

TEST_CASE("task, family, plans and reference come from the exported file alone") {
  const ExportRequest request = toy_request();
  const Exported exported = read_exports(export_cuda(request), "best.cu").at(0);
  const Task task = load_task(exported.tree, "toy");
  const std::vector<Family> families = load_families(exported.tree, task);
  REQUIRE(families.size() == 1);
  const Shape& shape = exported.provenance.target.timed.at(0);
  const Plan plan = resolve_plan(task, families[0], exported.provenance.genome, exported.provenance.target.options,
                                 shape, exported.provenance.device.facts);
  const Plan& want = request.programs.at(0).plans.at(shape.name);
  REQUIRE(plan.launches.size() == 2);
  CHECK(plan.launches[0].grid == want.launches[0].grid);
  CHECK(plan.launches[0].dynamic_smem_bytes == want.launches[0].dynamic_smem_bytes);
  CHECK(plan.workspaces.at(0).bytes == want.workspaces.at(0).bytes);
  const Bindings& options = exported.provenance.target.options;
  for (std::size_t i = 0; i < 2; ++i) {
    const Bindings& values = exported.programs[i].specialisation;
    CHECK(reference_program(exported.tree, task, options, values, {}).source == request.references[i].source);
  }
}

TEST_CASE("the file contains the kernels as they were compiled, guarded for other targets") {
  const ExportRequest request = toy_request();
  const std::string text = export_cuda(request);
  const std::string guard = target_guard({&request, 1}).macro;
  for (const Program& program : request.programs)
    CHECK(count_of(text, guarded_source(exported_source(program.source), guard)) == 1);
}

TEST_CASE("a macro in #pragma unroll, which nvcc does not expand, is exported as its number") {
  CHECK(exported_source("#define TILE 4\n#pragma unroll TILE\nfor") == "#define TILE 4\n#pragma unroll 4\nfor\n");
  CHECK(exported_source("  # pragma unroll TILE\n") == "  # pragma unroll TILE\n");
  CHECK(exported_source("#define TILE 4\n#define TILE_2 (TILE)\n#pragma unroll TILE_2\n#pragma unroll\n") ==
        "#define TILE 4\n#define TILE_2 (TILE)\n#pragma unroll TILE_2\n#pragma unroll\n");
}

TEST_CASE("the top of the file gives its content, origin, latency and build command") {
  const std::string text = export_cuda(toy_request());
  const std::string top = text.substr(0, text.find("#include"));
  CHECK_THAT(top, StartsWith("// toy: y = x x_scale + the sum of x x_scale over the row\n"));
  CHECK_THAT(top, ContainsSubstring("run 3, candidate 217) on Test GPU (sm_90a, driver 580.1)"));
  CHECK_THAT(top, ContainsSubstring("latency narrow wide out=f32: 8.91 us, measured"));
  CHECK_THAT(top, ContainsSubstring("warm wide: 8.91 us [8.90, 8.95]"));
  CHECK_THAT(top, ContainsSubstring("GPU        GPU-1\n"));
  CHECK_THAT(top, ContainsSubstring("clocks     SM 1965-1980 MHz (power limit), memory 3201 MHz\n"));
  CHECK_THAT(top, ContainsSubstring("beside     2 other process(es) on the GPU\n"));
  CHECK_THAT(top, ContainsSubstring("plain: apply=right cluster_size=2 pdl=true swizzle=64 threads=32"));
  CHECK_THAT(top, ContainsSubstring("nvcc -std=c++17 -gencode=arch=compute_90a,code=sm_90a -maxrregcount=64 -DEVO_MAIN "
                                    "FILE.cu -o best && ./best [R,N]"));
}

TEST_CASE(
    "the top of the file says where kernels of its objective do not hold, and the task's hash does not cover that") {
  ExportRequest request = toy_request();
  const std::string hash = load_task(request.files, "toy").hash;
  request.files["toy/cautions.json"] = R"({"latency": ["Sizes above 9 err."], "other": ["Not this one."]})";
  CHECK(load_task(request.files, "toy").hash == hash);
  const std::string text = export_cuda(request);
  CHECK_THAT(text, ContainsSubstring("//   CAUTION    Sizes above 9 err.\n"));
  CHECK_THAT(text, !ContainsSubstring("Not this one."));
  request.files["toy/cautions.json"] = R"({"latency": [3]})";
  CHECK_THROWS_WITH(export_cuda(request), ContainsSubstring("toy/cautions.json: latency[0]"));
}

TEST_CASE("a kernel whose reference is a program of torch is exported without a program that checks it") {
  ExportRequest request = toy_request();
  request.task.reference = "toy/reference.py";
  CHECK_THAT(error_of([&] { export_cuda(request); }), ContainsSubstring("nothing to export"));
  request.references.clear();
  const std::string text = export_cuda(request);
  CHECK_THAT(text, ContainsSubstring("cudaError_t evo_toy("));
  CHECK(count_of(text, "EVO_MAIN") == 0);
}

TEST_CASE("a modelled latency is called modelled") {
  ExportRequest request = toy_request();
  request.provenance.device.kind = "vgpu";
  CHECK_THAT(export_cuda(request), ContainsSubstring("8.91 us, MODELLED, not measured"));
}

TEST_CASE("the launcher's arguments follow from the task and are documented") {
  const std::string text = export_cuda(toy_request());
  const std::size_t start = text.find("size_t evo_toy");
  const std::string host = text.substr(start, text.find("#ifdef EVO_MAIN") - start);
  CHECK_THAT(host, StartsWith("size_t evo_toy_workspace_bytes(int R, int N) {"));
  CHECK_THAT(host, ContainsSubstring("cudaError_t evo_toy(const void* x, const float* x_scale, float* y, int R, "
                                     "int N, void* workspace,\n    cudaStream_t stream) {"));
  CHECK_THAT(host, ContainsSubstring("//   x        in  s8 [R, N], real value = code * x_scale\n"));
  CHECK_THAT(host, ContainsSubstring("one that this file has a kernel for: N = 64 or N = 128.\n"));
}

TEST_CASE("the launcher's documentation says what is read and written, and how far rows are apart") {
  const ExportRequest request = export_request(toy_tree(), "forms", {"small"}, {}, 90);
  const std::string text = export_cuda(request);
  for (const char* line :
       {"//   w        in  u8 [M, N], real value = (code - w_zero) * w_scale\n",
        "//   codes    in  e2m1 [M, N], two in a byte, the first in its low half, real value = code * code_scale\n",
        "//   x        in  bf16 [M, N], rows are LD + 1 elements apart\n",
        "//   y        in out bf16 [M, N], rows are LD elements apart\n", "densely packed but where strides are given;",
        "// or the sizes do not meet what is required: N % 4 == 0 && LD >= N.\n",
        "const int* w_zero, const void* codes,",
        "const long long* rows, void* y, int* best,\n    unsigned short* positive"})
    CHECK_THAT(text, ContainsSubstring(line));
  CHECK_THAT(text.substr(text.find("cudaError_t evo_forms(")), !ContainsSubstring("float* bias, void*"));
}

TEST_CASE("arguments of every form and files of draws can be read back") {
  SourceTree tree = toy_tree();
  tree["forms/rows.bin"] = std::string("\x00\xff\n*/ \x80", 7) + std::string(37 * 8 - 7, '\1');
  tree["forms/task.json"] = replaced(tree["forms/task.json"], R"("draw": "permutation")", R"("draw": "@rows.bin")");
  const ExportRequest request = export_request(tree, "forms", {"small"}, {}, 90);
  const std::string text = export_cuda(request);
  const Exported exported = read_exports(text, "best.cu").at(0);
  CHECK(exported.tree.at("forms/rows.bin") == tree["forms/rows.bin"]);
  const Task task = load_task(exported.tree, "forms");
  const std::vector<Family> families = load_families(exported.tree, task);
  const Shape& shape = exported.provenance.target.timed.at(0);
  const Plan plan = resolve_plan(task, families.at(0), exported.provenance.genome, exported.provenance.target.options,
                                 shape, exported.provenance.device.facts);
  const std::vector<Argument>& want = request.programs.at(0).plans.at(shape.name).launches.at(0).arguments;
  REQUIRE(plan.launches.at(0).arguments.size() == want.size());
  for (std::size_t i = 0; i < want.size(); ++i) CHECK(plan.launches[0].arguments[i].fields == want[i].fields);
  CHECK_THAT(read_error(replaced(text, "\"forms/rows.bin\": \"00ff", "\"forms/rows.bin\": \"00f")),
             ContainsSubstring("hexadecimal"));
}

TEST_CASE("an edited kernel is distinguished from the exported one") {
  const ExportRequest request = toy_request();
  const std::string text = replaced(export_cuda(request), "code * scale + sum", "code * scale + sum + 0.0f");
  const Exported exported = read_exports(text, "best.cu").at(0);
  CHECK(exported.edited);
  CHECK(exported.programs[0].source_hash != request.programs[0].source_hash);
  CHECK(exported.programs[1].source_hash == request.programs[1].source_hash);
  CHECK_THAT(exported.programs[0].source, ContainsSubstring("sum + 0.0f"));
}

TEST_CASE("a file without provenance, or with a damaged one, is refused in one line that says so") {
  const std::string text = export_cuda(toy_request());
  CHECK_THAT(read_error("__global__ void mine() {}\n"),
             Equals("best.cu has no evo provenance: only files written by `evo export` can be read"));
  CHECK_THAT(read_error(""), ContainsSubstring("no evo provenance"));
  CHECK_THAT(read_error(text.substr(0, text.size() - 10)),
             Equals("best.cu: its evo provenance is cut off: export it again"));
  CHECK_THAT(read_error(replaced(text, "\n \"format\": 5", "\n \"format\": 6")),
             Equals("best.cu was exported by a newer evo (format 6, this evo knows 5): update evo"));
  CHECK_THAT(read_error(replaced(text, "\n \"run\": 3", "\n \"run\": \"x\"")),
             ContainsSubstring("field run is no integer"));
  CHECK_THAT(read_error(replaced(text, "\n \"salt\": \"", "\n \"salt\": \"g")), ContainsSubstring("field salt "));
  CHECK_THAT(read_error(replaced(text, "\n \"objective\":", "\n \"objectiv\":")), ContainsSubstring("objectiv"));
  CHECK_THAT(read_error(replaced(text, "==== evo kernel 1 ====", "==== kernel ====")),
             ContainsSubstring("kernel 1 are missing"));
  CHECK_THAT(read_error(replaced(text, "\"max_registers\": 64", "\"max_registers\": 64000")),
             ContainsSubstring("0 to 255"));
  CHECK_THAT(read_error(replaced(text, "\"toy/plain/family.json\"", "\"toy/other/family.json\"")),
             ContainsSubstring("best.cu: "));
  const std::string deep = "\n/* evo-provenance\n" + std::string(200'000, '[') + "\n*/\n";
  for (const std::string& bad :
       {deep, std::string("\n/* evo-provenance\n{}\n*/"), std::string("\n/* evo-provenance\n\n*/")}) {
    CHECK(is_one_line(read_error(bad)));
    CHECK_THAT(read_error(bad), StartsWith("best.cu"));
  }
}

TEST_CASE("an exported file whose lines end in CR LF is read") {
  const ExportRequest request = toy_request();
  std::string text;
  for (const char c : export_cuda(request)) text += c == '\n' ? std::string("\r\n") : std::string(1, c);
  CHECK(holds_export(text));
  const Exported exported = read_exports(text, "best.cu").at(0);
  CHECK_FALSE(exported.edited);
  REQUIRE(exported.programs.size() == 2);
  CHECK(exported.programs[1].source == source_in_export(request, 1));
}

TEST_CASE("several exported files in one are refused") {
  const std::string text = export_cuda(toy_request());
  CHECK(read_error(text + text) == "best.cu holds several exported files: name each by itself");
}

TEST_CASE("a damaged exported file gives at most an error of one line") {
  const std::string text = export_cuda(toy_request());
  Rng rng(99);
  int refused = 0;
  for (int round = 0; round < 3000; ++round) {
    std::string damaged = text;
    const std::size_t provenance = text.rfind("/* evo-provenance");
    for (std::uint64_t i = 0; i <= rng.below(3); ++i) {
      const std::size_t at = provenance + rng.below(text.size() - provenance);
      switch (rng.below(4)) {
        case 0:
          damaged[std::min(at, damaged.size() - 1)] = static_cast<char>(rng.below(256));
          break;
        case 1:
          damaged.erase(std::min(at, damaged.size() - 1), 1 + rng.below(20));
          break;
        case 2:
          damaged.insert(std::min(at, damaged.size()), damaged.substr(provenance, rng.below(50)));
          break;
        default:
          damaged.insert(std::min(at, damaged.size()), std::to_string(rng.next()));
          break;
      }
    }
    const std::string message = read_error(damaged);
    CHECK(message.find('\n') == std::string::npos);
    refused += !message.empty();
  }
  CHECK(refused > 1000);
}

TEST_CASE("a task that says nothing of itself is called by its name, and leaves no empty comment") {
  ExportRequest request = toy_request();
  request.task.summary.clear();
  const std::string text = export_cuda(request);
  CHECK(text.find("// " + request.task.name + "\n") != std::string::npos);
  CHECK(count_of(text, "// \n") == 0);
}

TEST_CASE("names with special characters stay within their comments and strings") {
  ExportRequest request = toy_request();
  request.provenance.device.name = "evil\n#error injected\n*/ \" \\";
  request.provenance.evo_version = "1 \\";
  request.provenance.nvrtc_version = "*/ int injected; /*";
  request.task.summary = "summary\r\n#error injected";
  request.files["toy/task.json"] = replaced(request.files["toy/task.json"], "y = x", "*/ int injected; /* y = x");
  const std::string text = export_cuda(request);
  CHECK(count_of(text, "\n#error") == 0);
  const std::size_t provenance = text.rfind("/* evo-provenance");
  CHECK(text.find("*/", provenance) == text.size() - 3);
  CHECK(text.find("/*", provenance + 2) == std::string::npos);
  for (std::size_t at = text.find("\\\n"); at != std::string::npos; at = text.find("\\\n", at + 1)) {
    const std::size_t line = text.rfind('\n', at) + 1;
    CHECK(text.substr(line, 2) != "//");
  }
  const Exported exported = read_exports(text, "best.cu").at(0);
  CHECK(exported.provenance.device.name == request.provenance.device.name);
  CHECK(exported.tree.at("toy/task.json") == request.files["toy/task.json"]);
}

TEST_CASE("a name that the host code or C++ uses is prefixed, other names stay") {
  for (const std::string name :
       {"stream", "all", "using", "register", "unsigned", "namespace", "typename", "goto", "volatile", "sizeof",
        "derived_row_bytes", "argument_4", "kernel", "allow_shared_memory", "evo_x"}) {
    CAPTURE(name);
    SourceTree tree = toy_tree();
    for (const char* file : {"toy/task.json", "toy/plain/family.json"})
      tree[file] = std::regex_replace(tree[file], std::regex("\\bx_scale\\b"), name);
    CHECK_THAT(export_cuda(export_request(tree, "toy", {"narrow", "wide"}, kRight, 90)),
               ContainsSubstring("const float* evo_" + name + ", float* y"));
  }
  CHECK_THAT(export_cuda(toy_request()), ContainsSubstring("const float* x_scale, float* y"));
}

TEST_CASE("the launcher has the name that is asked for, and it can be read back") {
  const std::string text = export_cuda(toy_request(), "my_toy");
  CHECK_THAT(text, ContainsSubstring("// A launcher, my_toy below:") && ContainsSubstring("\ncudaError_t my_toy(") &&
                       ContainsSubstring("\nsize_t my_toy_workspace_bytes(") && !ContainsSubstring("evo_toy"));
  CHECK(read_exports(text, "best.cu").at(0).launcher == "my_toy");
  CHECK(read_exports(export_cuda(toy_request()), "best.cu").at(0).launcher == "evo_toy");
  for (const std::string name : {"1st", "a-b", "for", "_mine", "main", "f(", "a b"}) {
    CHECK(error_of([&] { export_cuda(toy_request(), name); }) ==
          "'" + name + "' cannot be the launcher's name: name it like a function in C, as my_toy");
  }
  CHECK_THAT(read_error(replaced(text, "\n \"launcher\": \"my_toy\"", "\n \"launcher\": \"my toy\"")),
             Equals("best.cu: its provenance is damaged: field launcher is no name of a function"));
}

TEST_CASE("a file of an older evo, which names no launcher, has fewer fields and 0 for an unknown clock, is read") {
  std::string text =
      replaced(export_cuda(toy_request()), "\n \"format\": 5,\n \"launcher\": \"evo_toy\",", "\n \"format\": 1,");
  text = replaced(replaced(text, "\"power_limited\": true,", ""), "\"sm_mhz_low\": 1965", "\"sm_mhz_low\": 0");
  const Exported exported = read_exports(text, "best.cu").at(0);
  CHECK(exported.launcher == "evo_toy");
  CHECK(exported.programs.size() == 2);
  const Conditions& conditions = exported.provenance.timings.at(0).conditions;
  CHECK_FALSE(conditions.sm_mhz_low);
  CHECK(conditions.sm_mhz_high == 1980);
  CHECK_FALSE(conditions.power_limited);
}

TEST_CASE("every name of a file but the launcher's carries a hash of its content") {
  const std::string one = export_cuda(toy_request());
  ExportRequest request = toy_request();
  request.provenance.candidate = 218;
  CHECK(content_of(one) == content_of(export_cuda(toy_request())));
  CHECK(content_of(one) != content_of(export_cuda(request)));
  CHECK(content_of(one) != content_of(export_cuda(toy_request(), "my_toy")));
  const std::regex declared("\nnamespace (\\w+)|\n#define toy_\\w+ (\\w+)");
  int names = 0;
  for (std::sregex_iterator at(one.begin(), one.end(), declared), end; at != end; ++at, ++names)
    CHECK_THAT(at->str(), ContainsSubstring("_" + content_of(one)));
  CHECK(names == 4 + 6 + 2);  // Namespaces of two kernels, of their references, of host and main; two and one renamed.
}

TEST_CASE("a name that C++ does not allow is refused") {
  ExportRequest request = toy_request();
  request.task.inputs[0].name = "x-y";
  CHECK_THAT(error_of([&] { export_cuda(request); }), ContainsSubstring("'x-y' cannot be exported"));
}

TEST_CASE("an incomplete request is refused") {
  ExportRequest request = toy_request();
  request.references.pop_back();
  CHECK_THAT(error_of([&] { export_cuda(request); }), StartsWith("nothing to export"));
  request = toy_request();
  request.provenance.target.timed.clear();
  CHECK_THAT(error_of([&] { export_cuda(request); }), StartsWith("nothing to export"));
}
