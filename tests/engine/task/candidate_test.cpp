#include "engine/task/candidate.h"

#include "engine/task/floor.h"
#include "engine/task/limits.h"
#include "engine/task/plan_resolution.h"
#include "tests/engine/support.h"

using namespace evo;
using namespace evo::test;
using Catch::Matchers::ContainsSubstring;

namespace {

/// The scale task with everything that making a candidate takes.
struct Scale {
  SourceTree tree = scale_task();
  Task task = load_task(tree, "scale");
  Family family = load_families(tree, task).front();
  Bindings facts = {{"sm", number(90)}};
  Target target = make_target(task, "cuda", {}, {});

  explicit Scale(SourceTree from = scale_task()) : tree(std::move(from)) { family = load_families(tree, task).front(); }

  Candidate candidate(const Genome& genome) const { return make_candidate(tree, task, family, genome, target, facts); }
  Plan plan(const Genome& genome, const std::string& shape) const {
    return resolve_plan(task, family, genome, target.options, task.shape(shape), facts);
  }
};

std::vector<std::string> names(const std::vector<Shape>& shapes) {
  std::vector<std::string> result;
  for (const Shape& shape : shapes) result.push_back(shape.name);
  return result;
}

Genome genome(int threads, int vector, int split = 0, const std::string& store = "plain") {
  Genome result{"plain", {{"threads", number(threads)}, {"vector", number(vector)}, {"store", store}}};
  if (split > 0) result.genes["split"] = number(split);
  return result;
}

std::vector<Argument::Kind> kinds(const Launch& launch) {
  std::vector<Argument::Kind> result;
  for (const Argument& argument : launch.arguments) result.push_back(argument.kind);
  return result;
}

}  // namespace

TEST_CASE("a target takes the shapes of the device kind, validated ones of the timed specialisations only") {
  const Task task = load_task(scale_task(), "scale");
  const Target cuda = make_target(task, "cuda", {}, {});
  CHECK(names(cuda.timed) == std::vector<std::string>{"large"});
  CHECK(names(cuda.validated) == std::vector<std::string>{"small", "large"});
  CHECK(cuda.options == task.default_options());
  CHECK(names(make_target(task, "vgpu", {}, {}).timed) == std::vector<std::string>{"small"});

  const Target both = make_target(task, "cuda", {"wide", "small", "2,128"}, {{"out", std::string("f32")}});
  CHECK(names(both.timed) == std::vector<std::string>{"wide", "small"});
  CHECK(names(both.validated) == std::vector<std::string>{"small", "wide"});
  CHECK(both.options.at("out") == Value(std::string("f32")));
  CHECK(specialisations_of(task, both) == std::vector<Bindings>{{{"M", number(128)}}, {{"M", number(64)}}});
}

TEST_CASE("a target refuses unknown options, values, shapes and kinds of devices") {
  const Task task = load_task(scale_task(), "scale");
  const auto complaint = [&](std::string_view kind, std::vector<std::string> shapes, Bindings options) {
    return complaint_of([&] { make_target(task, kind, shapes, options); });
  };
  CHECK_THAT(complaint("cuda", {}, {{"outt", true}}),
             ContainsSubstring("task scale has no option 'outt'; there are fused, out"));
  CHECK_THAT(complaint("cuda", {}, {{"out", std::string("s8")}}),
             ContainsSubstring("option out cannot be 's8'; there are f16, f32"));
  CHECK_THAT(complaint("cuda", {"tiny"}, {}), ContainsSubstring("shape 'tiny'"));
  CHECK_THAT(complaint("abacus", {}, {}), ContainsSubstring("no kind of device 'abacus'"));
}

TEST_CASE("a target has an objective of the task, whose limits its candidates keep") {
  Task task = load_task(scale_task(), "scale");
  task.objectives.push_back({"accurate", {0.001, 0.99, 0}});
  CHECK(make_target(task, "cuda", {}, {}).objective == "latency");
  const Target accurate = make_target(task, "cuda", {}, {}, "accurate");
  CHECK(accurate.objective == "accurate");
  CHECK(limits_of(task, accurate).relative_l2 == 0.001);
  CHECK_THAT(complaint_of([&] { make_target(task, "cuda", {}, {}, "acurate"); }),
             ContainsSubstring("task scale has no objective 'acurate'; there are latency, accurate"));
}

TEST_CASE("the rendered source sees genes, derived values, options and specialised parameters") {
  const Scale scale;
  const Candidate candidate = scale.candidate(genome(32, 2));
  REQUIRE(candidate.programs.size() == 1);
  const Program& program = candidate.programs[0];
  CHECK(program.source ==
        "using e4m3 = unsigned char;\n"
        "constexpr int columns = 64;  // M = 64, out = f16\n"
        "// plain store of 2\n");
  CHECK(program.specialisation == Bindings{{"M", number(64)}});
  CHECK(program.max_registers == 64);
  CHECK(program.plans.size() == 2);
  CHECK(program.plans.contains("large"));
  CHECK(program.plans.contains("small"));
}

TEST_CASE("one program for each specialisation, with the plans of its shapes") {
  Scale scale;
  scale.target = make_target(scale.task, "cuda", {"wide", "small"}, {});
  const Candidate candidate = scale.candidate(genome(32, 2));
  REQUIRE(candidate.programs.size() == 2);
  CHECK_THAT(candidate.programs[0].source, ContainsSubstring("M = 128"));
  CHECK(candidate.programs[0].plans.size() == 1);
  CHECK_THAT(candidate.programs[1].source, ContainsSubstring("M = 64"));
}

TEST_CASE("a plan resolves sizes, workspaces, maps and arguments") {
  const Scale scale;
  const Plan plan = scale.plan(genome(64, 1, 2), "small");
  REQUIRE(plan.tensors.size() == 3);
  CHECK(plan.tensors[0].bytes == 192);
  CHECK(plan.tensors[1].bytes == 12);
  CHECK(plan.tensors[2].name == "y");
  CHECK(plan.tensors[2].bytes == 384);
  CHECK(plan.tensors[2].output);
  REQUIRE(plan.workspaces.size() == 1);
  CHECK(plan.workspaces[0].bytes == 24);
  CHECK(plan.workspaces[0].zeroed);
  CHECK(plan.tensor_maps.empty());
  REQUIRE(plan.launches.size() == 2);
  CHECK(plan.launches[0].grid == Dim3{3, 2, 1});
  CHECK(plan.launches[0].block == Dim3{64, 1, 1});
  CHECK(plan.launches[0].dynamic_smem_bytes == 256);
  CHECK(!plan.launches[0].programmatic);
  CHECK(plan.launches[1].programmatic);
  using enum Argument::Kind;
  CHECK(kinds(plan.launches[0]) == std::vector{tensor, tensor, tensor, workspace, value, value});
  CHECK(plan.launches[0].arguments[4].fields == Argument::of_int(3).fields);
  CHECK(plan.launches[0].arguments[5].fields == Argument::of_int(1).fields);
  CHECK(plan.launches[1].arguments[1].index == 2);
}

TEST_CASE("launches, maps and workspace bytes that a genome does not use are left out") {
  const Scale scale;
  const Plan plan = scale.plan(genome(32, 2), "small");
  CHECK(plan.launches.size() == 1);
  REQUIRE(plan.workspaces.size() == 1);
  CHECK(plan.workspaces[0].bytes == 0);
  CHECK(plan.launches[0].arguments[3].kind == Argument::Kind::workspace);
  CHECK(plan.launches[0].grid == Dim3{3, 1, 1});  // `split` is inactive and reads as 1
}

TEST_CASE("a tensor map is encoded innermost dimension first") {
  const Scale scale;
  const Plan plan = scale.plan(genome(32, 4), "wide");
  REQUIRE(plan.tensor_maps.size() == 1);
  const TensorMap& map = plan.tensor_maps[0];
  CHECK(map.dtype == DType::e4m3);
  CHECK(map.source.kind == Argument::Kind::tensor);
  CHECK(map.source.index == 0);
  CHECK(map.dims == std::vector<std::uint64_t>{128, 2});
  CHECK(map.strides_bytes == std::vector<std::uint64_t>{128});
  CHECK(map.box == std::vector<std::uint32_t>{64, 1});
  CHECK(map.swizzle_bytes == 64);
}

TEST_CASE("plans beyond what the driver's types hold are refused, naming file and launch") {
  const auto complaint = [](const std::string& from, const std::string& to) {
    const Scale scale(edited(scale_task(), "scale/plain/family.json", from, to));
    return complaint_of([&] { scale.candidate(genome(32, 2)); });
  };
  const std::string file = "scale/plain/family.json: ";
  CHECK(complaint("\"ceil_div(N, 1)\"", "\"N - N\"") ==
        file + "launch scale: grid 'N - N' is 0: must be 1 to 2^31 - 1");
  CHECK_THAT(complaint("\"ceil_div(N, 1)\"", "\"N << 40\""), ContainsSubstring("launch scale: grid"));
  CHECK_THAT(complaint("[\"threads\", \"1\", \"1\"]", "[\"-threads\", \"1\", \"1\"]"),
             ContainsSubstring("launch scale: block '-threads' is -32"));
  CHECK_THAT(complaint("\"columns * 4\"", "\"-4\""), ContainsSubstring("dynamic shared memory '-4' is -4: must be 0"));
  CHECK_THAT(complaint("\"N\", \"rows_left\"", "\"N << 33\""), ContainsSubstring("argument 'N << 33'"));
  CHECK_THAT(complaint("\"4 * N * split\", \"when\": \"split > 1\"", "\"N - N\""),
             ContainsSubstring("workspace partial: workspace size 'N - N' is 0"));
  CHECK_THAT(complaint("\"32 * vector\"", "\"300\""),
             ContainsSubstring("max_registers: '300' is 300: must be 0 (none) to 255"));
  CHECK_THAT(complaint("\"ceil_div(N, 1)\"", "\"N / (vector - 2)\""),
             ContainsSubstring("launch scale: 'N / (vector - 2)': division by zero"));
}

TEST_CASE("a derived value that cannot be computed is reported with the reason where it is read") {
  const auto complaint = [](const std::string& file, const std::string& from, const std::string& to) {
    SourceTree tree = edited(
        scale_task(), "scale/plain/family.json", "\"derived\": [",
        R"json("derived": [{"name": "d", "value": "threads / (vector - 2)"}, {"name": "e", "value": "d + 1"}, )json");
    tree = edited(std::move(tree), "scale/plain/" + file, from, to);
    return complaint_of([&] { Scale(tree).candidate(genome(32, 2)); });
  };
  const std::string reason = "'threads / (vector - 2)': division by zero";
  CHECK(complaint("family.json", "\"columns * 4\"", "\"d\"") ==
        "scale/plain/family.json: launch scale: 'd': d has no value: " + reason);
  CHECK(complaint("family.json", "\"columns * 4\"", "\"e * 4\"") ==
        "scale/plain/family.json: launch scale: 'e * 4': e has no value: 'd + 1': d has no value: " + reason);
  CHECK(complaint("family.json", "\"32 * vector\"", "\"d\"") ==
        "scale/plain/family.json: max_registers: 'd': d has no value: " + reason);
  CHECK_THAT(complaint("kernel.cu", "${", "${d} ${"),
             ContainsSubstring("scale/plain/kernel.cu:") && ContainsSubstring(": 'd': d has no value: " + reason));
  CHECK(complaint("family.json", "\"columns * 4\"", "\"vector == 2 ? 0 : d\"").empty());
}

TEST_CASE("an expression of task.json without a value for a shape is reported with file and key") {
  const auto complaint = [](const std::string& from, const std::string& to) {
    const SourceTree tree = edited(scale_task(), "scale/task.json", from, to);
    const Task task = load_task(tree, "scale");
    const Target target = make_target(task, "vgpu", {}, {});
    return complaint_of([&] {
      reference_program(tree, task, target.options, {{"M", number(64)}}, target.timed);
      floor_of(task, target.options, target.timed.at(0));
    });
  };
  const std::string file = "scale/task.json: ";
  CHECK(complaint("\"dtype\": \"out\", \"dims\": [\"N\", \"M\"]", "\"dtype\": \"out\", \"dims\": [\"N / (M - 64)\"]") ==
        file + "outputs[0].dims: 'N / (M - 64)': division by zero");
  CHECK(
      complaint("\"dtype\": \"out\", \"dims\": [\"N\", \"M\"]", "\"dtype\": \"out\", \"dims\": [\"N << 60\", \"M\"]") ==
      file + "outputs[0].dims: tensor 'y' has more elements than 64 bits can count");
  CHECK(complaint("[\"N\", \"1\", \"1\"]", "[\"N - N\", \"1\", \"1\"]") ==
        file + "reference.grid: grid 'N - N' is 0: must be 1 to 2^31 - 1");
  CHECK_THAT(complaint("\"block\": [\"M\"", "\"block\": [\"-M\""),
             ContainsSubstring(file + "reference.block: block '-M' is -64"));
  CHECK_THAT(complaint("\"y\", \"N * M\"]", "\"y\", \"N << 40\"]"),
             ContainsSubstring(file + "reference.arguments[3]: argument 'N << 40'"));
  CHECK(complaint("\"flops\": \"N * M\"", "\"flops\": \"N / (M - 64)\"") ==
        file + "floor.flops: 'N / (M - 64)': division by zero");
  CHECK(complaint("\"3 * N * M\"", "\"N / (M - 64)\"") == file + "floor.bytes: 'N / (M - 64)': division by zero");
}

TEST_CASE("programs and plans that do different work have different hashes") {
  const Scale scale;
  const Candidate a = scale.candidate(genome(32, 2));
  CHECK(a.source_hash() == scale.candidate(genome(32, 2)).source_hash());
  CHECK(a.source_hash() != scale.candidate(genome(32, 2, 0, "streamed")).source_hash());
  // Same source, other plan.
  const Candidate one = scale.candidate(genome(64, 1, 1));
  const Candidate two = scale.candidate(genome(64, 1, 2));
  CHECK(one.programs[0].source_hash == two.programs[0].source_hash);
  CHECK(one.plans_hash() != two.plans_hash());
  CHECK(one.source_hash() != two.source_hash());
}

TEST_CASE("a launch names the template's instance that its genome chose") {
  const SourceTree tree =
      edited(scale_task(), "scale/plain/family.json", R"("kernel": "scale")", R"("kernel": "ns::scale<${threads}>")");
  const Candidate candidate = Scale(tree).candidate(genome(32, 2));
  CHECK(kernels_of(candidate.programs[0]) == std::vector<std::string>{"ns::scale<32>"});
}

TEST_CASE("programs know the template lines of their sources, as long as the templates give them") {
  Scale scale;
  const Candidate candidate = scale.candidate(genome(32, 2));
  const Program& program = candidate.programs[0];
  REQUIRE(program.lines.origin_of(1));
  const auto lines = [&](const SourceTree& tree) {
    return lines_of(tree, scale.task, scale.family, candidate.genome, scale.target.options, program, scale.facts);
  };
  CHECK(lines(scale.tree).origin_of(1) == program.lines.origin_of(1));
  SourceTree changed = scale.tree;
  changed["scale/plain/kernel.cu"] += "// more\n";
  CHECK(lines(changed).empty());
}

TEST_CASE("the reference is rendered for a specialisation and writes f32") {
  const Scale scale;
  const Program program = reference_program(scale.tree, scale.task, scale.target.options, {{"M", number(64)}},
                                            {scale.task.shape("small"), scale.task.shape("large")});
  CHECK(program.source == "// reference for 64\n");
  const Plan& plan = program.plans.at("small");
  CHECK(plan.tensors[2].dtype == DType::f32);
  CHECK(plan.tensors[2].bytes == 768);
  CHECK(plan.launches[0].kernel == "scale_reference");
  CHECK(plan.launches[0].grid == Dim3{3, 1, 1});
  CHECK(plan.launches[0].block == Dim3{64, 1, 1});
  CHECK(plan.launches[0].arguments[3].fields == Argument::of_int(192).fields);
}

TEST_CASE("a plan names the variables that it fills, in the genomes that have them") {
  const Scale scale(edited(
      scale_task(), "scale/plain/family.json", R"("max_registers")",
      R"("constants": {"d_a": "a", "ns::rows": "N", "alpha": {"value": "float2:0.5, vector", "when": "split > 1"}},
         "max_registers")"));
  const Plan one = scale.plan(genome(32, 2), "small"), two = scale.plan(genome(64, 1, 2), "small");
  REQUIRE(one.constants.size() == 2);
  CHECK(one.constants[0].symbol == "d_a");
  CHECK(one.constants[0].source.kind == Argument::Kind::tensor);
  CHECK(one.constants[0].source.index == 1);
  CHECK(one.constants[1].symbol == "ns::rows");
  CHECK(one.constants[1].source.fields == Argument::of_int(3).fields);
  REQUIRE(two.constants.size() == 3);
  CHECK(two.constants[2].source.fields.at(0).type.name() == "float2");
  const Program program = scale.candidate(genome(64, 1, 2)).programs.at(0);
  CHECK(variables_of(program) == std::vector<std::string>{"alpha", "d_a", "ns::rows"});
}

TEST_CASE("candidates that fill variables otherwise are no duplicates") {
  const auto hash = [](const std::string& constants) {
    return Scale(edited(scale_task(), "scale/plain/family.json", R"("max_registers")",
                        R"("constants": )" + constants + R"(, "max_registers")"))
        .candidate(genome(32, 2))
        .source_hash();
  };
  CHECK(hash("{}") == Scale().candidate(genome(32, 2)).source_hash());
  CHECK(hash(R"({"d": "float:1"})") != hash("{}"));
  CHECK(hash(R"({"d": "float:1"})") != hash(R"({"d": "float:2"})"));
  CHECK(hash(R"({"d": "a"})") != hash(R"({"e": "a"})"));
}

TEST_CASE("the reference of a quantised output gives real values, which are compared as those of a narrow float") {
  SourceTree tree =
      edited(scale_task(), "scale/task.json", R"("outputs": [)",
             R"("outputs": [ {"name": "q", "dtype": "s8", "dims": ["N", "M"], "scale": "s", "zero_point": "z"},
                              {"name": "s", "dtype": "f32", "dims": ["N"]}, {"name": "z", "dtype": "s32", "dims": ["N"]}, )");
  const Scale scale(tree);
  const Plan plan = reference_plan(scale.task, scale.target.options, scale.task.shape("small"));
  CHECK(plan.tensors.at(2).name == "q");
  CHECK(plan.tensors.at(2).dtype == DType::f32);
  CHECK(plan.tensors.at(4).dtype == DType::s32);
  CHECK(scale.plan(genome(32, 2), "small").tensors.at(2).dtype == DType::s8);
  Task unlimited = scale.task;
  unlimited.has_limits = false;
  const auto limits = [&](std::size_t output) {
    return limits_of_output(unlimited, unlimited.outputs.at(output), scale.target.options, {});
  };
  CHECK_FALSE(limits(0).exact);
  CHECK(limits(0).relative_l2 == usual_limits(DType::e4m3).relative_l2);
  CHECK(limits(2).exact);
  CHECK(limits_of_output(scale.task, scale.task.outputs.at(0), scale.target.options, scale.task.limits).relative_l2 ==
        scale.task.limits.relative_l2);
  CHECK_THAT(complaint_of([&] {
               load_task(edited(tree, "scale/task.json", R"("zero_point": "z")", R"("zero_point": "x")"), "scale");
             }),
             ContainsSubstring("outputs[0].zero_point: unknown output 'x'"));
}
