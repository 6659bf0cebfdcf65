#include "engine/task/task.h"

#include <fstream>
#include <sstream>

#include "engine/record/enumerators.h"
#include "engine/task/limits.h"
#include "engine/task/target.h"
#include "tests/engine/support.h"

using namespace evo;
using namespace evo::test;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::StartsWith;

namespace {

const std::string kExact = R"(; an output that must agree bit for bit has "limits": {"exact": true})";

Task scale() {
  return load_task(scale_task(), "scale");
}

// What loading says when one place of task.json is changed.
std::string task_complaint(const std::string& from, const std::string& to) {
  const SourceTree tree = edited(scale_task(), "scale/task.json", from, to);
  return complaint_of([&] { load_task(tree, "scale"); });
}

}  // namespace

TEST_CASE("every part of a task is read") {
  const Task task = scale();
  CHECK(task.summary == "y = a x, row by row");
  CHECK(task.shape_parameters == std::vector<std::string>{"N", "M"});
  CHECK(task.specialised == std::vector<std::string>{"M"});
  CHECK(task.default_options() == Bindings{{"out", std::string("f16")}, {"fused", false}});
  CHECK(task.inputs.size() == 2);
  CHECK(task.inputs[0].scale == "a");
  CHECK(task.outputs[0].dtype == "out");
  CHECK(task.shape("wide").parameters == Bindings{{"N", number(2)}, {"M", number(128)}});
  CHECK(task.shape_sets.at("cuda").validated == std::vector<std::string>{"small", "wide"});
  CHECK(task.seeds == 2);
  CHECK(task.regimes[0].gain == 1.0);
  CHECK(task.regimes[1].distribution == Distribution::outliers);
  CHECK(task.regimes[1].gain == 8.0);
  CHECK(task.limits.relative_l2 == 0.01);
  CHECK(task.limits.max_abs == 0.0);
  CHECK(task.flops.evaluate_int({{"N", number(3)}, {"M", number(5)}}) == 15);
  CHECK(task.math == "f32");
  CHECK(task.reference == "scale/reference.cu");
  std::vector<std::string> arguments;
  for (const ArgumentSpec& argument : task.reference_arguments) arguments.push_back(argument.text);
  CHECK(arguments == std::vector<std::string>{"x", "a", "y", "N * M"});
}

TEST_CASE("a self-test takes shapes of its own for the timed ones") {
  const auto timed = [](const Target& target) {
    std::vector<std::string> names;
    for (const Shape& shape : target.timed) names.push_back(shape.name);
    return names;
  };
  SourceTree tree = scale_task();
  const Task same = load_task(tree, "scale");
  CHECK(timed(make_self_test_target(same, "cuda", {})) == timed(make_target(same, "cuda", {}, {})));
  tree = edited(std::move(tree), "scale/task.json", R"("timed": ["large"])",
                R"("timed": ["large"], "self_test": ["wide"])");
  const Task other = load_task(tree, "scale");
  CHECK(timed(make_self_test_target(other, "cuda", {})) == std::vector<std::string>{"wide"});
  CHECK(timed(make_target(other, "cuda", {}, {})) == timed(make_target(same, "cuda", {}, {})));
  CHECK_THAT(task_complaint(R"("timed": ["large"])", R"("timed": ["large"], "self_test": ["huge"])"),
             ContainsSubstring("sets.cuda.self_test[0]: unknown shape 'huge'"));
}

TEST_CASE("tasks are found by their files") {
  SourceTree tree = scale_task();
  tree["another/task.json"] = "{}";
  tree["another/deep/task.json"] = "{}";
  CHECK(task_names(tree) == std::vector<std::string>{"another", "scale"});
  CHECK_THAT(complaint_of([&] { load_task(tree, "scal"); }),
             ContainsSubstring("unknown task 'scal'; did you mean 'scale'?"));
  CHECK_THAT(complaint_of([&] { load_task(tree, "zzzzzz"); }), ContainsSubstring("there are another, scale"));
}

TEST_CASE("dims, element counts and dtypes follow shape and options") {
  const Task task = scale();
  Bindings known = task.shape("small").parameters;
  CHECK(dims_of(*task.tensor("x"), known) == std::vector<std::int64_t>{3, 64});
  CHECK(element_count(*task.tensor("x"), known) == 192);
  CHECK(dtype_of(*task.tensor("x"), task.default_options()) == DType::e4m3);
  CHECK(dtype_of(*task.tensor("y"), task.default_options()) == DType::f16);
  CHECK(dtype_of(*task.tensor("y"), {{"out", std::string("f32")}}) == DType::f32);
  CHECK(task.tensor("nobody") == nullptr);
  known["N"] = number(std::int64_t{1} << 40);
  known["M"] = number(std::int64_t{1} << 40);
  CHECK_THAT(complaint_of([&] { element_count(*task.tensor("x"), known); }), ContainsSubstring("more elements"));
}

TEST_CASE("dims may depend on options, and so may scale groups") {
  SourceTree tree = edited(scale_task(), "scale/task.json", R"("dims": ["N", "M"], "scale")",
                           R"("dims": ["fused ? M : N", "fused ? 16 * ceil_div(N, 16) : M"], "scale")");
  tree = edited(tree, "scale/task.json", R"("dims": ["N"])", R"("dims": ["fused ? 1 : N"])");
  const Task task = load_task(tree, "scale");
  Bindings known = task.shape("small").parameters;
  known["fused"] = false;
  CHECK(dims_of(*task.tensor("x"), known) == std::vector<std::int64_t>{3, 64});
  CHECK(dims_of(*task.tensor("a"), known) == std::vector<std::int64_t>{3});
  known["fused"] = true;
  CHECK(dims_of(*task.tensor("x"), known) == std::vector<std::int64_t>{64, 16});
  CHECK(dims_of(*task.tensor("a"), known) == std::vector<std::int64_t>{1});
}

TEST_CASE("the dims of scales are checked for every choice of options") {
  const std::string complaint = task_complaint(R"("dims": ["N"])", R"("dims": ["fused ? M : N"])");
  CHECK(complaint ==
        "scale/task.json: inputs[0].scale: the dims of 'a' must divide those of 'x' into equal groups (shape small, "
        "fused=true)");
}

TEST_CASE("a task without objectives has one, latency, with the task's limits") {
  const Task task = scale();
  REQUIRE(task.objectives.size() == 1);
  CHECK(task.objective("latency").limits.relative_l2 == 0.01);
  CHECK_THAT(complaint_of([&] { task.objective("accurate"); }),
             ContainsSubstring("task scale has no objective 'accurate'; there are latency"));
}

TEST_CASE("an output's limits may depend on options; where none apply, the task's hold") {
  const auto with = [](const std::string& limits) {
    const std::string dims = R"("dtype": "out", "dims": ["N", "M"])";
    return load_task(edited(scale_task(), "scale/task.json", dims, dims + R"(, "limits": )" + limits), "scale");
  };
  const Task task = with(R"([{"when": "out == 'f32'", "relative_l2": 2e-5}, {"when": "fused", "exact": true}])");
  const auto limits = [&](const std::string& out, bool fused) {
    Bindings options = task.default_options();
    options["out"] = out;
    options["fused"] = fused;
    return limits_of_output(task, task.outputs.front(), options, task.limits);
  };
  CHECK(limits("f32", true).relative_l2 == 2e-5);
  CHECK(limits("f32", true).cosine == 0.0);
  CHECK(limits("f16", true).exact);
  CHECK(limits("f16", false).relative_l2 == 0.01);
  CHECK(limits("f16", false).cosine == 0.99);

  const auto complaint = [&](const std::string& given) { return complaint_of([&] { with(given); }); };
  CHECK_THAT(complaint(R"([{"when": "M == 64", "relative_l2": 1}])"),
             ContainsSubstring("scale/task.json: outputs[0].limits[0].when: 'M == 64' reads unknown name 'M'"));
  CHECK(complaint(R"([{"when": "fused"}])") ==
        "scale/task.json: outputs[0].limits[0]: no limit on the error: give relative_l2, max_abs, atol or rtol, or "
        "exact");
}

TEST_CASE("a limit of each element is enough for a task") {
  const auto with = [](const std::string& limits) {
    const std::string given = R"("limits": { "relative_l2": 0.01, "cosine": 0.99 })";
    return load_task(edited(scale_task(), "scale/task.json", given, "\"limits\": " + limits), "scale");
  };
  const Task task = with(R"({"atol": 1e-4})");
  CHECK(task.limits.atol == 1e-4);
  CHECK(task.limits.relative_l2 == 0);
  CHECK(limits_of_output(task, task.outputs.front(), task.default_options(), task.limits).row_l2 == 0);
  CHECK_THAT(complaint_of([&] { with(R"({"cosine": 0.9})"); }), ContainsSubstring("no limit on the error"));
}

TEST_CASE("an output that is read and written has a limit of its change, which the file may set") {
  const auto limits = [](const std::string& more) {
    const std::string dims = R"("dtype": "out", "dims": ["N", "M"])";
    const Task task = load_task(edited(scale_task(), "scale/task.json", dims, dims + more), "scale");
    Bindings options = task.default_options();
    options["out"] = std::string("f16");
    return limits_of_output(task, task.outputs.front(), options, task.limits);
  };
  CHECK(limits("").change == 0);
  CHECK(limits(R"(, "inout": true)").change > 0);
  CHECK(limits(R"(, "inout": true)").change < 0.5);
  CHECK(limits(R"(, "inout": true, "limits": {"relative_l2": 1e-3, "change": 0.7})").change == 0.7);
  CHECK_THAT(complaint_of([&] { limits(R"(, "limits": {"relative_l2": 1e-3, "change": 0.7})"); }),
             ContainsSubstring("outputs[0].limits: change is of outputs with \"inout\": true"));
  CHECK_THAT(complaint_of([&] { limits(R"(, "limits": {"off_by_one": 1.5})"); }),
             ContainsSubstring("outputs[0].limits.off_by_one: is a share of the elements: less than 1"));
}

TEST_CASE("objectives tighten the task's limits") {
  const std::string limits = "\"limits\": { \"relative_l2\": 0.01, \"cosine\": 0.99 },";
  const auto with = [&](const std::string& objectives) {
    return edited(scale_task(), "scale/task.json", limits, limits + " \"objectives\": {" + objectives + "},");
  };
  const Task task =
      load_task(with(R"("fast": {}, "accurate": {"limits": {"relative_l2": 0.001, "max_abs": 0.1}})"), "scale");
  REQUIRE(task.objectives.size() == 2);
  CHECK(task.objectives.front().name == "fast");
  CHECK(task.objective("fast").limits.relative_l2 == 0.01);
  CHECK(task.objective("accurate").limits.relative_l2 == 0.001);
  CHECK(task.objective("accurate").limits.cosine == 0.99);
  CHECK(task.objective("accurate").limits.max_abs == 0.1);

  const auto complaint = [&](const std::string& objectives) {
    return complaint_of([&] { load_task(with(objectives), "scale"); });
  };
  const std::string file = "scale/task.json: objectives";
  CHECK(complaint("") == file + ": at least one objective is needed; the first is the default");
  CHECK(complaint(R"("a": {"limits": {"relative_l2": 0.02}})") ==
        file + ".a.limits.relative_l2: must not be looser than the task's limit");
  CHECK(complaint(R"("a": {"limits": {"relative_l2": 0}})") == file + ".a.limits.relative_l2: must be positive");
  CHECK(complaint(R"("a": {"limits": {"max_abs": 0}})") == file + ".a.limits.max_abs: must be positive");
  CHECK(complaint(R"("a": {"limits": {"cosine": 0.9}})") ==
        file + ".a.limits.cosine: must not be looser than the task's limit");
  CHECK_THAT(complaint(R"("a": {"limit": {}})"), ContainsSubstring(file + ".a: unknown key 'limit'"));
  CHECK_THAT(complaint(R"("a b": {})"), ContainsSubstring("'a b' is not a name"));
}

TEST_CASE("an objective's limits may follow the emulation of limits.json, and it may have had another name") {
  const std::string limits = "\"limits\": { \"relative_l2\": 0.01, \"cosine\": 0.99 },";
  const auto with = [&](const std::string& emulation) {
    SourceTree tree = edited(scale_task(), "scale/task.json", limits,
                             limits + R"( "objectives": {"faithful": {"limits": {"emulation": {)" + emulation +
                                 R"(}}}, "fast": {"formerly": "latency"}},)");
    tree["scale/limits.json"] = "{}";
    return tree;
  };
  const Task task = load_task(with(R"("relative_l2": {"times": 1.1, "plus": 0.001}, "row_l2": {"times": 2})"), "scale");
  const Limits& faithful = task.objective("faithful").limits;
  CHECK(faithful.follow_emulation());
  CHECK(faithful.emulated_l2.of(0.02) == 1.1 * 0.02 + 0.001);
  CHECK(faithful.emulated_row.of(0.02) == 0.04);
  CHECK(task.objective("latency").name == "fast");
  CHECK_FALSE(task.objective("fast").limits.follow_emulation());

  const auto complaint = [](const SourceTree& tree) { return complaint_of([&] { load_task(tree, "scale"); }); };
  const std::string place = "scale/task.json: objectives.faithful.limits.emulation";
  CHECK(complaint(with(R"("relative_l2": {"times": 0.9})")) ==
        place + ".relative_l2.times: must be at least 1: the emulation itself must pass");
  CHECK(complaint(with(R"("row_l2": {"times": 1, "plus": -1})")) == place + ".row_l2.plus: must not be negative");
  CHECK_THAT(complaint(with(R"("cosine": {"times": 1})")), ContainsSubstring(place + ": unknown key 'cosine'"));
  SourceTree without = with(R"("relative_l2": {"times": 1.1})");
  without.erase("scale/limits.json");
  CHECK(complaint(without) == place + ": scale/limits.json with an emulation is missing (docs/trust.md)");
}

TEST_CASE("a regime may pass values as codes, but not where zero points follow from scales") {
  const SourceTree tree = edited(scale_task(), "scale/task.json", R"({ "distribution": "normal" })",
                                 R"({ "distribution": "normal", "unit_scales": true })");
  CHECK(load_task(tree, "scale").regimes[0].unit_scales);
  CHECK(!load_task(tree, "scale").regimes[1].unit_scales);
  const SourceTree with_zero_points =
      edited(edited(tree, "scale/task.json", R"("scale": "a")", R"("scale": "a", "zero_point": "z")"),
             "scale/task.json", R"({ "name": "a")", R"({ "name": "z", "dtype": "s32", "dims": ["N"] }, { "name": "a")");
  CHECK_THAT(complaint_of([&] { load_task(with_zero_points, "scale"); }),
             ContainsSubstring("regimes.normal.unit_scales: only of tasks without zero points"));
}

TEST_CASE("a regime may belong to some objectives") {
  const std::string limits = "\"limits\": { \"relative_l2\": 0.01, \"cosine\": 0.99 },";
  const auto with = [&](const std::string& name, const std::string& objective) {
    const SourceTree tree =
        edited(scale_task(), "scale/task.json", limits, limits + R"( "objectives": {"exact": {}, "fast": {}},)");
    std::string json = tree.at("scale/task.json");
    const std::size_t regime = json.find("\"" + name + "\"", json.find("regimes"));
    json.insert(json.find('}', regime), R"(, "objectives": [")" + objective + R"("])");
    SourceTree changed = tree;
    changed["scale/task.json"] = json;
    return changed;
  };
  const std::string first = scale().regimes[0].name, second = scale().regimes[1].name;
  const Task task = load_task(with(second, "exact"), "scale");
  CHECK(task.regimes_of("exact").size() == task.regimes.size());
  CHECK(task.regimes_of("fast").size() == task.regimes.size() - 1);
  CHECK(task.regimes_of("fast").front().name == first);
  CHECK(task.regimes_of("fast@exact").size() == task.regimes.size());
  CHECK(task.objective("fast@exact").name == "fast");
  for (const char* unknown : {"fast@exakt", "fast@", "@fast", "fast@exact@fast"})
    CHECK_THAT(complaint_of([&] { task.objective(unknown); }), ContainsSubstring("has no objective"));
  CHECK_THAT(complaint_of([&] { load_task(with(second, "exakt"), "scale"); }), ContainsSubstring("exakt"));
  SourceTree without_objectives = with(second, "exact");
  std::string& json = without_objectives["scale/task.json"];
  const std::string objectives = R"( "objectives": {"exact": {}, "fast": {}},)";
  json.erase(json.find(objectives), objectives.size());
  CHECK_THAT(complaint_of([&] { load_task(without_objectives, "scale"); }), ContainsSubstring("objective 'exact'"));
  CHECK_THAT(complaint_of([&] { load_task(with(first, "exact"), "scale"); }),
             ContainsSubstring("the first regime is every objective's"));
}

TEST_CASE("a task without a limit of the relative error is refused") {
  const std::string limits = "\"limits\": { \"relative_l2\": 0.01, \"cosine\": 0.99 },";
  const auto complaint = [&](const std::string& others) {
    return complaint_of([&] { load_task(edited(scale_task(), "scale/task.json", limits, others), "scale"); });
  };
  CHECK(complaint(R"("limits": {"relative_l2": 0, "cosine": 0.99},)") ==
        std::string("scale/task.json: limits.relative_l2: must be positive") + kExact);
  CHECK(complaint(R"("limits": {"relative_l2": 0.01, "cosine": 0.99, "max_abs": 0},)") ==
        std::string("scale/task.json: limits.max_abs: must be positive") + kExact);
}

TEST_CASE("a shape is a name, values in order, or values by name") {
  const Task task = scale();
  CHECK(parse_shape(task, "wide").name == "wide");
  CHECK(parse_shape(task, "5,64").parameters == Bindings{{"N", number(5)}, {"M", number(64)}});
  CHECK(parse_shape(task, "M=64, N=5").name == "N=5,M=64");
  CHECK(parse_shape(task, "2,128").name == "wide");
  for (const char* text :
       {"5", "5,64,1", "N=5,N=6", "N=5,X=6", "", "wide,small", "5,-1", "5,0", "5,x", "5,99999999999"}) {
    INFO(text);
    CHECK_THAT(complaint_of([&] { parse_shape(task, text); }), ContainsSubstring("shape '" + std::string(text) + "'"));
  }
}

TEST_CASE("the hash follows every file of the task and of include, and no other") {
  const std::string hash = scale().hash;
  const auto hash_with = [](const std::string& path, const std::string& content) {
    SourceTree tree = scale_task();
    tree[path] = content;
    return load_task(tree, "scale").hash;
  };
  CHECK(hash.size() == 32);
  CHECK(hash == scale().hash);
  CHECK(hash_with("other/task.json", "{}") == hash);
  CHECK(hash_with("scale/reference.cu", "// changed\n") != hash);
  CHECK(hash_with("scale/plain/kernel.cu", "// changed\n") != hash);
  CHECK(hash_with("scale/plain/store/another.cu", "") != hash);
  CHECK(hash_with("include/types.cuh", "") != hash);
}

TEST_CASE("a task's hash follows the code of other tasks that its files name, and what that names") {
  SourceTree tree = scale_task();
  tree["other/wide/store.cuh"] = "//% include \"include/far.cuh\"\n";
  tree["other/wide/load.cuh"] = "";
  tree["include/far.cuh"] = "";
  const std::string alone = load_task(tree, "scale").hash;
  CHECK(borrowed_files(tree, "scale").count("other/wide/store.cuh") == 0);
  tree["scale/plain/kernel.cu"] += "//% include \"other/wide/store.cuh\"\n";
  CHECK(borrowed_files(tree, "scale").contains("other/wide/store.cuh"));
  CHECK(borrowed_files(tree, "scale").contains("include/far.cuh"));
  CHECK_FALSE(borrowed_files(tree, "scale").contains("other/wide/load.cuh"));
  const std::string hash = load_task(tree, "scale").hash;
  CHECK(hash != alone);
  const auto changed = [&](const std::string& path) {
    SourceTree other = tree;
    other[path] += "// changed\n";
    return load_task(other, "scale").hash != hash;
  };
  CHECK(changed("other/wide/store.cuh"));
  CHECK(changed("include/far.cuh"));
  CHECK_FALSE(changed("other/wide/load.cuh"));
}

TEST_CASE("mistakes in task.json are named with file, key and reason") {
  const std::string file = "scale/task.json: ";
  const std::vector<Mistake> whole = {
      {R"("seeds": 2)", R"("seedz": 2)", "unknown key 'seedz'; did you mean 'seeds'?"},
      {R"("seeds": 2)", R"("seeds": "2")", R"(seeds: expected an integer, not "2")"},
      {R"("seeds": 2)", R"("seeds": 0)", "seeds: must be 1 to 1000"},
      {R"("seeds": 2)", R"("seeds": 2, "seeds": 3)", "key 'seeds' is given twice"},
      {R"("seeds": 2,)", R"("seeds": 2)",
       "line 21, column 11: not valid JSON: unexpected string literal; expected '}'"},
      {R"("scale": "a")", R"("scale": "b")", "inputs[0].scale: unknown input 'b'; did you mean 'x'?"},
      {R"("dims": ["N"])", R"("dims": ["K"])", "inputs[1].dims[0]: 'K' reads unknown name 'K'; did you mean 'M'?"},
      {R"("name": "y")", R"("name": "x")", "outputs[0].name: the name 'x' is already taken"},
      {R"("name": "y")", R"("name": "N")", "outputs[0].name: the name 'N' is already taken"},
      {"[\"N\", \"M\"],\n  \"spec", "[\"N\", \"in\"],\n  \"spec",
       "shape_parameters[1]: 'in' is a word of the expression language"},
      {R"({ "N": 3, "M": 64 })", R"({ "N": 3 })", "shapes.small: key 'M' is missing"},
      {R"({ "N": 3, "M": 64 })", R"({ "N": 0, "M": 64 })", "shapes.small.N: must be positive and fit 31 bits"},
      {R"("cosine": 0.99)", R"("cosine": 1.5)", "limits.cosine: must be 0 to 1"},
      {R"("bytes": "3 * N * M")", R"("bytes": "3 * N * K")",
       "floor.bytes: '3 * N * K' reads unknown name 'K'; did you mean 'M'?"},
      {R"(["N", "1", "1"])", R"(["N", "1"])", "reference.grid: three dimensions are needed"},
      {R"("y", "N * M"])", R"("y", "N * L"])",
       "reference.arguments[3]: 'N * L' reads unknown name 'L'; did you mean 'M'?"},
  };
  for (const Mistake& mistake : whole) CHECK(task_complaint(mistake.from, mistake.to) == file + mistake.complaint);
  const std::vector<Mistake> part = {
      {R"("dtype": "e4m3")", R"("dtype": "e4m4")", "inputs[0].dtype: unknown dtype 'e4m4'"},
      {R"("dtype": "out")", R"("dtype": "fused")", "option 'fused' has values that are no dtypes"},
      {R"("dims": ["N"])", R"("dims": ["M"])",
       "inputs[0].scale: the dims of 'a' must divide those of 'x' into equal groups"},
      {R"({ "name": "a",)", R"({ "name": "z", "dtype": "e4m3", "dims": ["N", "M"], "scale": "a" }, { "name": "a",)",
       "inputs[1].scale: 'a' has the scales of 'x' already"},
      {R"("dims": ["N"])", R"("dims": ["N +"])", "inputs[1].dims[0]: expression 'N +'"},
      {R"("specialised": ["M"])", R"("specialised": ["Q"])", "specialised[0]: unknown shape parameter 'Q'"},
      {R"("timed": ["large"])", R"("timed": ["huge"])", "sets.cuda.timed[0]: unknown shape 'huge'"},
      {R"("vgpu": {)", R"("tpu": {)", "sets: unknown key 'tpu'"},
      {R"("outliers")", R"("outlier")",
       "regimes.hard.distribution: unknown distribution 'outlier'; did you mean 'outliers'?"},
      {R"("tensors": ["x"])", R"("tensors": ["y"])", "regimes.hard.tensors[0]: unknown input 'y'"},
      {R"("math": "f32")", R"("math": "out")", "floor.math: unknown dtype 'out'"},
      {R"("kernel": "scale_reference", )", "", "reference: key 'kernel' is missing"},
  };
  for (const Mistake& mistake : part) {
    CHECK_THAT(task_complaint(mistake.from, mistake.to), StartsWith(file) && ContainsSubstring(mistake.complaint));
  }
  SourceTree tree = scale_task();
  tree.erase("scale/reference.cu");
  CHECK(complaint_of([&] { load_task(tree, "scale"); }) == file + "reference: scale/reference.cu is missing");
}

TEST_CASE("a distribution is read by its name, and the documentation has it") {
  std::ostringstream page;
  page << std::ifstream(EVO_SOURCE_DIR "/docs/templates.md").rdbuf();
  for (std::size_t i = 0; i < kEnumerators<Distribution>; ++i) {
    const std::string_view name = kEnumeratorNames<Distribution>[i];
    CHECK(parse_distribution(name) == static_cast<Distribution>(i));
    CHECK_THAT(page.str(), ContainsSubstring("`" + std::string(name) + "`"));
  }
  CHECK_THAT(complaint_of([] { parse_distribution("tied"); }), ContainsSubstring("did you mean 'ties'?"));
}
