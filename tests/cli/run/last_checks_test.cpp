#include "cli/run/last_checks.h"

#include <catch2/matchers/catch_matchers_string.hpp>

#include "tests/cli/bench.h"

using namespace evo::testing;
using evo::cli::RunTime;
using namespace std::chrono_literals;
using Catch::Matchers::ContainsSubstring;

namespace {

std::vector<std::string> short_run(std::vector<std::string> more = {}) {
  std::vector<std::string> run = {"run", "--task", "toy", "--device", "vgpu", "--evals", "3", "--seed", "1"};
  run.insert(run.end(), more.begin(), more.end());
  return run;
}

bool is_provisional(const Bench& bench) {
  return bench.json({"elites"})["elites"][0]["provisional"].get<bool>();
}

}  // namespace

TEST_CASE("the end of a search says what it waits for, how long at most, and that it may be interrupted") {
  const ToyBench bench;
  const Outcome outcome = bench.evo(short_run(), kChecksElites);
  CHECK(outcome.code == 0);
  CHECK_THAT(outcome.err, ContainsSubstring("still to be checked (sanitiser, sizes"));
  CHECK_THAT(outcome.err, ContainsSubstring("), for at most 20 min 00 s; Ctrl-C leaves"));
  CHECK_FALSE(is_provisional(bench));
}

TEST_CASE("without time for checks elites stay provisional, the search says so, and verify makes the checks") {
  const ToyBench bench;
  const Outcome outcome = bench.evo(short_run({"--check-time", "0"}));
  CHECK(outcome.code == 0);
  CHECK_THAT(outcome.err, ContainsSubstring("elites stay provisional: --check-time 0; evo verify ID makes the checks "
                                            "of one"));
  CHECK(is_provisional(bench));
  CHECK(bench.evo({"verify", best_of(bench)}).code == 0);
  CHECK_FALSE(is_provisional(bench));
}

TEST_CASE("checks whose time is over are named, and how far they are") {
  const ToyBench bench;
  const Outcome outcome = bench.evo(short_run({"--check-time", "1ms"}));
  CHECK(outcome.code == 0);
  CHECK_THAT(outcome.err, ContainsSubstring("elites stay provisional: 0 s are over, the --check-time (candidate " +
                                            best_of(bench) + ": under the sanitiser"));
  CHECK(is_provisional(bench));
}

TEST_CASE("a resumed run makes the checks for which there was no time") {
  const ToyBench bench;
  REQUIRE(bench.evo(short_run()).code == 0);
  REQUIRE(is_provisional(bench));
  CHECK(bench.evo({"run", "--resume", "1"}, kChecksElites).code == 0);
  CHECK_FALSE(is_provisional(bench));
}

TEST_CASE("a --check-time that is no duration is refused") {
  check_refused(Bench().evo(short_run({"--check-time", "soon"})), 2, {"--check-time", "'soon'"});
}

namespace {

/// A run whose clock the test moves.
struct Clocked {
  RunTime::Clock::time_point now{};
  RunTime time;

  Clocked(std::optional<RunTime::Clock::duration> limit, std::optional<RunTime::Clock::duration> for_checks)
      : time(limit, for_checks, [this] { return now; }) {}
  bool is_over(std::size_t open, std::optional<RunTime::Clock::duration> of_one) const {
    return time.is_over_for_search([&] { return open; }, of_one);
  }
};

}  // namespace

TEST_CASE("a search ends as much earlier as the checks of its elites are expected to take, at most a quarter") {
  Clocked run(60s, std::nullopt);
  run.now += 44s;
  CHECK_FALSE(run.is_over(3, 100s));  // More than a quarter is left.
  run.now += 2s;
  CHECK(run.is_over(3, 5s));
  CHECK_FALSE(run.is_over(2, 5s));
  CHECK(run.is_over(1, std::nullopt));  // How long checks take is not known.
  CHECK_FALSE(run.is_over(0, std::nullopt));
  run.now += 14s;
  CHECK(run.is_over(0, 1ms));
}

TEST_CASE("a search without a time limit, or with a time for checks beyond it, ends no earlier for them") {
  Clocked unlimited(std::nullopt, std::nullopt);
  unlimited.now += 24h;
  CHECK_FALSE(unlimited.is_over(3, 5s));
  Clocked beyond(60s, 10s);
  beyond.now += 59s;
  CHECK_FALSE(beyond.is_over(3, 5s));
  beyond.now += 1s;
  CHECK(beyond.is_over(0, 5s));
}

TEST_CASE("the last checks may take what is left of a run's time, and no longer than the search") {
  Clocked run(60s, std::nullopt);
  run.now += 4s;
  CHECK(run.time.for_last_checks().most == 10s);  // A short search has ten seconds.
  run.now += 16s;
  CHECK(run.time.for_last_checks().most == 20s);
  run.now += 28s;
  CHECK(run.time.for_last_checks().most == 12s);
  run.now += 13s;
  CHECK(run.time.for_last_checks().most == 0s);
  run.time.begin();
  run.now += 1s;
  CHECK(run.time.for_last_checks().most == 10s);
  CHECK(Clocked(60s, 5min).time.for_last_checks().most == 5min);
  CHECK(Clocked(std::nullopt, std::nullopt).time.for_last_checks().most == 10s);
}
