#include "cli/run/elite_comparison.h"

#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <functional>
#include <random>
#include <vector>

#include "tests/cli/run/idle_pipeline.h"

using namespace evo;
using namespace evo::cli;

namespace {

using Noise = std::function<double(std::mt19937_64&)>;

/// The logarithm of the ratio of two timings of one kernel.
Noise scatter(double deviation) {
  return [deviation](std::mt19937_64& random) { return std::normal_distribution(0.0, deviation)(random); };
}

/// The same, and one pair in a hundred has a timing that is far off, by up to 10 %.
Noise with_outliers(double deviation) {
  return [deviation](std::mt19937_64& random) {
    const double usual = std::normal_distribution(0.0, deviation)(random);
    return std::uniform_int_distribution(0, 99)(random) == 0 ? usual + std::uniform_real_distribution(-0.1, 0.1)(random)
                                                             : usual;
  };
}

struct Challenged {
  double called_faster = 0;  ///< Part of the comparisons.
  double rounds = 0;         ///< Mean.
};

/// Comparisons of one run with challengers whose latencies are `ratio` of the elite's.
Challenged challenge(double ratio, const Noise& noise) {
  constexpr int kComparisons = 200;
  std::mt19937_64 random(1);
  PairScatter known;
  Challenged result;
  for (int i = 0; i < kComparisons; ++i) {
    std::vector<double> logs;
    std::optional<bool> faster;
    while (!faster && logs.size() < std::size_t{kChallengeRounds}) {
      logs.push_back(std::log(ratio) + noise(random));
      faster = sequential_test(logs, known.variance(logs));
    }
    known.add(logs);
    result.called_faster += faster.value_or(false) / double{kComparisons};
    result.rounds += static_cast<double>(logs.size()) / kComparisons;
  }
  return result;
}

}  // namespace

TEST_CASE("of 200 challengers few are misjudged, and most after one or two pairs") {
  // As timings behind a rest scatter, at full clock and under a power limit (docs/decisions/0003-sustained-clocks.md).
  for (const Noise& noise : {scatter(0.002), scatter(0.005), with_outliers(0.004)}) {
    for (const double times : {1.01, 1.02, 1.05}) {
      CAPTURE(times);
      const Challenged faster = challenge(1 / times, noise), slower = challenge(times, noise);
      CHECK(faster.called_faster >= 0.95);
      CHECK(faster.rounds < 4.5);
      CHECK(slower.called_faster <= 0.02);
      CHECK(slower.rounds < 2);
    }
    const Challenged equal = challenge(1, noise);
    CHECK(equal.called_faster <= 0.02);
    CHECK(equal.rounds < 4);
  }
}

TEST_CASE("pairs that scatter more than usual let no more challengers in") {
  for (const double deviation : {0.008, 0.012, 0.025}) {
    CAPTURE(deviation);
    CHECK(challenge(1, scatter(deviation)).called_faster <= 0.04);
    CHECK(challenge(1.01, scatter(deviation)).called_faster <= 0.02);
    CHECK(challenge(0.95, scatter(deviation)).called_faster >= 0.95);
  }
}

TEST_CASE("one pair does not make a challenger faster, however far it is from the elite") {
  const double variance = 0.005 * 0.005;
  CHECK_FALSE(sequential_test(std::vector{-0.2}, variance));
  CHECK(sequential_test(std::vector{-0.2, -0.2}, variance) == true);
  CHECK(sequential_test(std::vector{0.02}, variance) == false);
}

TEST_CASE("a scatter is learnt from the comparisons of a run, whatever their ratios are") {
  PairScatter known;
  const std::vector<double> one = {0.01};
  const double usual = known.variance(one);
  for (int i = 0; i < 50; ++i) known.add(std::vector{0.1 * i, 0.1 * i + 0.001, 0.1 * i - 0.001});
  CHECK(known.variance(one) < usual / 5);
  for (int i = 0; i < 200; ++i) known.add(std::vector{0.0, 0.02, -0.02});
  CHECK(known.variance(one) > usual);
}

namespace {

/// Has spent its time like this.
class SpentPipeline final : public testing::IdlePipeline {
 public:
  LaneTimes spent;

  LaneTimes times() override { return spent; }
};

}  // namespace

TEST_CASE("comparisons take 5 % of the devices' time beside the search, and 14 % with those behind its end") {
  using When = EliteComparer::When;
  const Store store = Store::open(":memory:", Store::Mode::write);
  SpentPipeline pipeline;
  pipeline.spent.comparison_s = 100;  // Ahead of the search.
  DeviceInfo device;
  device.kind = "cuda";
  std::atomic<bool> stop = false;
  const Task task;
  const Target target;
  const EliteComparer comparer = elite_comparer(store, task, target, pipeline, device, stop);
  pipeline.spent.validation_s = 2;
  CHECK_FALSE(comparer.may_start(When::beside_search));
  CHECK_FALSE(comparer.may_start(When::after_search));
  pipeline.spent.validation_s = 20;
  CHECK(comparer.may_start(When::beside_search));
  // Under a power limit turns are long.
  Evaluation challenger;
  challenger.timings.emplace_back().conditions.power_limited = true;
  comparer.plainly_faster(challenger, {}, true);
  CHECK_FALSE(comparer.may_start(When::beside_search));
  CHECK_FALSE(comparer.may_start(When::after_search));
  pipeline.spent.validation_s = 30;
  CHECK_FALSE(comparer.may_start(When::beside_search));
  CHECK(comparer.may_start(When::after_search));
  pipeline.spent.validation_s = 95;
  CHECK(comparer.may_start(When::beside_search));
  pipeline.spent.comparison_s += 5;
  CHECK_FALSE(comparer.may_start(When::beside_search));
  CHECK(comparer.may_start(When::after_search));
  pipeline.spent.comparison_s += 12;
  CHECK_FALSE(comparer.may_start(When::after_search));
  pipeline.spent.validation_s = 1000;
  CHECK(comparer.may_start(When::beside_search));
  stop = true;
  CHECK_FALSE(comparer.may_start(When::beside_search));
  CHECK_FALSE(comparer.may_start(When::after_search));
}

TEST_CASE("a challenger that is faster by more than timings err needs no comparison") {
  const Store store = Store::open(":memory:", Store::Mode::write);
  SpentPipeline pipeline;
  DeviceInfo device;
  device.kind = "cuda";
  const std::atomic<bool> stop = false;
  const Task task;
  const Target target;
  const EliteComparer comparer = elite_comparer(store, task, target, pipeline, device, stop);
  Evaluation challenger, elite;
  challenger.latency_us = 97;
  challenger.timings.emplace_back();
  elite.timings.emplace_back();
  const auto is_plain_beside = [&](double elite_us, bool of_one_run = true) {
    elite.latency_us = elite_us;
    return comparer.plainly_faster(challenger, elite, of_one_run);
  };
  CHECK(is_plain_beside(100));
  CHECK_FALSE(is_plain_beside(98));
  CHECK_FALSE(is_plain_beside(100, false));
  CHECK(is_plain_beside(109, false));
  elite.timings[0].conditions.power_limited = true;
  CHECK_FALSE(is_plain_beside(100));
  CHECK(is_plain_beside(109));
  std::swap(elite.timings, challenger.timings);
  CHECK_FALSE(is_plain_beside(100));
  CHECK(is_plain_beside(109));
}
