// Results as files of other tools.

#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "population/results/formats.h"
#include "population/results/import.h"
#include "tests/population/export_fixture.h"
#include "tests/population/fixture.h"

using namespace evo;
using namespace evo::test;
using Catch::Matchers::ContainsSubstring;
using nlohmann::json;

namespace {

constexpr const char* kTask = R"json({
  "summary": "y = x", "shape_parameters": ["R", "N"], "specialised": ["N"], "options": {},
  "inputs": [{"name": "x", "dtype": "f32", "dims": ["R", "N"]}],
  "outputs": [{"name": "y", "dtype": "f32", "dims": ["R", "N"]}],
  "shapes": {"small": {"R": 3, "N": 64}, "wide": {"R": 5, "N": 128}}, "sets": {}, "seeds": 1,
  "regimes": {"normal": {"distribution": "normal"}}, "limits": {"relative_l2": 0.1, "cosine": 0.9},
  "floor": {"flops": "R * N", "bytes": "8 * R * N", "math": "f32"},
  "reference": {"kernel": "copy_reference", "grid": ["R", "1", "1"], "block": ["N", "1", "1"], "arguments": ["x", "y"]}
})json";

std::string text_in(std::string_view format, const Results& results) {
  return std::ranges::find(result_formats(), format, &ResultFormat::name)->write(results);
}

std::string family_json(const std::string& genes) {
  return R"json({"summary": "s", "genes": [)json" + genes + R"json(], "constraints": [],
    "launches": [{"kernel": "copy", "grid": ["R", "1", "1"], "block": ["N", "1", "1"], "arguments": ["x", "y"]}]})json";
}

/// A task of two families. `tile`: 16, 32 and 64; `async`: whether `depth` (1 to 3) takes part; `order` is a
/// slot.
SourceTree copy_tree() {
  return {{"copy/task.json", kTask},
          {"copy/reference.cu", "extern \"C\" __global__ void copy_reference() {}\n"},
          {"copy/plain/family.json", family_json(R"({"name": "tile", "values": [16, 32, 64], "doc": "d"},
             {"name": "async", "values": [false, true], "doc": "d"},
             {"name": "depth", "values": [1, 2, 3], "when": "async", "doc": "d"},
             {"name": "order", "slot": true, "doc": "d"})")},
          {"copy/plain/kernel.cu", "k\n"},
          {"copy/plain/order/rows.cu", "r\n"},
          {"copy/plain/order/columns.cu", "c\n"},
          {"copy/other/family.json", family_json(R"({"name": "tile", "values": [64, 128], "doc": "d"},
             {"name": "mode", "values": ["a,b", "c"], "doc": "d"})")},
          {"copy/other/kernel.cu", "k\n"}};
}

Genome plain(std::int64_t tile, std::int64_t depth = 0) {
  Genome genome{"plain", {{"tile", tile}, {"async", depth > 0}, {"order", std::string("rows")}}};
  if (depth > 0) genome.genes["depth"] = depth;
  return genome;
}

Genome other(std::int64_t tile, const std::string& mode) {
  return {"other", {{"tile", tile}, {"mode", mode}}};
}

/// A database with one run after the other.
class Bench {
 public:
  Bench() : store_(Store::open(":memory:", Store::Mode::write)) {}

  RunId begin(const std::vector<std::string>& shapes = {"small"}) {
    const SourceTree files = copy_tree();
    const Task task = load_task(files, "copy");
    RunInfo info = run_info(task.hash);
    info.task = "copy";
    info.files = files;
    info.target = make_target(task, "cuda", shapes, {});
    info.objective = objective_of(info.target);
    timed_ = info.target.timed;
    ticket_ = 0;
    run_ = store_.begin_run(info);
    archive_ = store_.archive(run_);
    return run_;
  }

  void add(const Genome& genome, const Evaluation& evaluation, const std::string& source = "") {
    const Proposal proposal{ticket_, genome, "random", {}};
    archive_->record(proposal, candidate(proposal, source.empty() ? fmt::format("{} {}", run_, ticket_) : source),
                     evaluation);
    ++ticket_;
  }

  /// Timed at each shape of the run.
  Evaluation timed(const std::vector<double>& us) const {
    Evaluation evaluation = valid(us.front(), std::to_string(ticket_));
    evaluation.timings.clear();
    for (std::size_t i = 0; i < us.size(); ++i)
      evaluation.timings.push_back({timed_[i].name, false, false, us[i], us[i], us[i], 0, {us[i], us[i] + 0.5}});
    return evaluation;
  }

  const Store& store() const { return store_; }
  Results results() const { return results_of(store_, {run_}); }

 private:
  Store store_;
  std::unique_ptr<Archive> archive_;
  std::vector<Shape> timed_;
  RunId run_ = 0;
  std::uint64_t ticket_ = 0;
};

/// One of everything.
Results mixed_results(Bench& bench) {
  bench.begin();
  bench.add(plain(16), bench.timed({4.25}));
  bench.add(plain(32, 2), bench.timed({3.5}));
  bench.add(plain(64, 3), failed(Verdict::compile_failed, "error"));
  bench.add(plain(16, 1), failed(Verdict::wrong_answer, "wrong"));
  bench.add(plain(64), failed(Verdict::illegal, "too much shared memory"));
  bench.add(plain(32), failed(Verdict::timed_out, "hangs"));
  bench.add(plain(64, 1), failed(Verdict::harness_failed, "our fault"));
  bench.add(plain(64, 2), failed(Verdict::over_resources, "spills"));
  return bench.results();
}

/// What the schema cache/1.1.0 asks for.
void check_kernel_tuner_schema(const json& file) {
  REQUIRE(file.is_object());
  CHECK(file.at("schema_version") == "1.1.0");
  for (const char* text : {"device_name", "kernel_name", "objective"}) CHECK(file.at(text).is_string());
  const json& size = file.at("problem_size");
  CHECK((size.is_array() || size.is_number_integer() || size.is_string()));
  for (const json& key : file.at("tune_params_keys")) CHECK(key.is_string());
  for (const json& values : file.at("tune_params")) CHECK(values.is_array());
  const std::set<std::string> errors = {"InvalidConfig", "CompilationFailedConfig", "RuntimeFailedConfig"};
  for (const json& entry : file.at("cache")) {
    const json& time = entry.at("time");
    CHECK((time.is_number() || (time.is_string() && errors.contains(time.get<std::string>()))));
    for (const char* number :
         {"compile_time", "verification_time", "benchmark_time", "strategy_time", "framework_time"})
      CHECK(entry.at(number).is_number());
    if (entry.contains("times"))
      for (const json& sample : entry.at("times")) CHECK(sample.is_number());
    // ISO 8601, as the schema's date-time.
    const std::string at = entry.at("timestamp");
    CHECK(at.size() >= 20);
    CHECK(at[10] == 'T');
    CHECK(at.back() == 'Z');
  }
}

/// What Kernel Tuner itself relies on beyond the schema.
void check_kernel_tuner_lookup(const std::string& text, const json& file) {
  CHECK(text.ends_with("}\n}\n"));
  for (const auto& [key, entry] : file.at("cache").items()) {
    std::string joined;
    for (const json& name : file.at("tune_params_keys")) {
      const json& value = entry.at(name.get<std::string>());
      const json& values = file.at("tune_params").at(name.get<std::string>());
      CHECK(std::find(values.begin(), values.end(), value) != values.end());
      joined += joined.empty() ? "" : ",";
      joined += value.is_string()    ? value.get<std::string>()
                : value.is_boolean() ? (value.get<bool>() ? "True" : "False")
                                     : value.dump();
    }
    CHECK(key == joined);
  }
}

json kernel_tuner(const Results& results) {
  const std::string text = text_in("kerneltuner", results);
  json file = json::parse(text);
  check_kernel_tuner_schema(file);
  check_kernel_tuner_lookup(text, file);
  return file;
}

}  // namespace

TEST_CASE("results become a cache file that Kernel Tuner's schema accepts") {
  Bench bench;
  const json file = kernel_tuner(mixed_results(bench));
  CHECK(file["kernel_name"] == "copy");
  CHECK(file["device_name"] == "Test GPU");
  CHECK(file["problem_size"] == json({3, 64}));
  CHECK(file["tune_params_keys"] == json({"tile", "async", "depth", "order"}));
  CHECK(file["tune_params"]["tile"] == json({16, 32, 64}));
  CHECK(file["tune_params"]["async"] == json({false, true}));
  CHECK(file["tune_params"]["order"] == json({"columns", "rows"}));
  const json& best = file["cache"]["32,True,2,rows"];
  CHECK(best["time"] == 0.0035);
  CHECK(best["times"] == json({0.0035, 0.004}));
  CHECK(best["compile_time"] == 12.5);
  CHECK(best["benchmark_time"] == 0.0075);
  CHECK(file["evo"]["task"] == "copy");
  CHECK(file["evo"]["timing"] == "measured");
  CHECK(file["evo"]["genes"][2]["when"] == "async");
}

TEST_CASE("failures become Kernel Tuner's errors, and our own are left out") {
  Bench bench;
  const json cache = kernel_tuner(mixed_results(bench))["cache"];
  CHECK(cache.size() == 7);
  CHECK(cache["64,True,3,rows"]["time"] == "CompilationFailedConfig");
  CHECK(cache["64,True,2,rows"]["time"] == "CompilationFailedConfig");
  CHECK(cache["16,True,1,rows"]["time"] == "RuntimeFailedConfig");
  CHECK(cache["16,True,1,rows"]["verdict"] == "wrong_answer");
  CHECK(cache["64,False,1,rows"]["time"] == "InvalidConfig");
  CHECK_FALSE(cache["64,False,1,rows"].contains("times"));
}

TEST_CASE("an inactive gene has its first value in a cache file, and is named") {
  Bench bench;
  const json cache = kernel_tuner(mixed_results(bench))["cache"];
  const json& entry = cache["16,False,1,rows"];
  CHECK(entry["depth"] == 1);
  CHECK(entry["inactive"] == json({"depth"}));
  CHECK_FALSE(cache["32,True,2,rows"].contains("inactive"));
}

TEST_CASE("a copy has the result of its original") {
  Bench bench;
  bench.begin();
  bench.add(plain(16), failed(Verdict::compile_failed, "error"), "same");
  Evaluation failed_copy = failed(Verdict::duplicate, "error");
  failed_copy.original = Original{0, Shared::source, Verdict::compile_failed};
  bench.add(plain(32), failed_copy, "same");
  Evaluation copy = bench.timed({2});
  bench.add(plain(16, 1), copy);
  copy.verdict = Verdict::duplicate;
  copy.original = Original{2, Shared::cubin, Verdict::valid};
  bench.add(plain(16, 2), copy);
  const json cache = kernel_tuner(bench.results())["cache"];
  CHECK(cache["32,False,1,rows"]["time"] == "CompilationFailedConfig");
  CHECK(cache["16,True,2,rows"]["time"] == 0.002);
}

TEST_CASE("of several families the family is a parameter, and genes of the others are inactive") {
  Bench bench;
  bench.begin();
  bench.add(plain(32), bench.timed({4}));
  bench.add(other(128, "a,b"), bench.timed({5}));
  const Results results = bench.results();
  const json file = kernel_tuner(results);
  CHECK(file["tune_params_keys"] == json({"family", "tile", "mode", "async", "depth", "order"}));
  CHECK(file["tune_params"]["family"] == json({"other", "plain"}));
  CHECK(file["tune_params"]["tile"] == json({16, 32, 64, 128}));
  CHECK(file["cache"]["plain,32,a,b,False,1,rows"]["inactive"] == json({"mode", "depth"}));
  const std::string csv = text_in("csv", results);
  CHECK_THAT(csv, ContainsSubstring("\nother,128,\"a,b\",false,1,columns,ok,0.005,"));
}

TEST_CASE("of several shapes each has its time") {
  Bench bench;
  bench.begin({"small", "wide"});
  bench.add(plain(16), bench.timed({4, 9}));
  const Results results = bench.results();
  const json file = kernel_tuner(results);
  CHECK(file["problem_size"] == "small wide");
  const json& entry = file["cache"]["16,False,1,rows"];
  CHECK(entry["time of small"] == 0.004);
  CHECK(entry["time of wide"] == 0.009);
  CHECK_FALSE(entry.contains("times"));
  const json t4 = json::parse(text_in("t4", results));
  CHECK(t4["results"][0]["measurements"].size() == 3);
  CHECK_THAT(text_in("csv", results), ContainsSubstring(",verdict,time_small_ms,time_wide_ms\n"));
}

TEST_CASE("results become T4 results with what the schema asks for") {
  Bench bench;
  const json file = json::parse(text_in("t4", mixed_results(bench)));
  CHECK(file["schema_version"] == "1.0.0");
  CHECK(file["metadata"]["timeunit"] == "milliseconds");
  std::vector<std::string> invalidities;
  for (const json& result : file["results"]) {
    CHECK(result.at("configuration").is_object());
    CHECK(result.at("times").at("compilation_time").is_number());
    CHECK(result.at("times").at("runtimes").is_array());
    CHECK(result.at("correctness") == (result.at("invalidity") == "correct" ? 1 : 0));
    invalidities.push_back(result.at("invalidity"));
    for (const json& measurement : result.at("measurements")) CHECK(measurement.at("unit").is_string());
  }
  CHECK(invalidities ==
        std::vector<std::string>{"correct", "correct", "compile", "correctness", "constraints", "timeout", "compile"});
  CHECK_FALSE(file["results"][0]["configuration"].contains("depth"));
  CHECK(file["results"][1]["configuration"]["depth"] == 2);
  CHECK(file["results"][1]["measurements"][0] == json({{"name", "time"}, {"value", 0.0035}, {"unit", "ms"}}));
}

TEST_CASE("results in CSV have one line for each candidate") {
  Bench bench;
  const std::string text = text_in("csv", mixed_results(bench));
  CHECK_THAT(text, ContainsSubstring("tile,async,depth,order,status,time_ms,std_ms,compile_ms,bench_ms,verdict\n"));
  CHECK_THAT(text, ContainsSubstring("\n32,true,2,rows,ok,0.0035,0.00025,12.5,0.0075,valid\n"));
  CHECK_THAT(text, ContainsSubstring("\n16,true,1,rows,runtime,,,0,0,wrong_answer\n"));
  CHECK(std::count(text.begin(), text.end(), '\n') == 8);
}

TEST_CASE("runs of the same objective go into one file, each genome once") {
  Bench bench;
  const RunId first = bench.begin();
  bench.add(plain(16), bench.timed({4}));
  bench.add(plain(64), failed(Verdict::harness_failed, "our fault"));
  const RunId second = bench.begin();
  bench.add(plain(64), bench.timed({6}));
  bench.add(plain(16), bench.timed({5}));
  const Results both = results_of(bench.store(), {second, first});
  CHECK(both.runs == std::vector<RunId>{first, second});
  const json cache = kernel_tuner(both)["cache"];
  CHECK(cache.size() == 2);
  CHECK(cache["16,False,1,rows"]["time"] == 0.004);
  CHECK(cache["64,False,1,rows"]["time"] == 0.006);
  const RunId unfinished = bench.begin({"wide"});
  CHECK_THAT(error_of([&] {
               results_of(bench.store(), {first, unfinished});
             }),
             ContainsSubstring("runs 1 and 3 do not rank by the same"));
  CHECK_THAT(error_of([&] { results_of(bench.store(), {unfinished}); }), ContainsSubstring("nothing was evaluated"));
  CHECK_THAT(error_of([&] { results_of(bench.store(), {99}); }), ContainsSubstring("no run 99"));
}

TEST_CASE("written results are imported as a run of the same objective") {
  Bench bench;
  bench.begin({"small", "wide"});
  bench.add(plain(16), bench.timed({4, 9}));
  bench.add(plain(32, 2), failed(Verdict::timed_out, "hangs"));
  bench.add(other(128, "a,b"), bench.timed({2, 8}));
  for (const bool as_t4 : {false, true}) {
    const Results written = bench.results();
    const Results read = read_results(as_t4 ? text_in("t4", written) : text_in("kerneltuner", written), "sweep.json");
    Store imported = Store::open(":memory:", Store::Mode::write);
    const RunId run = import_results(imported, read, "evo import sweep.json");
    const RunRow row = *imported.run(run);
    CHECK(row.status == RunStatus::finished);
    CHECK(row.info.objective == written.info.objective);
    CHECK(device_key(row.info.device) == device_key(written.info.device));
    CHECK(row.evaluated == 3);
    CHECK(row.valid == 2);
    CHECK(std::abs(*row.best_us - 2) < 1e-9);
    const CandidateRow first = *imported.candidate(*imported.candidate_of(run, 0));
    CHECK(first.genome == plain(16));
    REQUIRE(first.evaluation.timings.size() == 2);
    CHECK(std::abs(first.evaluation.timings[1].median_us - 9) < 1e-9);
    CHECK(imported.candidate(*imported.candidate_of(run, 1))->evaluation.verdict == Verdict::timed_out);
    CHECK(imported.candidate(*imported.candidate_of(run, 2))->genome == other(128, "a,b"));
    // Candidates without sources never become elites.
    CHECK(imported.elites().empty());
    // They can be exported again: genes have the alleles that occur.
    const Results again = results_of(imported, {run});
    CHECK(again.rows.size() == 3);
    CHECK(again.families.size() == 2);
    CHECK(read_results(text_in("t4", again), "again.json").rows.size() == 3);
    CHECK(text_in("csv", again).find("a,b") != std::string::npos);
    CHECK(imported.check().empty());
  }
}

TEST_CASE("an error that T4 does not give is left out of a cache file, and read back as unknown") {
  Bench bench;
  bench.begin();
  bench.add(plain(16), bench.timed({4}));
  Results results = read_results(text_in("t4", bench.results()), "sweep.t4.json");
  CHECK(std::isnan(results.rows.front().worst_relative_l2));
  const Results with_families = bench.results();
  results.families = with_families.families;
  results.shape_parameters = with_families.shape_parameters;
  const std::string text = text_in("kerneltuner", results);
  CHECK_THAT(text, !ContainsSubstring("relative_l2"));
  CHECK(std::isnan(read_results(text, "sweep.json").rows.front().worst_relative_l2));
  // Former versions wrote null.
  std::string null = text;
  null.insert(null.find("\"compile_time\""), "\"relative_l2\":null,");
  CHECK(std::isnan(read_results(null, "sweep.json").rows.front().worst_relative_l2));
}

TEST_CASE("results of a shape without all its sizes are refused in one line") {
  Bench bench;
  bench.begin();
  bench.add(plain(16), bench.timed({4}));
  const std::string text = text_in("kerneltuner", bench.results());
  const std::string sizes = R"("shapes":{"small":{"N":64,"R":3}})";
  const auto with_sizes = [&](const std::string& other) {
    std::string changed = text;
    REQUIRE(changed.find(sizes) != std::string::npos);
    return changed.replace(changed.find(sizes), sizes.size(), other);
  };
  const auto refusal = [&](const std::string& other) {
    return error_of([&] { read_results(with_sizes(other), "sweep.json"); });
  };
  CHECK_THAT(refusal(R"("shapes":{"small":{}})"),
             ContainsSubstring("sweep.json: evo.shapes.small: its sizes are missing"));
  CHECK(is_one_line(refusal(R"("shapes":{"small":{"N":64,"R":"x"}})")));
  // Which sizes a task's shapes have is known where its files are.
  Store store = Store::open(":memory:", Store::Mode::write);
  const RunId run =
      import_results(store, read_results(with_sizes(R"("shapes":{"small":{"N":64}})"), "sweep.json"), "evo import");
  RunInfo info = bench.results().info;
  info.files = copy_tree();
  store.begin_run(info);
  CHECK_THAT(error_of([&] { results_of(store, {run}); }), ContainsSubstring("shape small of run 1 has no size R"));
}

TEST_CASE("imported results leave a task's elites current, and its files to the first run that has them") {
  Bench bench;
  bench.begin();
  bench.add(plain(16), bench.timed({4}));
  Results old = read_results(text_in("kerneltuner", bench.results()), "old.json");
  const std::string hash = old.info.task_hash;
  old.info.task_hash = "of former templates";
  Store store = Store::open(":memory:", Store::Mode::write);
  import_results(store, read_results(text_in("kerneltuner", bench.results()), "new.json"), "evo import new.json");
  CHECK(store.task_files(hash).empty());
  RunInfo info = run_info(hash);
  info.task = "copy";
  info.files = copy_tree();
  const RunId run = store.begin_run(info);
  const Proposal found = proposal(0);
  store.archive(run)->record(found, candidate(found, "source"), valid(3, "a"));
  import_results(store, old, "evo import old.json");
  CHECK(store.task_files(hash).size() == copy_tree().size());
  REQUIRE(store.elites().size() == 1);
  CHECK(store.elites().front().current);
}

TEST_CASE("files that are no results of evo are refused in one line that says why") {
  Bench bench;
  const std::string text = text_in("kerneltuner", mixed_results(bench));
  const auto refusal = [](const std::string& damaged) {
    const std::string error = error_of([&] { read_results(damaged, "sweep.json"); });
    CHECK(is_one_line(error));
    CHECK_THAT(error, ContainsSubstring("sweep.json"));
    return error;
  };
  const auto without = [&](const std::string& what, const std::string& with) {
    std::string damaged = text;
    const std::size_t at = damaged.find(what);
    REQUIRE(at != std::string::npos);
    return damaged.replace(at, what.size(), with);
  };
  CHECK_THAT(refusal("// A kernel"), ContainsSubstring("neither a Kernel Tuner cache, T4 or KTT results, nor CSV"));
  CHECK_THAT(refusal(R"({"cache": {}})"), ContainsSubstring("no tune_params_keys"));
  CHECK_THAT(refusal(without("\"task_hash\"", "\"task_has\"")), ContainsSubstring("task_hash"));
  CHECK_THAT(refusal(without("\"time\":0.0035", "\"time\":-1")), ContainsSubstring("above zero"));
  CHECK_THAT(refusal(without("\"verdict\":\"wrong_answer\"", "\"verdict\":\"wrongish\"")),
             ContainsSubstring("wrongish"));
  for (std::size_t length = 0; length + 2 < text.size(); length += text.size() / 7) refusal(text.substr(0, length));
}

TEST_CASE("a Kernel Tuner cache of others becomes a run whose provenance is said, and none of its rows an elite") {
  const std::string cache =
      R"json({"device_name": "NVIDIA A100", "kernel_name": "vector add", "problem_size": [4096, 64],
    "tune_params_keys": ["threads", "share"], "tune_params": {"threads": [64, 128], "share": [0.5]}, "objective": "time",
    "cache": {"64,0.5": {"threads": 64, "share": 0.5, "time": 0.5, "compile_time": 300},
              "128,0.5": {"threads": 128, "share": 0.5, "time": 0.25, "compile_time": 200},
              "256,0.5": {"threads": 256, "share": 0.5, "time": "CompilationFailedConfig"}}})json";
  const Results results = read_results(cache, "cache.json");
  CHECK(results.info.task == "vector_add");
  CHECK(results.info.device.name == "NVIDIA A100");
  CHECK(results.info.device.id == "recorded");
  CHECK(results.info.objective == "latency 4096x64");
  REQUIRE(results.rows.size() == 3);
  CHECK(results.rows[1].latency_us == 250);
  CHECK(results.rows[1].genome.genes.at("threads") == Value(std::int64_t{128}));
  CHECK(results.rows[2].verdict == Verdict::compile_failed);
  Store store = Store::open(":memory:", Store::Mode::write);
  import_results(store, results, "evo import cache.json");
  REQUIRE(store.runs().size() == 1);
  CHECK(store.runs().front().info.strategy == kImported);
  CHECK(store.elites().empty());
  // An unfinished one has rows, too, and evo's own that is cut off is damaged.
  CHECK(read_results(cache.substr(0, cache.find("\"256,0.5\"")), "cut.json").rows.size() == 2);
  CHECK_THAT(error_of([&] { read_results(R"({"evo": {"task": "t"}, "cache": {)", "cut.json"); }),
             ContainsSubstring("cut.json is cut off: evo export --format wrote it"));
}
