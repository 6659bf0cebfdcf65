#include <algorithm>
#include <utility>

#include "tests/cli/bench.h"

using namespace evo::testing;

namespace {

/// A bench of the toy task whose larger blocks are faster and err more, within the limit of its looser objective.
struct TradingBench : ToyBench {
  TradingBench() {
    change("templates/toy/plain/kernel.cu", "${padding} * 8", "(256 / ${threads}) * 16");
    change("templates/toy/plain/kernel.cu", "${wrong ? '-' : '+'} b[i${item}]",
           "${wrong ? '-' : '+'} b[i${item}] + a[i${item}] * ${threads} * 1e-7f");
  }
};

std::vector<std::string> front_run(std::vector<std::string> more) {
  std::vector<std::string> run = {"run",      "--task", "toy", "--device", "vgpu",  "--objective",
                                  "accurate", "--seed", "1",   "--pareto", "error", "--quiet"};
  run.insert(run.end(), more.begin(), more.end());
  return run;
}

}  // namespace

TEST_CASE("one run keeps the front of latency over error; what only a looser objective admits counts with its error") {
  const TradingBench bench;
  const nlohmann::json run = bench.json(front_run({"--evals", "16"}));
  CHECK(run["run"]["keeps_front"] == true);
  CHECK(run["run"]["target"]["objective"] == "latency");
  const nlohmann::json& front = run["front"];
  REQUIRE(front.size() >= 2);
  for (std::size_t i = 1; i < front.size(); ++i) {
    CHECK(front[i]["latency_us"] > front[i - 1]["latency_us"]);
    CHECK(front[i]["relative_l2"] < front[i - 1]["relative_l2"]);
  }
  CHECK(front[0]["relative_l2"].get<double>() > 1e-6);  // The limit of "accurate".
  CHECK(bench.json({"front", "--task", "toy"})["kept"] == front);
  CHECK(bench.json({"report"})["front"] == front);
  CHECK(holds(bench.evo({"front", "--task", "toy"}).out, "the front that evo run --pareto keeps"));
  CHECK(holds(bench.evo({"report"}).out, "the front of latency over error"));
}

TEST_CASE("a point of a front is right in all regimes of the objective that was asked for") {
  const TradingBench bench;
  bench.change("templates/toy/task.json", R"("gain": 4 } })",
               R"("gain": 4 }, "far": { "distribution": "normal", "gain": 10000, "objectives": ["accurate"] } })");
  // The fastest ones are wrong for large numbers.
  bench.change("templates/toy/plain/kernel.cu", "* ${threads} * 1e-7f",
               "* ((${threads} / 256) * (fabsf(a[i${item}]) > 5000 ? 1.0f : 0.0f) + ${threads} * 1e-7f)");
  const auto threads_of_fastest = [&](const std::string& objective) {
    std::vector<std::string> run = front_run({"--evals", "30"});
    *std::ranges::find(run, "accurate") = objective;
    const nlohmann::json found = bench.json(run);
    return std::pair(found["run"]["target"]["objective"], found["front"][0]["genome"]["genes"]["threads"]);
  };
  CHECK(threads_of_fastest("latency") == std::pair<nlohmann::json, nlohmann::json>("latency", 256));
  CHECK(threads_of_fastest("accurate") == std::pair<nlohmann::json, nlohmann::json>("latency@accurate", 128));
  check_refused(bench.evo({"run", "--task", "toy", "--device", "vgpu", "--objective", "latency@exact"}), 2,
                {"objective 'exact'"});
}

TEST_CASE("a resumed run of a front goes on as if it had not ended") {
  const TradingBench whole, parts;
  REQUIRE(whole.evo(front_run({"--evals", "12"})).code == 0);
  REQUIRE(parts.evo(front_run({"--evals", "5"})).code == 0);
  REQUIRE(parts.evo({"run", "--resume", "1", "--evals", "12", "--quiet"}).code == 0);
  const auto essence = [](const Bench& bench) {
    const nlohmann::json front = bench.json({"front", "--task", "toy"});
    nlohmann::json essence;
    for (const auto& point : front["kept"])
      essence.push_back({point["candidate"], point["genome"], point["latency_us"], point["relative_l2"]});
    return essence;
  };
  CHECK(essence(parts) == essence(whole));
  CHECK_FALSE(essence(whole).empty());
}

TEST_CASE("only the error can be traded, and the cost model does not screen a front") {
  const ToyBench bench;
  check_refused(bench.evo({"run", "--task", "toy", "--device", "vgpu", "--pareto", "registers"}), 2,
                {"--pareto registers", "error"});
  check_refused(bench.evo({"run", "--task", "toy", "--device", "vgpu", "--pareto", "error", "--screen", "4"}), 2,
                {"--screen", "errors"});
}
