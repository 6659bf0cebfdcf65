// Exported files are compiled and run here: with the host's compiler against a CUDA runtime that lives on the
// CPU (exported/fake_cudart.cpp), and, where the CUDA Toolkit is installed, with nvcc.
#include <fmt/ranges.h>

#include <cstddef>
#include <cstring>
#include <optional>
#include <regex>

#include "engine/task/plan_resolution.h"
#include "evaluator/device/inputs.h"
#include "population/export/read_export.h"
#include "tests/population/export_fixture.h"
#include "tests/population/export_program.h"
#include "tests/population/fixture.h"

using namespace evo;
using namespace evo::test;
using namespace std::string_literals;
using Catch::Matchers::ContainsSubstring;

namespace {

void replace(std::string& text, const std::string& what, const std::string& with) {
  const std::size_t at = text.find(what);
  REQUIRE(at != std::string::npos);
  text.replace(at, what.size(), with);
}

}  // namespace

TEST_CASE("the exported program accepts a right kernel and launches what the plan says", "[long]") {
  const ExportRequest request = export_request(toy_tree(), "toy", {"narrow", "wide"}, toy_genes("right"), 90);
  const ToyProgram program(export_cuda(request));
  const auto plan = [&](const Shape& shape) {
    return resolve_plan(request.task, request.family, request.provenance.genome, request.provenance.target.options,
                        shape, request.provenance.device.facts);
  };

  // Without arguments: the first timed shape, printed with its claim.
  const std::string first = program.run_successfully();
  CHECK_THAT(first, ContainsSubstring("toy R=70 N=64 on Fake GPU"));
  CHECK_THAT(first, ContainsSubstring("first call"));
  CHECK_THAT(first, ContainsSubstring("after timing"));
  CHECK_THAT(first,
             ContainsSubstring("warm latency 5.00 us"));  // The runtime's clock says 0.1 ms for 20 calls.
  CHECK_THAT(first, ContainsSubstring("claimed      8.91 us (narrow, Test GPU)"));
  // Two calls, the second one of views; those in a graph are not printed.
  const auto twice = [](const std::string& text) { return text + text; };
  CHECK_THAT(first, ContainsSubstring("of views"));
  CHECK(lines_with(first, "launch") == twice(launch_lines(plan(request.task.shape("narrow")), "N64")));
  CHECK(lines_with(first, "map") == twice("map type 0 rank 2 dims 64 70 stride 64 box 64 1 swizzle 2\n"));
  // 64 KB of shared memory are asked for by each call.
  CHECK(lines_with(first, "attribute") == twice("attribute 8 of toy_sum_N64 is 65536\n"));

  // The other specialisation, and a size at which the launch plan takes another branch (R > 100).
  const std::string large = program.run_successfully("R=101,N=128");
  CHECK(lines_with(large, "launch") == twice(launch_lines(plan(parse_shape(request.task, "101,128")), "N128")));
  CHECK_THAT(large, !ContainsSubstring("claimed"));

  CHECK_THAT(first, ContainsSubstring("  refusals     15 calls that must be refused: right\n"));

  CHECK(program.run("1,64").exit_code == 0);
  for (const std::string bad : {"3,65", "0,64", "x", "1,2,3", "Q=1", "R=1 2", "-1,64", "99999999999,64"}) {
    const CommandResult refused = program.run(bad);
    CHECK(refused.exit_code == 2);
    CHECK_THAT(refused.output,
               ContainsSubstring("usage: ") && ContainsSubstring("[R,N] [check], with N == 64 or N == 128"));
  }
}

TEST_CASE("an exported launcher launches a kernel that waits for the grid cooperatively, and no other") {
  ExportRequest request = export_request(toy_tree(), "toy", {"narrow"}, toy_genes("right"), 90);
  request.cooperative = {"toy_apply"};
  const std::string launches = lines_with(ToyProgram(export_cuda(request)).run_successfully("1,64 check"), "launch");
  CHECK(std::regex_search(launches, std::regex("launch toy_apply\\w* .* cooperative\n")));
  CHECK_FALSE(std::regex_search(launches, std::regex("launch toy_sum\\w* .* cooperative\n")));
}

TEST_CASE("the exported program checks without timing when asked to", "[long]") {
  ExportRequest request = export_request(toy_tree(), "toy", {"narrow", "wide"}, toy_genes("right"), 90);
  const ToyProgram program(export_cuda(request));
  const std::string checked = program.run_successfully("1,64 check");
  CHECK_THAT(checked, ContainsSubstring("first call") && !ContainsSubstring("warm latency"));
}

TEST_CASE("the exported program rejects a wrong kernel") {
  const ToyProgram program(export_cuda(export_request(toy_tree(), "toy", {"narrow"}, toy_genes("forgets_scale"), 90)));
  const CommandResult result = program.run();
  INFO(result.output);
  CHECK(result.exit_code == 1);
  CHECK_THAT(result.output, ContainsSubstring("WRONG"));
}

TEST_CASE("the exported program rejects a kernel that leaves an output unwritten") {
  SourceTree tree = toy_tree();
  tree["toy/plain/kernel.cu"].replace(tree["toy/plain/kernel.cu"].find("i < count) y[i]"), 9, "i + 1 < count");
  const ToyProgram program(export_cuda(export_request(tree, "toy", {"narrow"}, toy_genes("right"), 90)));
  const CommandResult result = program.run();
  INFO(result.output);
  CHECK(result.exit_code == 1);
  CHECK_THAT(result.output, ContainsSubstring("WRONG (not finite where the reference is"));
}

namespace {

/// Compiles the file by the command that it names itself, into an object file.
CommandResult compile_by_its_own_command(const std::string& text) {
  const std::string nvcc = nvcc_path();
  if (nvcc.empty()) SKIP("no nvcc");
  const std::size_t start = text.find("nvcc -std");
  std::string command = text.substr(start, text.find(" -c FILE.cu", start) - start);
  const TempFolder folder;
  write_text(folder / "best.cu", text);
  return run_command(fmt::format("'{}'{} -DEVO_MAIN -c '{}' -o '{}'", nvcc, command.substr(4),
                                 (folder / "best.cu").string(), (folder / "best.o").string()));
}

}  // namespace

TEST_CASE("an exported launcher allows shared memory again on another device and after a reset", "[long]") {
  const std::string probe = R"cuda(
#include <cstdio>
static int call() {
  alignas(256) static char memory[65536];
  return evo_toy(memory, (float*)memory, (float*)memory, 5, 64, memory, nullptr);
}
int main() {
  std::printf("probe %d\n", call());
  cudaSetDevice(1);
  std::printf("probe on another device %d\n", call());
  cudaSetDevice(0);
  cudaDeviceReset();
  std::printf("probe after a reset %d\n", call());
}
)cuda";
  SourceTree tree = toy_tree();
  const auto probed = [&] {
    const ToyProgram program(export_cuda(export_request(tree, "toy", {"narrow"}, toy_genes("right"), 90)) + probe, "");
    return lines_with(program.run().output, "probe");
  };
  const std::string right = "probe 0\nprobe on another device 0\nprobe after a reset 0\n";
  CHECK(probed() == right);
  replace(tree["toy/plain/family.json"], R"json("dynamic_smem": "N * 1024")json",
          R"json("dynamic_smem": "N * 1000 + R")json");
  CHECK(probed() == right);
}

TEST_CASE("an exported launcher only raises the shared memory of a kernel that needs more in some calls") {
  SourceTree tree = toy_tree();
  replace(tree["toy/plain/family.json"], R"json("dynamic_smem": "N * 1024")json",
          R"json("dynamic_smem": "R * 1000")json");
  const ToyProgram program(export_cuda(export_request(tree, "toy", {"narrow"}, toy_genes("right"), 90)) + R"cuda(
int main() {
  alignas(256) static char memory[65536];
  for (const int rows : {3, 60, 50, 70, 60}) {
    if (evo_toy(memory, (float*)memory, (float*)memory, rows, 64, memory, nullptr) != cudaSuccess) return 1;
  }
}
)cuda",
                           "");
  CHECK(lines_with(program.run_successfully(), "attribute") ==
        "attribute 8 of toy_sum_N64 is 60000\nattribute 8 of toy_sum_N64 is 70000\n");
}

TEST_CASE("an exported launcher never lowers the shared memory of a kernel that a plan launches twice") {
  SourceTree tree = toy_tree();
  // The same again with less shared memory.
  replace(
      tree["toy/plain/family.json"], R"json("programmatic": "pdl",)json",
      R"json("programmatic": "pdl", "dynamic_smem": "100000", "arguments": ["x_map", "x_scale", "sums", "y", "R * N"]},
    {"kernel": "toy_apply", "grid": ["ceil_div(N, threads)", "R", "1"], "block": ["threads", "1", "1"], "dynamic_smem": "60000",)json");
  const ToyProgram program(export_cuda(export_request(tree, "toy", {"narrow"}, toy_genes("right"), 90)));
  const std::string result = program.run_successfully("70,64 check");
  const std::string most = "attribute 8 of toy_apply_N64 is 100000\n";
  CHECK(lines_with(result, "attribute 8 of toy_apply") == most + most + most + most);  // Two calls.
}

TEST_CASE("the exported program rejects a finite result where the reference is not finite") {
  SourceTree tree = toy_tree();
  replace(tree["toy/reference.cu"], "double sum = 0;", "double sum = row == 3 ? __builtin_nan(\"\") : 0;");
  const ToyProgram program(export_cuda(export_request(tree, "toy", {"narrow"}, toy_genes("right"), 90)));
  const CommandResult result = program.run();
  INFO(result.output);
  CHECK(result.exit_code == 1);
  CHECK_THAT(result.output, ContainsSubstring("WRONG (not finite where the reference is, or the reverse)"));
}

TEST_CASE("derived values may have any name, those of the host code and of C++ too") {
  SourceTree tree = toy_tree();
  std::string& family = tree["toy/plain/family.json"];
  replace(family, R"json("derived": [)json", R"json("derived": [
    {"name": "bytes", "value": "R * 4"}, {"name": "next", "value": "bytes + N"}, {"name": "limit", "value": "next > 5"},
    {"name": "box", "value": "max(N, R)"}, {"name": "dims", "value": "R"}, {"name": "error", "value": "box"},
    {"name": "launch", "value": "log2(R)"}, {"name": "stream", "value": "R % 7"}, {"name": "arguments", "value": "limit ? R : N"},
    {"name": "default", "value": "min(arguments, stream) // 3 + (1 << launch)"},)json");
  replace(family, R"json("bytes": "R * 4")json", R"json("bytes": "bytes + default % 1")json");
  replace(family, R"json("arguments": ["x_map", "x_scale", "sums", "y", "R * N"])json",
          R"json("arguments": ["x_map", "x_scale", "sums", "y", "dims * N"])json");
  const ToyProgram program(export_cuda(export_request(tree, "toy", {"narrow"}, toy_genes("right"), 90)));
  program.run_successfully();
}

TEST_CASE("tensors, parameters, workspaces and tensor maps may have any name, those of the host code and of C++ too",
          "[long]") {
  SourceTree tree = toy_tree();
  const std::vector<std::pair<std::string, std::string>> names = {
      {"R", "using"},      {"x", "register"}, {"x_scale", "namespace"}, {"y", "unsigned"},
      {"x_map", "encode"}, {"sums", "all"},   {"never", "goto"},        {"many", "stream"}};
  for (const char* file : {"toy/task.json", "toy/plain/family.json"}) {
    for (const auto& [name, other] : names)
      tree[file] = std::regex_replace(tree[file], std::regex("\\b" + name + "\\b"), other);
  }
  const ToyProgram program(export_cuda(export_request(tree, "toy", {"narrow"}, toy_genes("right"), 90)));
  for (const char* shape : {"", "using=101"}) {
    program.run_successfully(shape);
  }
}

TEST_CASE("an exported file has no workspace and no kernel for a size that its launcher refuses", "[long]") {
  SourceTree tree = toy_tree();
  // The grid ends at 65535 rows; bytes of the workspace end at 64 bits.
  replace(tree["toy/plain/family.json"], R"json("bytes": "R * row_bytes")json",
          R"json("bytes": "R > 60000 ? R * R * R * R * R : R * row_bytes")json");
  const ExportRequest request = export_request(tree, "toy", {"narrow"}, toy_genes("right"), 90);
  const std::string probe = R"cuda(
#include <cstdio>
static const int probe = [] {
  alignas(256) static char memory[1];
  for (const int rows : {70, 59999}) std::printf("probe %d: %zu\n", rows, evo_toy_workspace_bytes(rows, 64));
  for (const int rows : {-1, 60001, 65536, 33554432, 2147483647}) {
    const cudaError_t called = evo_toy(memory, (float*)memory, (float*)memory, rows, 64, memory, nullptr);
    std::printf("probe %d: %zu, error %d\n", rows, evo_toy_workspace_bytes(rows, 64), called);
  }
  return 0;
}();
)cuda";
  const ToyProgram program(export_cuda(request) + probe);
  const std::string result = program.run_successfully("1,64 check");
  CHECK(lines_with(result, "probe") ==
        "probe 70: 512\nprobe 59999: 15599872\nprobe -1: 0, error 1\nprobe 60001: 0, error 1\nprobe 65536: 0, error 1\n"
        "probe 33554432: 0, error 1\nprobe 2147483647: 0, error 1\n");

  ExportRequest other = export_request(tree, "toy", {"wide"}, toy_genes("right"), 90);
  const ToyProgram several(export_dispatch({request, other}) + R"cuda(
#include <cstdio>
static const int probe = [] {
  for (const int rows : {0, 70, 65536}) std::printf("probe %d: %d\n", rows, evo_toy_kernel(rows, 64));
  return 0;
}();
)cuda");
  CHECK(lines_with(several.run("1,64 check").output, "probe") == "probe 0: -1\nprobe 70: 0\nprobe 65536: -1\n");
}

namespace {

/// The task `forms`, which has what the toy has not: arguments by value, strides, zero points, integers, an output that
/// is read, scaled outputs.
ExportRequest forms_request(const SourceTree& tree) {
  return export_request(tree, "forms", {"small"}, {{"threads", std::int64_t{32}}}, 90);
}

/// Prints what `body` prints before main begins, and ends.
std::string probe_of(const std::string& body) {
  return "\nstatic const int probe = [] {\n" + body + "  std::fflush(stdout);\n  std::_Exit(0);\n  return 0;\n}();\n";
}

}  // namespace

TEST_CASE("the exported program rejects a launcher that accepts what it must refuse", "[long]") {
  const std::string right = export_cuda(export_request(toy_tree(), "toy", {"narrow"}, toy_genes("right"), 90));
  const auto said = [&](const std::string& what, const std::string& with, std::string text) {
    replace(text, what, with);
    const CommandResult result = ToyProgram(text).run("check");
    CHECK(result.exit_code == 1);
    return lines_with(result.output, "  refusals") + lines_with(result.output, "  workspace");
  };
  CHECK_THAT(said("y}, 16)) return cudaErrorInvalidValue", "y}, 16)) return cudaSuccess", right),
             ContainsSubstring("WRONG, accepted x = null"));
  CHECK_THAT(said("{workspace}, 256)) return cudaErrorInvalidValue", "{workspace}, 256)) return cudaSuccess", right),
             ContainsSubstring("WRONG, accepted workspace = null"));
  CHECK_THAT(said("for (int n = 0; n < ROW_LENGTH; ++n) sums[row]",
                  "sums[row + 128] = 1; for (int n = 0; n < ROW_LENGTH; ++n) sums[row]", right),
             ContainsSubstring("workspace    WRONG (written beyond its 512 bytes)"));
  CHECK_THAT(said("(R < 1 || N < 1) return cudaErrorInvalidValue", "(R < 1 || N < 1) return cudaSuccess", right),
             ContainsSubstring("WRONG, accepted R=0"));
  CHECK_THAT(said("({M, N, LD})) return cudaErrorInvalidValue", "({M, N, LD})) return cudaSuccess",
                  export_cuda(forms_request(toy_tree()))),
             ContainsSubstring("WRONG, accepted N=23"));
}

TEST_CASE("the exported program rejects a launcher that does not take views") {
  std::string text = export_cuda(export_request(toy_tree(), "toy", {"narrow"}, toy_genes("right"), 90));
  replace(text, "y}, 16)) return", "y}, 256)) return");
  const CommandResult result = ToyProgram(text).run("check");
  CHECK(result.exit_code != 0);
  CHECK_THAT(result.output, ContainsSubstring("evo_toy of views"));
}

TEST_CASE("the exported program gives kernels scalars, structs, codes and strides as the task has them") {
  const ToyProgram program(export_cuda(forms_request(toy_tree())));
  const std::string result = program.run_successfully();
  for (const char* output : {"y", "best", "positive", "out_codes", "out_scale"})
    CHECK_THAT(result, ContainsSubstring(output));
  CHECK_THAT(result, ContainsSubstring("best   first call   0 of 37 elements differ: right"));
  CHECK_THAT(result, ContainsSubstring("after timing") && !ContainsSubstring("TFLOP"));
  program.run_successfully("5,4,4");
  program.run_successfully("64,8,1000");
  const CommandResult refused = program.run("5,6,8");
  CHECK(refused.exit_code == 2);
  CHECK_THAT(refused.output, ContainsSubstring("[M,N,LD] [check], where N % 4 == 0 && LD >= N"));
}

TEST_CASE("tensors that the options switch on are arguments of the exported launcher", "[long]") {
  SourceTree tree = toy_tree();
  replace(tree["forms/task.json"], "[false, true]", "[true, false]");
  const std::string text = export_cuda(forms_request(tree));
  CHECK_THAT(text, ContainsSubstring("const long long* rows, const float* bias, void* y"));
  ToyProgram(text).run_successfully();
}

TEST_CASE("the exported program finds what a kernel does wrong", "[long]") {
  const auto rejected = [](const std::string& what, const std::string& with) {
    CAPTURE(what);
    SourceTree tree = toy_tree();
    replace(tree["forms/rows/kernel.cu"], what, with);
    const CommandResult result = ToyProgram(export_cuda(forms_request(tree))).run();
    CHECK(result.exit_code == 1);
    return result.output;
  };
  CHECK_THAT(rejected("2 * bf16(to)", "bf16(to)"), ContainsSubstring("WRONG"));
  CHECK_THAT(rejected("positive[m] = count", "positive[m] = count + (m == 5)"),
             ContainsSubstring("1 of 37 elements differ: WRONG"));
  CHECK_THAT(rejected("best[m] = last", "best[m] = m == 9 ? (last + 1) % N : last"),
             ContainsSubstring("1 of 37 elements differ: WRONG"));
  CHECK_THAT(rejected("y[m * sizes.apart + n];", "y[m * sizes.apart + n]; if (m == 3) y[m * sizes.apart + N] = 7;"),
             ContainsSubstring("WRONG (written between its rows)"));
  CHECK_THAT(rejected("out_scale[m] = most / 448", "out_scale[m] = m == 7 ? most / 300 : most / 448"),
             ContainsSubstring("WRONG"));
  CHECK_THAT(rejected("out_codes[m * N + n] = ", "out_codes[m * N + n] = m == 4 && n == 0 ? 0 : "),
             ContainsSubstring("1 elements beyond 1.0e-01 + 1.0e-01 |want|: WRONG"));
  CHECK_THAT(rejected("three == 3", "three == 4"), ContainsSubstring("WRONG"));
}

TEST_CASE(
    "an exported launcher refuses sizes that do not meet what is required and values that do not fit their types") {
  ExportRequest request = forms_request(toy_tree());
  request.family.legal = Expression::parse("sm >= 80 && N != 12");
  const std::string text = export_cuda(request);
  CHECK_THAT(text, ContainsSubstring("\n// or the sizes do not meet what is required: N % 4 == 0 && LD >= N,"
                                     "\n// or the sizes do not meet what is required: sm >= 80 && N != 12.\n"));
  const ToyProgram program(text + probe_of(R"cuda(
  for (const auto& s : {std::vector<int>{5, 8, 8}, {5, 6, 8}, {5, 8, 7}, {5, 12, 12}, {32767, 8, 8}, {32768, 8, 8}})
    std::printf("probe %d %d %d: %d\n", s[0], s[1], s[2], evo_forms_host::accepted({s[0], s[1], s[2]}));
  std::printf("probe %d\n", evo_forms(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 5, 6, 8, nullptr));
)cuda"));
  CHECK(lines_with(program.run().output, "probe") ==
        "probe 5 8 8: 1\nprobe 5 6 8: 0\nprobe 5 8 7: 0\nprobe 5 12 12: 0\nprobe 32767 8 8: 1\nprobe 32768 8 8: 0\n"
        "probe 1\n");
}

TEST_CASE("the exported program draws every kind of input", "[long]") {
  // Each draw of 37 integers, and what holds for the values `v`, sorted, and `r`, as they were drawn.
  const std::vector<std::pair<std::string, std::string>> draws = {
      {"permutation", "v[0] == 0 && v[36] == 36 && std::unique(v.begin(), v.end()) == v.end() && v != r"},
      {"shuffle", "v[0] == 0 && v[36] == 36 && std::unique(v.begin(), v.end()) == v.end() && v != r"},
      {"integers(-3, M)", "v[0] >= -3 && v[0] < 5 && v[36] <= 37 && v[36] > 30"},
      {"indices(5)", "v[0] == 0 && v[36] == 4"},
      {"offsets(9)", "r == v && r[0] == 0 && r[36] == 9 && r[35] > 0 && r[1] < 9"},
      {"page_table(37)", "v[0] == 0 && v[36] == 36 && std::unique(v.begin(), v.end()) == v.end() && v != r"},
      {"page_table(3)", "v[11] == 0 && v[14] == 1 && v[36] == 2 && r[0] == r[3] && r[0] != r[1]"},
      {"iota(4, -1)", "r[0] == 4 && r[36] == -32"},
      {"{1, M, 7}", "r[0] == 1 && r[1] == 37 && r[2] == 7 && v[33] == 0"},
      {"12", "v[0] == 12 && v[36] == 12"},
      {"uniform(2, 4)", "v[0] == 2 && v[36] == 3"},
      {"normal(1000, 2)", "v[0] > 990 && v[0] < v[36] && v[36] < 1010"},
      {"non_negative", "v[0] >= 0 && v[36] > 1e18"},
      {"auto", "v[0] < -1e17 && v[36] > 1e17"},
      {"bits", "v[0] < -1e17 && v[36] > 1e17"},
      {"@rows.npy", "r[0] == 0 && r[36] == 36"}};
  SourceTree tree = toy_tree();
  std::string& npy = tree["forms/rows.npy"];
  npy = "\x93NUMPY\x01\x00\x36\x00{'descr': '<i8', 'fortran_order': False, 'shape': (37,)}"s;
  npy.resize(64, ' ');
  for (std::int64_t i = 0; i < 37; ++i) npy.append(reinterpret_cast<const char*>(&i), sizeof i);
  std::string inputs, conditions;
  for (std::size_t i = 0; i < draws.size(); ++i) {
    inputs += fmt::format("{{ \"name\": \"d{}\", \"dtype\": \"s64\", \"dims\": [\"M\"], \"draw\": \"{}\" }},\n", i,
                          draws[i].first);
    conditions +=
        fmt::format("    if (tensors[i].name == std::string(\"d{}\")) std::printf(\"probe {}: %d\\n\", {});\n", i,
                    draws[i].first, draws[i].second);
  }
  replace(tree["forms/task.json"], R"({ "name": "rows")", inputs + R"({ "name": "rows")");
  const ToyProgram program(export_cuda(forms_request(tree)) + probe_of(R"cuda(
  using namespace evo_forms_main;
  const long long p[] = {37, 24, 30};
  const std::vector<Tensor> tensors = tensors_of(p);
  std::vector<Bytes> elements;
  for (const Tensor& tensor : tensors) elements.emplace_back(bytes_for(tensor.dtype, count(tensor)));
  for (size_t i = 0; i < tensors.size(); ++i) {
    if (tensors[i].dtype != DType::s64) continue;
    draw(tensors, i, elements);
    std::vector<long long> r(37);
    std::memcpy(r.data(), elements[i].data(), elements[i].size());
    std::vector<long long> v = r;
    std::sort(v.begin(), v.end());
)cuda" + conditions + "  }\n"));
  std::string expected;
  for (const auto& [draw, condition] : draws) expected += fmt::format("probe {}: 1\n", draw);
  CHECK(lines_with(program.run().output, "probe") == expected);
}

namespace {

/// 4 rows of 22 elements as the search makes them: of `dtype`, with scales for groups of 6 columns, which the last
/// group has not, and perhaps with zero points; or, without scales, the values themselves.
std::vector<std::vector<std::byte>> searched_inputs(DType dtype, std::optional<DType> scale, bool zero_point) {
  const auto input = [](const std::string& name, DType type, const std::vector<std::uint64_t>& dims) {
    InputRecipe recipe{.name = name, .dtype = type, .elements = dims[0] * dims[1]};
    recipe.row = dims[1];
    recipe.matrix = recipe.group = recipe.elements;
    recipe.stream = 7;
    recipe.dims = dims;
    recipe.is_computed = name != "x";
    return recipe;
  };
  CaseRecipe recipe;
  recipe.inputs = {input("x", dtype, {4, 22})};
  if (!scale) return generate_inputs(recipe);
  recipe.inputs[0].scale = 1;
  recipe.inputs[0].scale_dims = {4, 4};
  recipe.inputs.push_back(input("scales", *scale, {4, 4}));
  recipe.inputs.push_back(input("zero_points", DType::s32, {4, 4}));
  if (zero_point) recipe.inputs[0].zero_point = 2;
  return generate_inputs(recipe);
}

std::string byte_list(const std::vector<std::byte>& bytes) {
  std::vector<int> numbers;
  for (const std::byte byte : bytes) numbers.push_back(std::to_integer<int>(byte));
  return fmt::format("{{{}}}", fmt::join(numbers, ", "));
}

}  // namespace

TEST_CASE("the exported program quantises as the search does") {
  std::vector<float> values(4 * 22);
  const std::vector<std::byte> drawn = searched_inputs(DType::f32, std::nullopt, false)[0];
  std::memcpy(values.data(), drawn.data(), drawn.size());
  std::string list, body = "  using namespace evo_forms_main;\n";
  for (const float value : values) list += fmt::format("{:a}F, ", value);
  struct Form {
    DType dtype, scale;
    bool zero_point;
  };
  const Form forms[] = {{DType::u8, DType::f32, false},    {DType::u8, DType::f32, true},
                        {DType::u8, DType::bf16, true},    {DType::e4m3, DType::e8m0, false},
                        {DType::e2m1, DType::e8m0, false}, {DType::e2m1, DType::e4m3, false}};
  std::string expected;
  for (const auto& [dtype, scale, zero_point] : forms) {
    const auto wanted = searched_inputs(dtype, scale, zero_point);
    body += fmt::format(R"cuda(
  {{
    std::vector<Tensor> tensors = {{{{"x", DType::{}, false, {{4, 22}}}}, {{"s", DType::{}, false, {{4, 4}}}}, {{"z", DType::s32, false, {{4, 4}}}}}};
    tensors[0].scale = 1;
    tensors[0].zero_point = {};
    std::vector<Bytes> elements;
    for (const Tensor& tensor : tensors) elements.emplace_back(bytes_for(tensor.dtype, count(tensor)));
    quantise(tensors, 0, {{{}}}, elements);
    std::printf("probe %d %d %d\n", elements[0] == Bytes{}, elements[1] == Bytes{}, elements[2] == Bytes{});
  }}
)cuda",
                        name_of(dtype), name_of(scale), zero_point ? 2 : -1, list, byte_list(wanted[0]),
                        byte_list(wanted[1]), byte_list(wanted[2]));
    expected += "probe 1 1 1\n";
  }
  const ToyProgram program(export_cuda(forms_request(toy_tree())) + probe_of(body));
  CHECK(lines_with(program.run().output, "probe") == expected);
}

TEST_CASE("nvcc compiles an exported launcher of every form of argument, without a warning", "[long]") {
  SourceTree tree = toy_tree();
  replace(tree["forms/rows/family.json"], R"("uint8:3")",
          R"json("uint8:3", "e4m3:root", "e5m2:0.5 * N", "e8m0:root", "uint64:N * LD", "half2:root, N",
            "double4:N, 1, 2, 3", "{half2:1,root;int3:1,2,N;e8m0:2;bool:N > 1}",
            "float:N > 8 ? exp(0.001 * N) : pow(N, 2)")json");
  check_nvcc_compiles(export_cuda(forms_request(tree)), "-arch=sm_90a -Xcompiler -Wall,-Wextra -DEVO_MAIN");
}

TEST_CASE("nvcc compiles an exported wgmma kernel by the command at its top", "[long]") {
  SourceTree tree = load_tree(std::filesystem::path(EVO_SOURCE_DIR) / "templates");
  std::erase_if(tree, [](const auto& file) { return file.first.starts_with("fp8_sdpa/mma_sync/"); });
  const ExportRequest request = export_request(tree, "fp8_sdpa", {"mission"}, {}, 90);
  REQUIRE(request.family.name == "wgmma");
  const CommandResult result = compile_by_its_own_command(export_cuda(request));
  INFO(result.output);
  CHECK(result.exit_code == 0);
}

TEST_CASE("nvcc compiles an exported attention kernel of two head sizes, without a warning", "[long]") {
  const SourceTree tree = load_tree(std::filesystem::path(EVO_SOURCE_DIR) / "templates");
  const ExportRequest request = export_request(tree, "fp8_sdpa", {"mission", "d128"},
                                               {{"tile_q", std::int64_t{16}}, {"kv_split", std::int64_t{2}}}, 89);
  check_nvcc_compiles(export_cuda(request), "-arch=sm_89 -DEVO_MAIN");
}

TEST_CASE("nvcc compiles an exported launcher with tensor maps and clusters, without a warning") {
  const ExportRequest request = export_request(toy_tree(), "toy", {"narrow", "wide"}, toy_genes("right"), 90);
  check_nvcc_compiles(export_cuda(request), "-arch=sm_90a -c");
}

namespace {

/// Kernels of namespaces and templates, filled variables, codes with scales and zero points.
SourceTree variables_tree() {
  return {{"vars/task.json", R"json({
  "summary": "rows of x times weights, as u8", "shape_parameters": ["R", "N"], "specialised": ["N"],
  "inputs": [{"name": "x", "dtype": "f32", "dims": ["R", "N"]}, {"name": "w", "dtype": "f32", "dims": ["N"]}],
  "outputs": [{"name": "q", "dtype": "u8", "dims": ["R", "N"], "scale": "s", "zero_point": "z"},
              {"name": "s", "dtype": "f32", "dims": ["R"]}, {"name": "z", "dtype": "s32", "dims": ["R"]}],
  "shapes": {"narrow": {"R": 3, "N": 64}, "wide": {"R": 2, "N": 128}},
  "reference": {"kernel": "plain::rows<float, ${N}>", "grid": ["R", "1", "1"], "block": ["1", "1", "1"],
                "constants": {"plain::weights": "w", "least": "float:0.5"}, "arguments": ["x", "q", "s", "z"]}})json"},
          {"vars/reference.cu", R"cuda(#define COLUMNS ${N}
__constant__ float least;
namespace plain {
__constant__ float weights[COLUMNS];
template <class T, int N>
__global__ void rows(const T* x, float* q, float* s, int* z) {
  for (int i = 0; i < N; ++i) q[blockIdx.x * N + i] = x[blockIdx.x * N + i] * weights[i];
  s[blockIdx.x] = least;
  z[blockIdx.x] = 128;
}
}
extern "C" __global__ void shared_name(float* x) { x[0] = 1; }
)cuda"},
          {"vars/tuned/family.json", R"json({
  "genes": [{"name": "threads", "values": [32]}],
  "workspaces": [{"name": "rows_done", "bytes": "4 * R"}],
  "constants": {"fast::weights": "w", "least": {"value": "float:0.5", "when": "R > 1"}, "size": "int2:R, N"},
  "launches": [{"kernel": "fast::rows<Row<TILE>, ${threads}>", "grid": ["R", "1", "1"], "block": ["threads", "1", "1"],
                "arguments": ["x", "q", "s", "z"]},
               {"kernel": "fast::done", "grid": ["1", "1", "1"], "block": ["1", "1", "1"], "arguments": ["rows_done"]},
               {"kernel": "shared_name", "grid": ["1", "1", "1"], "block": ["1", "1", "1"], "arguments": ["rows_done"]}]
})json"},
          {"vars/tuned/kernel.cu", R"cuda(#define TILE 4
__constant__ float least;
static __constant__ int2 size;
extern "C" {
__device__ float twice(float x) { return 2 * x; }
}
template <int tile> struct Row { float of[tile]; };
namespace fast {
__constant__ float weights[${N}];
template <class T, int threads>
__global__ void rows(const float* x, unsigned char* q, float* s, int* z) {
  for (int i = threadIdx.x; i < size.y; i += threads)
    q[blockIdx.x * size.y + i] = (unsigned char)(x[blockIdx.x * size.y + i] * weights[i] / least) + sizeof(T);
  s[blockIdx.x] = least;
  z[blockIdx.x] = 128;
}
__global__ void done(float* rows) { rows[0] = twice(1); }
}
extern "C" __global__ void shared_name(float* x) { x[0] = 2; }
)cuda"}};
}

}  // namespace

TEST_CASE("kernels of namespaces and templates are exported by their names, and read back") {
  const ExportRequest request = export_request(variables_tree(), "vars", {"narrow", "wide"}, {}, 90);
  const std::string text = export_cuda(request);
  const std::string named = without_content(text);
  CHECK_THAT(named, ContainsSubstring("(const void*)&fast::rows<Row<TILE>, 32>;"));
  CHECK_THAT(named, ContainsSubstring("const void* const kernel = evo_vars_N64::evo_kernel_0();"));
  CHECK_THAT(named, ContainsSubstring("const void* const kernel = (const void*)&evo_vars_N64::fast::done_N64;"));
  CHECK_THAT(named, ContainsSubstring("(const void*)&plain::rows<float, 128>;"));
  const Exported exported = read_exports(text, "best.cu").at(0);
  CHECK_FALSE(exported.edited);
  const Task task = load_task(exported.tree, "vars");
  const Plan plan = resolve_plan(task, load_families(exported.tree, task).at(0), exported.provenance.genome, {},
                                 task.shape("narrow"), exported.provenance.device.facts);
  CHECK(plan.launches.at(0).kernel == "fast::rows<Row<TILE>, 32>");
  CHECK(plan.constants.size() == 3);
}

TEST_CASE("an exported launcher fills variables in the caller's stream, after it has compared sizes") {
  const std::string text = without_content(export_cuda(export_request(variables_tree(), "vars", {"narrow"}, {}, 90)));
  CHECK_THAT(text, ContainsSubstring("fill(evo_vars_N64::fast::weights, w, cudaMemcpyDeviceToDevice, stream)"));
  CHECK_THAT(text, ContainsSubstring("if (!(within({64LL * 4LL}, sizeof(evo_vars_N64::fast::weights), "
                                     "sizeof(evo_vars_N64::fast::weights)))) return false;  // fast::weights"));
  CHECK_THAT(text, ContainsSubstring("fill(evo_vars_N64::least, &argument_0, cudaMemcpyHostToDevice, stream)"));
  CHECK_THAT(text, ContainsSubstring("// Fills fast::weights, least, size in the stream"));
  CHECK_THAT(text, ContainsSubstring("cudaMemcpyToSymbol(evo_vars_N64_reference::plain::weights, buffers[1], "));
  CHECK_THAT(export_cuda(forms_request(toy_tree())), !ContainsSubstring("cudaMemcpyToSymbol"));
}

TEST_CASE("nvcc compiles exported kernels of templates that read filled variables, without a warning", "[long]") {
  const ExportRequest request = export_request(variables_tree(), "vars", {"narrow", "wide"}, {}, 90);
  check_nvcc_compiles(export_cuda(request), "-arch=sm_90a -Xcompiler -Wall,-Wextra -DEVO_MAIN");
}
