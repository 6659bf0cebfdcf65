#include "engine/replay/replay.h"

#include <fmt/format.h>

#include <catch2/catch_approx.hpp>
#include <fstream>
#include <iterator>
#include <numeric>
#include <set>

#include "engine/replay/methodology.h"
#include "engine/replay/recording_read.h"
#include "engine/replay/replay_report.h"
#include "engine/strategy/strategies.h"
#include "tests/engine/support.h"

using namespace evo;
using namespace evo::test;
using Catch::Approx;
using Catch::Matchers::ContainsSubstring;

namespace {

std::string file(const std::string& name) {
  std::ifstream in(EVO_TEST_DATA "/replay/" + name);
  REQUIRE(in);
  return {std::istreambuf_iterator<char>(in), {}};
}

const Recording& synthetic() {
  static const Recording kRecording = read_recording(file("synthetic.csv"), "synthetic");
  return kRecording;
}

const std::string kKernelTuner = R"({
"device_name": "GPU", "tune_params_keys": ["x", "mode"], "tune_params": {"x": [1, 2], "mode": ["a", "b"]},
"objective": "time",
"cache": {
"1,a": {"x": 1, "mode": "a", "time": 2.5, "times": [2.4, 2.6], "compile_time": 100.0, "benchmark_time": 20.0},
"1,b": {"x": 1, "mode": "b", "time": "CompilationFailedConfig", "compile_time": 50.0, "benchmark_time": 0},
"2,a": {"x": 2, "mode": "a", "time": "InvalidConfig", "__error__": "InvalidConfig", "compile_time": 0.0, "benchmark_time": 0},
"2,b": {"x": 2, "mode": "b", "time": 1.5, "times": [1.5], "compile_time": 80.0, "benchmark_time": 10.0}
}
})";

void check_the_four(const Recording& recording) {
  REQUIRE(recording.rows.size() == 4);
  REQUIRE(recording.family.genes.size() == 2);
  CHECK(recording.family.genes[0].name == "x");
  CHECK(recording.family.genes[0].kind == Gene::Kind::number);
  CHECK(recording.family.genes[1].kind == Gene::Kind::category);
  CHECK(recording.rows[0].latency_us == 2500.0);
  CHECK(recording.rows[0].cost_s == Approx(0.12));
  CHECK(recording.rows[1].verdict == Verdict::compile_failed);
  CHECK(!recording.rows[1].latency_us);
  CHECK(recording.rows[1].cost_s == Approx(0.05));
  CHECK(recording.rows[2].verdict == Verdict::illegal);
  CHECK(recording.rows[3].latency_us == 1500.0);
  CHECK(recording.rows[3].alleles == Path{1, 1});
}

}  // namespace

TEST_CASE("a Kernel Tuner cache is read, failures and costs included") {
  check_the_four(read_recording(kKernelTuner, "k"));
}

TEST_CASE("a Kernel Tuner cache that is still being written is read as far as it goes") {
  const std::string open = kKernelTuner.substr(0, kKernelTuner.rfind("}\n}"));
  check_the_four(read_recording(open, "k"));
  check_the_four(read_recording(open + ",\n", "k"));
  const Recording cut = read_recording(kKernelTuner.substr(0, kKernelTuner.find("\"compile_time\": 80")), "k");
  CHECK(cut.rows.size() == 3);
}

TEST_CASE("T4 results are read with the names and units that other tools write") {
  const auto t4 = [](const std::string& unit, const std::string& compilation, double scale) {
    const auto item = [&](int x, const char* mode, const char* invalidity, const std::string& value, double compile,
                          double sample) {
      return fmt::format(
          R"({{"configuration": {{"x": {}, "mode": "{}"}}, "times": {{"{}": {}, "runtimes": [{}]}},
        "invalidity": "{}", "correctness": 1, "measurements": [{{"name": "time", "value": {}, "unit": ""}}],
        "objectives": ["time"]}})",
          x, mode, compilation, compile * scale, sample * scale, invalidity, value);
    };
    return fmt::format(R"({{"metadata": {{"timeunit": "{}"}}, "results": [{}, {}, {}, {}]}})", unit,
                       item(1, "a", "correct", fmt::format("{}", 2.5 * scale), 100, 20),
                       item(1, "b", "compile", "\"CompilationFailedConfig\"", 50, 0),
                       item(2, "a", "constraints", "\"InvalidConfig\"", 0, 0),
                       item(2, "b", "correct", fmt::format("{}", 1.5 * scale), 80, 10));
  };
  check_the_four(read_recording(t4("miliseconds", "compilation", 1), "t"));
  check_the_four(read_recording(t4("milliseconds", "compilation_time", 1), "t"));
  check_the_four(read_recording(t4("microseconds", "compilation", 1000), "t"));
  CHECK_THAT(complaint_of([&] { read_recording(t4("fortnights", "compilation", 1), "t"); }),
             ContainsSubstring("t: unknown time unit 'fortnights'"));
}

TEST_CASE("KTT results are read") {
  const auto item = [](int x, const char* mode, const char* status, double duration, double overhead) {
    return fmt::format(R"({{"Status": "{}", "TotalDuration": {}, "TotalOverhead": {}, "Configuration":
      [{{"Name": "x", "Value": {}}}, {{"Name": "mode", "Value": "{}"}}], "ComputationResults": []}})",
                       status, duration, overhead, x, mode);
  };
  const Recording recording =
      read_recording(fmt::format(R"({{"Metadata": {{"TimeUnit": "Microseconds"}}, "Results": [{}, {}, {}, {}]}})",
                                 item(1, "a", "Ok", 2500, 117500), item(1, "b", "CompilationFailed", 1e300, 50000),
                                 item(2, "a", "DeviceLimitsExceeded", 0, 0), item(2, "b", "Ok", 1500, 88500)),
                     "k");
  check_the_four(recording);
  CHECK(recording.rows[3].cost_s == Approx(0.09));
}

TEST_CASE("values with commas are read from CSV as evo writes them") {
  const Recording recording =
      read_recording("mode,status,time_ms,std_ms,compile_ms,bench_ms\n\"a,b\",ok,2,0,100,20\nc,compile,,,50,0\n", "k");
  CHECK(genome_of(recording.family, recording.rows[0].alleles).genes.at("mode") == Value(std::string("a,b")));
  CHECK(recording.rows[0].latency_us == 2000.0);
  CHECK(recording.rows[0].cost_s == Approx(0.12));
  CHECK(recording.rows[1].verdict == Verdict::compile_failed);
}

TEST_CASE("numbers with fractions stay in order, and genes that some entries lack are inactive") {
  const Recording recording = make_recording(
      "r", {"f", "kind", "depth"}, {"f"},
      {{{{"f", std::string("10.5")}, {"kind", std::string("plain")}}, 1.0, Verdict::valid, 0},
       {{{"f", std::string("9.25")}, {"kind", std::string("deep")}, {"depth", number(2)}}, 2.0, Verdict::valid, 0},
       {{{"f", std::string("9.25")}, {"kind", std::string("deep")}, {"depth", number(2)}}, 3.0, Verdict::valid, 0}});
  CHECK(recording.family.genes[0].alleles == std::vector<Value>{std::string("9.25"), std::string("10.5")});
  REQUIRE(recording.rows.size() == 2);
  CHECK(recording.rows[0].alleles == Path{1, 1, kInactive});
  CHECK(recording.rows[1].latency_us == 2.0);
  CHECK(RecordedSpace(recording).space().size() == 2);
}

TEST_CASE("a file that is no recorded space is refused in one line") {
  const auto refusal = [](const std::string& text) { return complaint_of([&] { read_recording(text, "f"); }); };
  CHECK_THAT(refusal(""), ContainsSubstring("f: is empty"));
  CHECK_THAT(refusal("{\"cache\": [1"), ContainsSubstring("f: malformed JSON"));
  CHECK_THAT(refusal("a,time_ms\n\xb4,1\n"), ContainsSubstring("f: is no UTF-8 text"));
  CHECK_THAT(refusal("{}"), ContainsSubstring("neither a Kernel Tuner cache"));
  CHECK_THAT(refusal("{\"cache\": {}, \"tune_params_keys\": [\"x\"]}"), ContainsSubstring("no configurations"));
  CHECK_THAT(refusal("{\"cache\": {\"1\": {}}, \"tune_params_keys\": [\"x\"]}"),
             ContainsSubstring("configuration 1: no value of x"));
  CHECK_THAT(refusal("a,b\n1,2\n"), ContainsSubstring("status"));
  CHECK_THAT(refusal("a,status,time_ms\n1,ok\n"), ContainsSubstring("line 2: 2 cells, not 3"));
}

TEST_CASE("the score P equals that of the published scorer") {
  // The figures are the scorer's for tests/data/replay/orders.jsonl on synthetic.csv; the orders are made
  // again here.
  const Recording& recording = synthetic();
  const Methodology methodology(recording);
  std::vector<std::size_t> by_latency(recording.rows.size());
  std::iota(by_latency.begin(), by_latency.end(), std::size_t{0});
  std::stable_sort(by_latency.begin(), by_latency.end(), [&](std::size_t a, std::size_t b) {
    return recording.rows[a].latency_us.value_or(1e300) < recording.rows[b].latency_us.value_or(1e300);
  });
  std::vector<std::vector<std::uint32_t>> ranks;
  for (std::ptrdiff_t skipped = 0; skipped < 4; ++skipped) {
    const std::vector<std::size_t> order(by_latency.begin() + skipped, by_latency.begin() + 40);
    ranks.push_back(methodology.ranks(order));
  }
  CHECK(methodology.score(ranks) == Approx(0.16831578939667724).epsilon(0).margin(1e-9));
  CHECK(methodology.score({methodology.ranks(by_latency)}) == Approx(1.0));
}

TEST_CASE("random search scores about 0, and failures cost time") {
  const Recording& recording = synthetic();
  const Methodology methodology(recording);
  const RecordedSpace space(recording);
  std::vector<std::vector<std::uint32_t>> ranks;
  std::vector<std::vector<std::uint32_t>> delayed;
  std::size_t failing = 0;
  while (recording.rows[failing].latency_us) ++failing;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    std::vector<std::size_t> order = replay(space, "random", seed, {100, methodology.cutoff_s(), 1});
    ranks.push_back(methodology.ranks(order));
    std::erase(order, failing);
    order.insert(order.begin() + 1, failing);
    delayed.push_back(methodology.ranks(order));
  }
  CHECK(std::abs(methodology.score(ranks)) < 0.25);
  CHECK(methodology.score(delayed) < methodology.score(ranks));
}

TEST_CASE("a replayed run visits each row at most once, and the same seed gives the same run") {
  const RecordedSpace space(synthetic());
  for (const std::string& strategy : strategy_names()) {
    INFO(strategy);
    const auto order = replay(space, strategy, 7, {150, 0, 1});
    CHECK(order.size() == 150);
    CHECK(std::set<std::size_t>(order.begin(), order.end()).size() == 150);
    CHECK(order == replay(space, strategy, 7, {150, 0, 1}));
    CHECK(replay(space, strategy, 7, {150, 0, 8}).size() >= 150);
  }
  CHECK(replay(space, "evolve", 7, {100000, 0, 8}).size() == synthetic().rows.size());
}

TEST_CASE("evolve needs fewer evaluations than random and genetic on a recorded space") {
  const Recording& recording = synthetic();
  const RecordedSpace space(recording);
  const Methodology methodology(recording);
  const std::vector<std::size_t> budgets = {50, 100};
  const auto assessed = [&](const char* strategy, std::size_t width) {
    Orders orders;
    for (std::uint64_t seed = 0; seed < 20; ++seed) orders.push_back(replay(space, strategy, seed, {100, 0, width}));
    return assess(recording, methodology, orders, budgets).figures;
  };
  const ReplayFigures evolve = assessed("evolve", 1);
  const ReplayFigures random = assessed("random", 1);
  CHECK(evolve.best[0].value < random.best[0].value);
  CHECK(evolve.best[1].value < random.best[1].value);
  CHECK(evolve.score.low > random.score.high);
  CHECK(evolve.score.value > assessed("genetic", 1).score.value);
  CHECK(assessed("evolve", 8).best[1].value < 1.03 * evolve.best[1].value);
}

TEST_CASE("confidence intervals contain their estimate, and shrink with the number of runs") {
  const Recording& recording = synthetic();
  const RecordedSpace space(recording);
  const Methodology methodology(recording);
  const std::vector<std::size_t> budgets = {20};
  Orders orders;
  for (std::uint64_t seed = 0; seed < 64; ++seed) orders.push_back(replay(space, "random", seed, {20, 0, 1}));
  const ReplayFigures many = assess(recording, methodology, orders, budgets).figures;
  orders.resize(8);
  const ReplayFigures few = assess(recording, methodology, orders, budgets).figures;
  for (const Figure& figure : {many.best[0], many.hit, few.best[0]}) {
    CHECK(figure.low <= figure.value);
    CHECK(figure.value <= figure.high);
  }
  CHECK(many.best[0].high - many.best[0].low < few.best[0].high - few.best[0].low);
}
