#include "cli/commands/compare.h"

#include <cmath>
#include <random>

#include "bench.h"
#include "cli/run/elite_comparison.h"

using namespace evo::testing;

namespace {

const std::vector<std::string> kComparedRun = {"run",     "--task", "toy",    "--device", "vgpu",
                                               "--evals", "12",     "--seed", "1",        "--quiet"};

std::vector<std::string> elites_of(const Bench& bench) {
  std::vector<std::string> ids;
  const nlohmann::json elites = bench.json({"elites"});
  for (const auto& elite : elites["elites"]) ids.push_back(std::to_string(elite["candidate"].get<int>()));
  return ids;
}

}  // namespace

TEST_CASE("modelled candidates are compared exactly") {
  const ToyBench bench;
  REQUIRE(bench.evo(kComparedRun).code == 0);
  const auto ids = elites_of(bench);
  REQUIRE(ids.size() == 3);
  const nlohmann::json json = bench.json({"compare", ids[0], ids[2], ids[0]});
  const auto& rows = json["candidates"];
  CHECK(json["timing"] == "modelled");
  CHECK(rows[0]["verdict"].is_null());
  CHECK(rows[1]["rounds_us"] == nlohmann::json::array({rows[1]["median_us"]}));
  CHECK(rows[1]["verdict"] == (rows[1]["median_us"] > rows[0]["median_us"] ? "SLOWER" : "SAME"));
  CHECK(rows[2]["verdict"] == "SAME");
  CHECK(rows[2]["ratio"]["mean"] == 1.0);
  const Outcome text = bench.evo({"compare", ids[2], ids[0]});
  CHECK(text.code == 0);
  CHECK(text.out.find("modelled times are exact") != std::string::npos);
}

TEST_CASE("only valid candidates that compete are compared") {
  const ToyBench bench;
  REQUIRE(bench.evo(kComparedRun).code == 0);
  std::vector<std::string> other = kComparedRun;
  other.insert(other.end(), {"--shapes", "large"});
  REQUIRE(bench.evo(other).code == 0);
  const auto ids = elites_of(bench);
  REQUIRE(ids.size() == 6);
  check_refused(bench.evo({"compare", ids[0]}), 2, {"name two candidates or more"});
  check_refused(bench.evo({"compare", ids[0], ids[3]}), 2, {"cannot be compared"});
  check_refused(bench.evo({"compare", ids[0], "999"}), 2, {"no candidate 999"});
  check_refused(bench.evo({"compare", ids[0], "x"}), 2, {"x"});
}

TEST_CASE("the message for a candidate that does not compile names the architecture that it was made for") {
  const ToyBench bench;
  bench.write("templates/toy/plain/kernel.cu", "#if __CUDA_ARCH__ < 900\n#error no such instruction\n#endif\n" +
                                                   bench.read("templates/toy/plain/kernel.cu"));
  REQUIRE(bench.evo(kComparedRun).code == 0);
  const auto ids = elites_of(bench);
  check_refused(bench.evo({"compare", ids[0], ids[1], "--device", "vgpu:l4"}), 3,
                {"candidate " + ids[0] + " was made for sm_90a, another architecture than sm_89 of vgpu:l4"});
}

TEST_CASE("the comparison of a challenger with an elite ends when its outcome is certain") {
  const auto decided = [](const std::vector<double>& challenger, const std::vector<double>& elite) {
    evo::InterleavedTimings timings;
    timings.rounds_us = {challenger, elite};
    timings.failures.resize(2);
    return evo::cli::comparison_decided(timings);
  };
  CHECK(decided({9.0, 9.02, 8.98}, {10, 10, 10}));                // Faster.
  CHECK(decided({11.0, 11.02, 10.98}, {10, 10, 10}));             // Slower.
  CHECK(decided({10.0, 10.01, 9.99}, {10, 10, 10}));              // The same.
  CHECK(decided({10.3, 9.9, 10.1}, {10, 10, 10}));                // Not faster on average: it stays out.
  CHECK_FALSE(decided({9.0, 9.02}, {10, 10}));                    // Too few rounds.
  CHECK_FALSE(decided({9.93, 9.92, 9.94}, {10, 10, 10}));         // Faster by what more rounds may take back.
  CHECK_FALSE(decided({10.1, 9.7, 9.9}, {10, 10, 10}));           // Perhaps faster.
  CHECK_FALSE(decided({9.0, 10.0, 9.5, 9.1}, {10, 10, 10, 10}));  // They scatter.
  evo::InterleavedTimings failed;
  failed.rounds_us = {{9}, {}};
  failed.failures = {std::nullopt, "it broke"};
  CHECK(evo::cli::comparison_decided(failed));
}

namespace {

struct Challenged {
  double found_faster = 0;  ///< Part of the comparisons.
  double rounds = 0;        ///< Mean.
};

/// Comparisons of a challenger whose latencies scatter around `ratio` of the elite's.
Challenged challenge(double ratio, double scatter, bool may_end_early) {
  constexpr int kComparisons = 2000;
  std::mt19937_64 random(1);
  std::normal_distribution<double> noise(0, scatter);
  Challenged result;
  for (int i = 0; i < kComparisons; ++i) {
    evo::InterleavedTimings timings;
    timings.rounds_us.resize(2);
    timings.failures.resize(2);
    for (int round = 0; round < evo::cli::kChallengeRounds; ++round) {
      timings.rounds_us[0].push_back(100 * ratio * std::exp(noise(random)));
      timings.rounds_us[1].push_back(100);
      if (may_end_early && evo::cli::comparison_decided(timings)) break;
    }
    const evo::PairedRatio found = evo::paired_ratio(timings.rounds_us[0], timings.rounds_us[1], false);
    result.found_faster += (evo::ranking(found) == evo::Ranking::faster) / double{kComparisons};
    result.rounds += static_cast<double>(timings.rounds_us[0].size()) / kComparisons;
  }
  return result;
}

}  // namespace

TEST_CASE("comparisons that end early find as many faster challengers, and take few rounds for others") {
  for (const double scatter : {0.005, 0.01, 0.025}) {
    for (const double ratio : {0.97, 0.985, 0.99, 0.995, 1.0}) {
      CAPTURE(scatter, ratio);
      CHECK(std::abs(challenge(ratio, scatter, true).found_faster - challenge(ratio, scatter, false).found_faster) <
            0.025);
    }
    CHECK(challenge(1.0, scatter, true).rounds < 5.5);
    CHECK(challenge(1.01, scatter, true).rounds < 4);
  }
}

TEST_CASE("each candidate is compared with the first, and failures are reported") {
  evo::InterleavedTimings timings;
  timings.rounds_us = {{10, 11, 10, 11, 10}, {9, 9.9, 9.1, 9.8, 9}, {}};
  timings.failures = {std::nullopt, std::nullopt, "it broke"};
  const evo::cli::Comparison comparison = evo::cli::comparison_of({4, 5, 6}, timings);
  CHECK(comparison.rounds == 5);
  CHECK(comparison.rows[0].median_us == 10);
  CHECK(comparison.rows[1].rounds_us == timings.rounds_us[1]);
  CHECK_FALSE(comparison.rows[0].against);
  REQUIRE(comparison.rows[1].against);
  CHECK(ranking(*comparison.rows[1].against) == evo::Ranking::faster);
  CHECK_FALSE(comparison.rows[2].against);
  CHECK(comparison.rows[2].failure == "it broke");
}
