#include "engine/short_form/short_form.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "engine/base/error.h"
#include "engine/source/template.h"
#include "engine/task/candidate.h"
#include "engine/task/family.h"
#include "engine/task/plan_resolution.h"
#include "engine/task/target.h"

using namespace evo;
using Catch::Matchers::ContainsSubstring;
using Json = nlohmann::ordered_json;

namespace {

constexpr const char* kKernel = R"(
extern "C" __global__ void blur(float* y, const float* x, float a, unsigned long long n) {}
extern "C" __global__ void blur_naive(float* y, const float* x, float a, unsigned long long n) {}
)";

Json usual_form() {
  return Json::parse(R"json({
    "kernel": "blur.cu:blur",
    "genes": {"threads": [64, 128, 512], "per_thread": [1, 2, 4]},
    "restrict": ["threads * per_thread >= 128", "threads * per_thread <= 1024"],
    "shapes": [{"H": 64, "W": 96}, {"H": 37, "W": 51}],
    "arguments": ["y=out float[H, W]", "x=float[H, W]:uniform", "float:0.5", "size_t:H * W"],
    "grid": ["ceil_div(H * W, threads * per_thread)"],
    "block": ["threads"],
    "reference": "blur.cu:blur_naive"
  })json");
}

ShortForm read(const Json& form, std::map<std::string, std::string> files = {}) {
  files.emplace("blur.cu", kKernel);
  files["blur.json"] = form.dump();
  return read_short_form("blur.json", [files](const std::string& path) {
    const auto found = files.find(path);
    if (found == files.end()) throw usage_error("cannot read " + path);
    return found->second;
  });
}

/// As a command reads it: errors are in the author's places.
std::string error_of(const Json& form, const std::map<std::string, std::string>& files = {}) {
  try {
    const ShortForm read_form = read(form, files);
    try {
      load_families(read_form.files, load_task(read_form.files, read_form.task));
    } catch (const Error& error) {
      return read_form.in_authors_places(error.what());
    }
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

struct Loaded {
  ShortForm form;
  Task task;
  Family family;
};

Loaded load(const Json& form, const std::map<std::string, std::string>& files = {}) {
  Loaded loaded{read(form, files), {}, {}};
  loaded.task = load_task(loaded.form.files, loaded.form.task);
  loaded.family = load_families(loaded.form.files, loaded.task).at(0);
  return loaded;
}

Json changed(const std::string& key, const Json& value) {
  Json form = usual_form();
  form[key] = value;
  return form;
}

Json without(const std::string& key) {
  Json form = usual_form();
  form.erase(key);
  return form;
}

}  // namespace

TEST_CASE("a short form is a task folder with the author's file as it is") {
  const Loaded blur = load(usual_form());
  CHECK(blur.form.files.at("blur/source/blur.cu") == kKernel);
  CHECK(blur.task.shape_parameters == std::vector<std::string>{"H", "W"});
  CHECK(blur.task.shapes.at(1).name == "37x51");
  CHECK(blur.task.outputs.at(0).name == "y");
  CHECK(blur.task.inputs.at(0).draw.kind == DrawKind::uniform);
  CHECK_FALSE(blur.task.self_consistent);
  CHECK_FALSE(blur.task.typed_reference);
  CHECK(blur.family.name == "tuned");
  CHECK(blur.family.genes.size() == 2);
  CHECK(blur.family.launches.at(0).arguments.size() == 4);
}

TEST_CASE("genes are macros in front of the author's file, those of the reference the first legal genome's") {
  const Loaded blur = load(usual_form());
  const Target target = make_target(blur.task, "vgpu", {}, {});
  const Genome genome{"tuned", {{"threads", std::int64_t{128}}, {"per_thread", std::int64_t{4}}}};
  const Candidate candidate = make_candidate(blur.form.files, blur.task, blur.family, genome, target, {});
  CHECK(candidate.programs.at(0).source == std::string("#define threads 128\n#define per_thread 4\n") + kKernel);
  const Plan& plan = candidate.programs.at(0).plans.at("64x96");
  CHECK(plan.launches.at(0).grid == Dim3{12, 1, 1});
  CHECK(plan.launches.at(0).block == Dim3{128, 1, 1});
  const Program reference = reference_program(blur.form.files, blur.task, {}, {}, target.timed);
  CHECK(reference.source == std::string("#define per_thread 2\n#define threads 64\n") + kKernel);
  const Launch& launch = reference.plans.at("64x96").launches.at(0);
  CHECK(launch.kernel == "blur_naive");
  CHECK(launch.grid == Dim3{48, 1, 1});
}

TEST_CASE("without a reference the first legal genome serves, and the task says so") {
  const Loaded blur = load(without("reference"));
  CHECK(blur.task.self_consistent);
  CHECK(blur.task.reference_kernel == "blur");
  CHECK(reference_plan(blur.task, {}, blur.task.shapes[0]).launches.at(0).block == Dim3{64, 1, 1});
}

TEST_CASE("a reference of narrow floats gives its own dtype") {
  const Json arguments = {"y=out half[H, W]", "x=half[H, W]", "float:0.5", "size_t:H * W"};
  const Loaded blur = load(changed("arguments", arguments));
  CHECK(blur.task.typed_reference);
  CHECK(reference_plan(blur.task, {}, blur.task.shapes[0]).tensors.at(1).dtype == DType::f16);
}

TEST_CASE("blocks of more threads than a GPU takes are no genomes") {
  const Loaded blur = load(changed("genes", {{"threads", {1024, 2048}}, {"per_thread", {1}}}));
  REQUIRE(blur.family.constraints.size() == 3);
  CHECK(blur.family.constraints.back().condition.text() == "threads <= threads_per_block");
}

TEST_CASE("dynamic shared memory is the candidates' and, where one serves as it, the reference's") {
  Json form = without("reference");
  form["shared"] = "threads * 4";
  const Loaded blur = load(form);
  CHECK(blur.family.launches.at(0).dynamic_smem_bytes.text() == "threads * 4");
  CHECK(reference_plan(blur.task, {}, blur.task.shapes[0]).launches.at(0).dynamic_smem_bytes == 256);
}

TEST_CASE("Kernel Tuner's names give block and grid") {
  Json form = usual_form();
  for (const char* key : {"genes", "restrict", "grid", "block"}) form.erase(key);
  form["tune_params"] = {{"block_size_x", {64, 32}}, {"block_size_y", "[2**i for i in range(3)]"}, {"tile", {1, 2}}};
  form["restrictions"] = {"block_size_x * block_size_y >= 64"};
  form["problem_size"] = {"W", "H"};
  form["grid_div_x"] = {"block_size_x", "tile"};
  const Loaded blur = load(form);
  const LaunchSpec& launch = blur.family.launches.at(0);
  CHECK(launch.block[0].text() == "block_size_x");
  CHECK(launch.block[1].text() == "block_size_y");
  CHECK(launch.grid[0].text() == "ceil_div(W, (block_size_x) * (tile))");
  CHECK(launch.grid[1].text() == "ceil_div(H, (block_size_y))");
  CHECK(blur.family.gene("block_size_y")->alleles.size() == 3);
}

TEST_CASE("genes may stand in a file of Kernel Tuner's, T1 or not") {
  const std::string t1 = R"({"ConfigurationSpace": {
    "TuningParameters": [{"Name": "threads", "Type": "int", "Values": "[64, 128]"},
                         {"Name": "per_thread", "Type": "int", "Values": "[1, 2]"}],
    "Conditions": [{"Expression": "threads * per_thread <= 128", "Parameters": ["threads", "per_thread"]}]}})";
  const Loaded from_t1 = load(changed("genes", "space.json"), {{"space.json", t1}});
  CHECK(from_t1.family.gene("threads")->alleles.size() == 2);
  CHECK(from_t1.family.constraints.at(0).condition.text() == "threads * per_thread <= 128");
  const std::string plain =
      R"({"tune_params": {"threads": [64], "per_thread": [2]}, "restrictions": "threads % per_thread == 0"})";
  const Loaded from_plain = load(changed("genes", "space.json"), {{"space.json", plain}});
  CHECK(from_plain.family.constraints.at(0).condition.text() == "threads % per_thread == 0");
}

TEST_CASE("specialised sizes and options are macros, types by CUDA's names") {
  Json form = changed("specialised", {"W"});
  form["options"] = {{"T", {"half", "bfloat16"}}};
  form["arguments"] = {"y=out T[H, W]", "x=T[H, W]", "float:0.5", "size_t:H * W"};
  const Loaded blur = load(form);
  const Target target = make_target(blur.task, "vgpu", {"64x96"}, {{"T", std::string("bf16")}});
  const Genome genome{"tuned", {{"threads", std::int64_t{128}}, {"per_thread", std::int64_t{4}}}};
  const Candidate candidate = make_candidate(blur.form.files, blur.task, blur.family, genome, target, {});
  CHECK_THAT(candidate.programs.at(0).source, ContainsSubstring("#define T __nv_bfloat16\n#define W 96\n"));
}

TEST_CASE("files of the author that share a name, or are called kernel.cu, stand beside each other") {
  Json form = changed("kernel", "kernel.cu:blur");
  form["reference"] = "other/kernel.cu:blur_naive";
  const Loaded blur = load(form, {{"kernel.cu", kKernel}, {"other/kernel.cu", kKernel + std::string("//other")}});
  CHECK(blur.form.files.at("blur/source/kernel.cu") == kKernel);
  CHECK(blur.form.files.at("blur/source/other/kernel.cu") == kKernel + std::string("//other"));
  CHECK_THAT(blur.form.files.at("blur/reference.cu"), ContainsSubstring("blur/source/other/kernel.cu"));
}

TEST_CASE("a tensor's strides, scale, zero point, condition and ties stand behind its dims") {
  Json form = usual_form();
  form["options"] = {{"causal", {true, false}}};
  form["arguments"] = {"y=out int[H] any_of_equal(x)",     "x=uchar[H, W] strides(W + 3, 1) scale(s) zero_point(z)",
                       "s=float[H]:uniform(1, 2)",         "z=int[H] when(causal) :integers(0, 15)",
                       "p=float4[H, W] strides(W + 1, 1)", "causal ? 1 : 2"};
  const Loaded blur = load(form);
  const Tensor& x = *blur.task.tensor("x");
  CHECK(x.strides.at(0).text() == "W + 3");
  CHECK(x.scale == "s");
  CHECK(x.zero_point == "z");
  CHECK(blur.task.tensor("z")->when.text() == "causal");
  CHECK(blur.task.tensor("z")->draw.kind == DrawKind::integers);
  CHECK(blur.task.tensor("y")->any_of_equal == "x");
  // Strides of vectors count vectors.
  CHECK(strides_of(*blur.task.tensor("p"), {{"H", std::int64_t{2}}, {"W", std::int64_t{5}}}) ==
        std::vector<std::int64_t>{24, 4, 1});
}

TEST_CASE("where floats become codes of 8 bits, the regimes that a file names get ties") {
  const auto regimes_of = [](const char* output, const Json& regimes) {
    Json form = changed("arguments", {output, "x=float[H, W]", "float:0.5", "size_t:H * W"});
    form["regimes"] = regimes;
    std::map<std::string, Distribution> distributions;
    for (const Regime& regime : load(form).task.regimes) distributions[regime.name] = regime.distribution;
    return distributions;
  };
  const Json normal = {{"normal", {{"distribution", "normal"}}}};
  const Json tied = {{"tied", {{"distribution", "ties"}, {"gain", 100}}}};
  using Distributions = std::map<std::string, Distribution>;
  CHECK(regimes_of("y=out signed char[H, W]", normal) ==
        Distributions{{"normal", Distribution::normal}, {"ties", Distribution::ties}});
  CHECK(regimes_of("y=out signed char[H, W]", tied) == Distributions{{"tied", Distribution::ties}});
  CHECK(regimes_of("y=out float[H, W]", normal) == Distributions{{"normal", Distribution::normal}});
}

TEST_CASE("limits hold for all outputs, or under an output's name for that one") {
  Json form = changed("arguments", {"y=out float[H, W]", "z=out float[H]", "x=float[H, W]", "float:0.5"});
  form["limits"] = {{"relative_l2", 0.1}, {"cosine", 0.9}, {"z", {{"exact", true}}}};
  const Loaded blur = load(form);
  CHECK(blur.task.limits.relative_l2 == 0.1);
  CHECK(blur.task.outputs.at(0).limits.empty());
  CHECK(blur.task.outputs.at(1).limits.at(0).limits.exact);
}

TEST_CASE("files that the author's files include by quotes are taken along, each once") {
  const std::string kernel =
      "#include \"util/tile.h\"\n#include \"cuda_fp16.h\"\n#ifdef HIP\n#include \"hip.h\"\n#endif\n";
  const std::map<std::string, std::string> files = {
      {"blur.cu", kernel + kKernel},
      {"util/tile.h", "#pragma once\n#include \"../more.inl\"\n// \"cuda_fp16.h\"\nint tile;\n"},
      {"more.inl", "#include \"util/tile.h\"\nint more;\n"}};
  const ReadFile read = [&](const std::string& path) {
    if (path == "blur.json") return usual_form().dump();
    if (!files.contains(path)) throw usage_error("cannot read " + path);
    return files.at(path);
  };
  const ShortForm form =
      read_short_form("blur.json", read, [](const std::string& name) { return name == "cuda_fp16.h"; });
  CHECK(form.files.at("blur/source/util/tile.h") == files.at("util/tile.h"));
  CHECK(form.files.at("blur/source/more.inl") == files.at("more.inl"));
  const Rendered rendered = render_with_lines(form.files, "blur/reference.cu", {});
  CHECK_THAT(rendered.text,
             ContainsSubstring("\n\n\nint more;\n// \"cuda_fp16.h\"\nint tile;\n#undef per_thread\n#undef threads\n"
                               "#include \"cuda_fp16.h\"\n#define per_thread 2\n#define threads 64\n#ifdef HIP\n"));
  CHECK(form.in_authors_places(rendered.lines.translated("kernel.cu(5): error: no")) == "more.inl:2: error: no");
}

TEST_CASE("an included file that is missing is named with the line that includes it") {
  CHECK_THAT(error_of(usual_form(), {{"blur.cu", std::string("\n#include \"none.h\"\n") + kKernel}}),
             ContainsSubstring("blur.json: kernel: blur.cu:2: #include \"none.h\": cannot read none.h"));
  CHECK_THAT(error_of(usual_form(), {{"blur.cu", std::string("#include \"a.h\"\n") + kKernel},
                                     {"a.h", "#ifndef A\n#define A\n#include \"b.h\"\n#endif\n"}}),
             ContainsSubstring("blur.json: kernel: a.h:3: #include \"b.h\": cannot read b.h"));
}

TEST_CASE("a file above the short form's folder is refused with the line that includes it, under conditions too") {
  const std::string kernel = std::string("#if 0\n#include \"../secret\"\n#endif\n") + kKernel;
  CHECK_THAT(error_of(usual_form(), {{"blur.cu", kernel}, {"../secret", "words"}}),
             ContainsSubstring("blur.json: kernel: blur.cu:2: #include \"../secret\": ../secret does not lie below"));
  CHECK_THAT(error_of(changed("kernel", "../blur.cu:blur"), {{"../blur.cu", kKernel}}),
             ContainsSubstring("blur.json: kernel: ../blur.cu does not lie below the short form's folder"));
  CHECK(error_of(usual_form(), {{"blur.cu", kernel}}).empty());  // Nothing is there: the compiler's affair.
}

TEST_CASE("a chain of includes ends at a thousand files, with the place") {
  std::map<std::string, std::string> files = {{"blur.cu", std::string("#include \"0.h\"\n") + kKernel}};
  for (int i = 0; i < 15'000; ++i) files[std::to_string(i) + ".h"] = "#include \"" + std::to_string(i + 1) + ".h\"\n";
  CHECK_THAT(error_of(usual_form(), files),
             ContainsSubstring("998.h:1: #include \"999.h\": a kernel has at most 1000 files with all that they"));
}

TEST_CASE("what is wrong in a short form is named by its own keys") {
  const std::vector<std::pair<Json, std::string>> wrong = {
      {without("kernel"), "blur.json: key 'kernel' is missing"},
      {changed("kernel", "blur.cu"), "blur.json: kernel: which function? \"blur.cu:FUNCTION\"; there are blur, "},
      {changed("kernel", "blur.cu:blurr"), "blur.json: kernel: blur.cu has no kernel blurr; did you mean 'blur'?"},
      {changed("kernel", "none.cu:blur"), "blur.json: kernel: cannot read none.cu"},
      {changed("gnes", 1), "blur.json: unknown key 'gnes'; did you mean 'genes'?"},
      {without("genes"), "blur.json: key 'genes' is missing"},
      {without("block"), "blur.json: key 'block' is missing"},
      {without("grid"), "blur.json: key 'grid' is missing"},
      {changed("restrict", {"thread > 1"}), "blur.json: restrict[0]: 'thread > 1' reads unknown name 'thread'"},
      {changed("restrict", {"threads > H"}), "blur.json: restrict[0]: 'threads > H' depends on H"},
      {changed("restrict", {"threads > 4096"}), "blur.json: restrict[0]: no genome meets 'threads > 4096'"},
      {changed("grid", {"ceil_div(N, threads)"}), "blur.json: grid[0]: 'ceil_div(N, threads)' reads unknown name 'N'"},
      {changed("block", {1, 1, 1, 1}), "blur.json: block: one to three extents are needed"},
      {changed("shapes", {{{"sm", 4}}}), "'sm' means something else in expressions: give the size another name"},
      {changed("arguments", {"x=float[H]"}), "blur.json: arguments: no output"},
      {changed("arguments", {"y=out flaot[H]"}), "blur.json: arguments[0]: 'flaot' is no type"},
      {changed("arguments", {"out float[H]"}), "blur.json: arguments[0]: 'out float[H]': a tensor has a name"},
      {changed("arguments", {"y=out float[H"}), "blur.json: arguments[0]: 'y=out float[H': '[' without ']'"},
      {changed("arguments", {"float:0.5", "y=out float[K]"}), "blur.json: arguments[1].dims[0]: 'K' reads unknown"},
      {changed("arguments", {"y=out float[H]", "int:K"}), "blur.json: arguments[1]: 'K' reads unknown name 'K'"},
      {changed("arguments", {"y=out float[H]:normal"}), "blur.json: arguments[0].draw: only an output with"},
      {changed("genes", {{"H", {1, 2}}}), "blur.json: genes.H: the name 'H' is already that of a size"},
      {changed("shapes", Json::array()), "blur.json: shapes: at least one shape is needed"},
      {changed("shapes", {{{"H", 1}, {"W", 2}}, {{"H", 1}}}), "blur.json: shapes[1]: key 'W' is missing"},
      {changed("arguments", {"y=out float[H]", "flaot:0.5"}), "blur.json: arguments[1]: 'flaot' is no type; did you"},
      {changed("arguments", {"y=out float[H] stride(2)"}), "arguments[0]: a tensor has no 'stride'; did you mean"},
      {changed("arguments", {"y=out float[H] strides(2, 1)"}), "blur.json: arguments[0]: strides(2, 1): 2 for 1 dims"},
      {changed("arguments", {"y=out float[H] strides(2"}), "blur.json: arguments[0]: '(2': a bracket is not closed"},
      {changed("arguments", {"y=out float[H]", "x=float[H] any_of_equal(y)"}),
       "arguments[1]: any_of_equal is of outputs"},
      {changed("arguments", {"y=out float[H] any_of_equal(x)", "x=float[H]"}), "any_of_equal is of indices"},
      {changed("arguments", {"y=out int[H] any_of_equal(z)", "x=float[H]"}),
       "blur.json: arguments[0].any_of_equal: unknown input 'z'"},
      {changed("arguments", {"y=out float[H]", "x=e4m3[H] scale(s)"}),
       "blur.json: arguments[1].scale: unknown input 's'"},
      {changed("arguments", {"y=out float[H]", "x=float[H] when(causal)"}),
       "arguments[1].when: 'causal' reads unknown"},
      {Json{{"tune_params", {{"threads", {64}}}}},
       "key 'kernel' is missing: add it, or write ten lines with \"genes\""},
      {changed("genes", {{"threads", 64}}), "blur.json: genes.threads: expected a list of values"},
      {changed("genes", {{"threads", Json::array()}}), "blur.json: genes.threads: at least one value is needed"},
      {changed("genes", {{"sm", {64}}}), "blur.json: genes.sm: 'sm' is already a fact of the device"},
      {changed("genes", {{"in", {64}}}), "blur.json: genes.in: 'in' is a word of the expression language"},
      {changed("genes", "blur.cu"), "blur.json: genes: blur.cu: line 2, column 1: not valid JSON"},
      {changed("restrict", {"math.ceil(threads / 3) > 2"}),
       "blur.json: restrict[0]: expression 'math.ceil(threads / 3)"},
      {changed("restrict", {"lambda p: p['threads'] > 2"}), "write a lambda's expression alone"},
      {changed("restrict", {"p['threads'] > 2"}), "parameters are written by their names"},
      {changed("limits", {{"z", {{"exact", true}}}}),
       "blur.json: limits.z: no output is called 'z'; did you mean 'y'?"},
      {changed("limits", {{"y", {{"exat", true}}}}), "blur.json: limits.y: unknown key 'exat'; did you mean 'exact'?"},
      {changed("limits", {{"y", "exact"}}), "blur.json: limits.y: the limits of an output are an object"},
      {changed("limits", {{"relative_l2", 1}, {"cosine", 0.9}, {"row", 1}}), "blur.json: limits: unknown key 'row'"},
  };
  for (const auto& [form, message] : wrong) {
    INFO(form.dump());
    CHECK_THAT(error_of(form), ContainsSubstring(message));
  }
}

TEST_CASE("template syntax in the author's file is refused, with its line") {
  CHECK_THAT(error_of(usual_form(), {{"blur.cu", "__global__ void blur() {}\n// blur_naive\n//% if x\n"}}),
             ContainsSubstring("blur.cu:3: '${' and '//%' are template syntax"));
}

TEST_CASE("genes in the kernel's name are template arguments and no macros") {
  Json form = without("reference");
  form["kernel"] = "blur.cu:blur<float, ${threads}>";
  const ShortForm blur = read(form);
  CHECK_THAT(blur.files.at("blur/tuned/kernel.cu"), !ContainsSubstring("#define threads"));
  CHECK_THAT(blur.files.at("blur/tuned/kernel.cu"), ContainsSubstring("#define per_thread ${per_thread}"));
  CHECK_THAT(blur.files.at("blur/task.json"), ContainsSubstring("\"kernel\": \"blur<float, ${64}>\""));
}

TEST_CASE("variables are filled with inputs and values, those of the reference where its file has them") {
  Json form = usual_form();
  form["constants"] = Json::parse(R"json({"weights": "filter=float[5]", "ns::alpha": "float:0.5 * threads",
                                          "tap": {"value": "x", "when": "per_thread > 1"}})json");
  const std::string weights = std::string("__constant__ float weights[5];\n") + kKernel;
  const Loaded blur = load(form, {{"blur.cu", weights}});
  CHECK(blur.task.tensor("filter") == &blur.task.inputs.at(1));
  REQUIRE(blur.family.constants.size() == 3);
  CHECK(blur.family.constants[0].symbol == "weights");
  CHECK(blur.family.constants[0].value.text == "filter");
  CHECK(blur.family.constants[2].when.text() == "per_thread > 1");
  REQUIRE(blur.task.reference_constants.size() == 1);
  CHECK(blur.task.reference_constants[0].symbol == "weights");

  form["reference_constants"] = {{"ns::alpha", "float:threads"}, {"tap", {{"value", "x"}, {"when", "per_thread > 1"}}}};
  const Loaded own = load(form, {{"blur.cu", weights}});
  REQUIRE(own.task.reference_constants.size() == 2);
  CHECK(own.task.reference_constants[0].value.text == "float:64");
  CHECK(reference_plan(own.task, {}, own.task.shapes.at(0)).constants.size() == 2);  // The first genome has 64 and 2.

  const std::vector<std::pair<std::string, std::string>> wrong = {
      {R"({"d": "K"})", "blur.json: constants.d: 'K' reads unknown name 'K'"},
      {R"({"d": "y"})", "blur.json: constants.d: 'y' is an output"},
      {R"({"d": "z=float[K]"})", "blur.json: constants.d.dims[0]: 'K' reads unknown name 'K'"},
      {R"({"d e": "x"})", "blur.json: constants.d e: 'd e' is not the name of a variable"}};
  for (const auto& [constants, message] : wrong)
    CHECK_THAT(error_of(changed("constants", Json::parse(constants))), ContainsSubstring(message));
}

namespace {

const char* const kSum = R"(
__global__ void partial(float* sums, const float* in, int n) {}
__global__ void finish0(float* y, const float* sums, int n) {}
__global__ void finish1(float* y, const float* sums, int n) {}
__global__ void plain(float* y, const float* in, int n) {}
)";

Json sum_form() {
  return Json::parse(R"json({
    "kernel": "sum.cu", "genes": {"threads": [64, 128], "version": [0, 1], "fast": [false, true]},
    "shapes": [{"N": 5000}],
    "launches": [
      {"kernel": "partial", "grid": ["N / 1000"], "block": ["threads"],
       "arguments": ["sums=scratch float2[4 * threads]:0", "in=float[N]", "N"]},
      {"kernel": "finish${version}", "grid": [1], "block": [32], "when": "threads > 1",
       "arguments": ["default=out float[1]", "sums", "threads"]}],
    "reference": "plain", "reference_grid": [1], "reference_block": [1],
    "reference_arguments": ["default", "in", "N"]
  })json");
}

std::string sum_error(const std::string& pointer, const Json& value) {
  Json form = sum_form();
  form[Json::json_pointer(pointer)] = value;
  return error_of(form, {{"sum.cu", kSum}});
}

}  // namespace

TEST_CASE("several launches share scratch whose size depends on genes, and a kernel's name may depend on one") {
  const Loaded sum = load(sum_form(), {{"sum.cu", kSum}});
  REQUIRE(sum.family.workspaces.size() == 1);
  CHECK(sum.family.workspaces[0].bytes.evaluate_int({{"threads", std::int64_t{64}}}) == 4 * 64 * 8);
  CHECK(sum.family.workspaces[0].zeroed.evaluate_bool({}));
  const Genome genome{"tuned", {{"threads", std::int64_t{64}}, {"version", std::int64_t{1}}, {"fast", false}}};
  const Target target = make_target(sum.task, "vgpu", {}, {});
  const Candidate candidate = make_candidate(sum.form.files, sum.task, sum.family, genome, target, {});
  const Plan& plan = candidate.programs.at(0).plans.at("5000");
  REQUIRE(plan.launches.size() == 2);
  CHECK(plan.launches[0].kernel == "partial");
  CHECK(plan.launches[0].grid == Dim3{5, 1, 1});
  CHECK(plan.launches[1].kernel == "finish1");
  CHECK_THAT(candidate.programs.at(0).source, !ContainsSubstring("#define version"));
}

TEST_CASE("any name of an argument will do, also a word of expressions, C++ or Python") {
  const Loaded sum = load(sum_form(), {{"sum.cu", kSum}});
  CHECK(sum.task.inputs.at(0).name == "in_");
  CHECK(sum.task.outputs.at(0).name == "default_");
  CHECK(sum.task.reference_arguments.at(1).text == "in_");
  Json form = changed("arguments", {"or=out float[H]", "lambda=e4m3[H] scale(max)", "max=float[1]", "float:0.5"});
  form["limits"] = {{"or", {{"atol", 1e-3}}}};
  const Loaded blur = load(form);
  CHECK(blur.task.outputs.at(0).name == "or_");
  CHECK(blur.task.inputs.at(0).scale == "max_");
}

TEST_CASE("what cannot be in launches and scratch is said with what can") {
  CHECK_THAT(sum_error("/launches/1/kernel", "finish${version + 1}"),
             ContainsSubstring("launches[1].kernel: sum.cu has no kernel finish2; did you mean 'finish0'?"));
  CHECK_THAT(sum_error("/launches/1/kernel", "finish${versin}"), ContainsSubstring("reads unknown name 'versin'"));
  CHECK_THAT(sum_error("/launches/0/arguments/0", "sums=scratch float[threads]:normal"),
             ContainsSubstring("launches[0].arguments[0]: scratch is not drawn"));
  CHECK_THAT(sum_error("/launches/0/arguments/0", "sums=scratch float[thread]"),
             ContainsSubstring("launches[0].arguments[0]: 'thread' reads unknown name"));
  CHECK_THAT(sum_error("/launches/1/arguments/0", "y=out float[threads]"),
             ContainsSubstring("the size of 'y' cannot depend on the gene 'threads'"));
  CHECK_THAT(sum_error("/launches/1/arguments/1", "sums=float[1]"), ContainsSubstring("'sums' is declared twice"));
  Json form = sum_form();
  form.erase("reference");
  CHECK_THAT(error_of(form, {{"sum.cu", kSum}}), ContainsSubstring("key 'reference' is missing: several launches"));
  form = sum_form();
  form.erase("reference_grid");
  CHECK_THAT(error_of(form, {{"sum.cu", kSum}}), ContainsSubstring("key 'reference_grid' is missing"));
  CHECK_THAT(error_of(changed("arguments", {"y=out threads[H]"})),
             ContainsSubstring("'threads' is a gene, which a tensor's type cannot be: an option can"));
}

TEST_CASE("compiler options are a line of the source, of which the reference has the dialect alone") {
  Json form =
      changed("compiler_options", {"-std=c++20", "-I.", "-O3", "${per_thread > 1 ? '-fmad=false' : '-ftz=true'}",
                                   "--maxrregcount=${threads}", "-DGAIN=2"});
  const Loaded blur = load(form);
  const Genome genome{"tuned",
                      {{"threads", std::int64_t{128}}, {"per_thread", std::int64_t{4}}, {"GAIN", std::int64_t{2}}}};
  const Target target = make_target(blur.task, "vgpu", {}, {});
  const Candidate candidate = make_candidate(blur.form.files, blur.task, blur.family, genome, target, {});
  CHECK(candidate.programs.at(0).source.starts_with("// evo: compile with -std=c++20 -fmad=false\n#define"));
  CHECK_THAT(candidate.programs.at(0).source, ContainsSubstring("#define GAIN 2\n"));
  CHECK(candidate.programs.at(0).max_registers == 128);
  const Program reference = reference_program(blur.form.files, blur.task, {}, {}, target.timed);
  CHECK(reference.source.starts_with("// evo: compile with -std=c++20\n#define"));
  CHECK(load(changed("compiler_options", {"-Xptxas", "-v", "--ptxas-options=-v,-O3"})).form.files ==
        load(changed("compiler_options", {"-O3"})).form.files);
  CHECK_THAT(error_of(changed("compiler_options", {"-Xptxas", "-dlcm=cg"})),
             ContainsSubstring("compiler_options: '-Xptxas=-dlcm=cg' is not supported"));
  CHECK_THAT(error_of(changed("compiler_options", {"-dlcm=ca"})),
             ContainsSubstring("blur.json: compiler_options: '-dlcm=ca' is not supported; there are -use_fast_math"));
}

TEST_CASE("Kernel Tuner's own keys are read, or what stands for them is named") {
  Json form = usual_form();
  form.erase("kernel");
  form["kernel_source"] = "blur.cu";
  form["kernel_name"] = "blur";
  form["smem_args"] = {{"size", "threads * 4"}};
  form["lang"] = "cupy";
  form["genes"]["per_thread"] = {0, true, 4};
  form["restrict"] = {"abs(threads - 96) <= 32 and int(per_thread) >= 1"};
  const Loaded blur = load(form);
  CHECK(blur.family.launches.at(0).kernel == "blur");
  CHECK(blur.family.launches.at(0).dynamic_smem_bytes.text() == "threads * 4");
  CHECK(blur.family.genes.at(1).alleles == std::vector<Value>{std::int64_t{0}, std::int64_t{1}, std::int64_t{4}});
  form["smem_args"] = {{"size", "tile * 4"}};
  CHECK_THAT(error_of(form), ContainsSubstring("blur.json: smem_args.size: 'tile * 4' reads unknown name 'tile'"));
  CHECK_THAT(error_of(changed("metrics", Json::object())), ContainsSubstring("blur.json: metrics: a key of Kernel"));
  CHECK_THAT(error_of(changed("atol", 1e-6)), ContainsSubstring("write \"limits\": {\"atol\": 1e-6}"));
}

TEST_CASE("without shapes the task has the one size that its numbers say") {
  Json form = without("shapes");
  form["arguments"] = {"y=out float[64, 96]", "x=float[6144]", "float:0.5", "size_t:6144"};
  form["grid"] = {"ceil_div(6144, threads)"};
  CHECK(load(form).task.shapes.at(0).name == "6144");
  form.erase("grid");
  form["problem_size"] = {"96", 64};
  const Loaded blur = load(form);
  CHECK(blur.task.shapes.at(0).name == "96x64");
  form["problem_size"] = {"W", 64};
  CHECK_THAT(error_of(form), ContainsSubstring("blur.json: problem_size: give a number, or a size's name"));
  form["problem_size"] = "lambda p: p['n']";
  CHECK_THAT(error_of(form), ContainsSubstring("blur.json: problem_size: give a number, or a size's name"));
}

TEST_CASE("a name of block_size_names that is no parameter's is one thread, as Kernel Tuner's usual names are") {
  Json form = without("block");
  form["block_size_names"] = {"threads", "block_size_y", "block_size_z"};
  CHECK(load(form).form.files == load(changed("block", {"threads"})).form.files);
  form["block_size_names"] = {"thread"};
  CHECK_THAT(error_of(form), ContainsSubstring("block_size_names[0]: 'thread' reads unknown name 'thread'; did you"));
}

TEST_CASE("a value of the kernel's own that would hide a gene is refused, unless the file asks for the gene's first") {
  const auto error_with = [](const std::string& lines) {
    return error_of(usual_form(), {{"blur.cu", lines + kKernel}});
  };
  const auto refused = ContainsSubstring("blur.json: blur.cu gives threads a value of its own");
  CHECK_THAT(error_with("#define threads 128\n"), refused);
  CHECK_THAT(error_with("static constexpr int threads = 128;\n"), refused);
  for (const char* lines : {"#ifndef threads\n#define threads 128\n#endif\n", "#undef threads\n#define threads 128\n",
                            "#if !defined(threads)\nconst int threads = 128;\n#endif\n",
                            "// #define threads 128\n/*\n#define threads 128\n*/\n", "#define threads_of_block 128\n"})
    CHECK(error_with(lines).empty());
}

TEST_CASE(
    "a reference takes the kernel's arguments without scratch, and without what genes decide if it has no place") {
  Json form = changed("arguments", {"y=out float[H, W]", "sums=scratch float[threads]", "x=float[H, W]", "float:0.5",
                                    "size_t:H * W", "threads"});
  const auto names = [](const Loaded& loaded) {
    std::vector<std::string> texts;
    for (const ArgumentSpec& argument : loaded.task.reference_arguments) texts.push_back(argument.text);
    return texts;
  };
  CHECK(names(load(form)) == std::vector<std::string>{"y", "x", "float:0.5", "size_t:H * W"});
  const std::string five =
      "__global__ void blur() {}\n__global__ void blur_naive(float* y, const float* x, float a, "
      "size_t n, int threads) {}\n";
  CHECK(names(load(form, {{"blur.cu", five}})).back() == "64");
  const std::string six = "__global__ void blur() {}\n__global__ void blur_naive(int, int, int, int, int, int) {}\n";
  CHECK_THAT(error_of(form, {{"blur.cu", six}}),
             ContainsSubstring("blur.json: reference: blur_naive takes 6 arguments, and the kernel has 5 without "
                               "scratch: say them in \"reference_arguments\""));
}
