#include "evaluator/base/statistics.h"

#include <algorithm>
#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <numeric>
#include <random>
#include <vector>

using namespace evo;
using Catch::Approx;

namespace {

std::vector<double> one_to(int n) {
  std::vector<double> samples(static_cast<std::size_t>(n));
  std::iota(samples.begin(), samples.end(), 1.0);
  return samples;
}

}  // namespace

TEST_CASE("the median of an even count lies between the middle two") {
  CHECK(median_interval(one_to(5)).median == 3);
  CHECK(median_interval(one_to(6)).median == 3.5);
  CHECK(median_interval(std::vector<double>{9, 1, 5}).median == 5);
  CHECK(median_interval({}).median == 0);
}

TEST_CASE("the interval's ranks are those of the published tables") {
  // Two-sided 95 % for the median: n = 6: 1 and 6; n = 10: 2 and 9; n = 20: 6 and 15; n = 50: 18 and 33; n =
  // 100: 40 and 61.
  struct Row {
    int n;
    double low, high;
  };
  for (const Row& row : {Row{6, 1, 6}, Row{10, 2, 9}, Row{20, 6, 15}, Row{50, 18, 33}, Row{100, 40, 61}}) {
    const MedianInterval interval = median_interval(one_to(row.n));
    CHECK(interval.low == row.low);
    CHECK(interval.high == row.high);
  }
}

TEST_CASE("fewer than six samples give their range") {
  for (int n = 1; n < 6; ++n) {
    CHECK(median_interval(one_to(n)).low == 1);
    CHECK(median_interval(one_to(n)).high == n);
  }
}

TEST_CASE("thousands of samples do not underflow") {
  const MedianInterval interval = median_interval(one_to(20001));
  CHECK(interval.median == 10001);
  // Normal approximation: 1.96 * sqrt(n) / 2 ranks to either side.
  CHECK(interval.low == Approx(10001 - 138.6).margin(3));
  CHECK(interval.high == Approx(10001 + 138.6).margin(3));
}

TEST_CASE("the interval covers the true median at its nominal rate, whatever the distribution") {
  std::mt19937_64 random(7);
  int held = 0;
  constexpr int kTrials = 4000;
  for (int trial = 0; trial < kTrials; ++trial) {
    std::vector<double> samples(25);
    // Skewed, as timings are: the median of u^4 is 1/16.
    for (double& sample : samples) {
      const double u = static_cast<double>(random() >> 11) * 0x1.0p-53;
      sample = u * u * u * u;
    }
    const MedianInterval interval = median_interval(samples);
    held += interval.low <= 1.0 / 16 && 1.0 / 16 <= interval.high;
  }
  const double share = static_cast<double>(held) / kTrials;
  CHECK(share >= 0.945);
  CHECK(share < 0.99);
}

TEST_CASE("the relative width is the interval over the median") {
  CHECK(MedianInterval{10, 9, 11}.relative_width() == Approx(0.2));
  CHECK(MedianInterval{0, 0, 0}.relative_width() == 0);
}

TEST_CASE("throttled samples are dropped while enough others remain") {
  ThrottledSamples samples;
  for (double us : {5.0, 5.1, 8.0, 8.1, 5.2}) {
    samples.add(us);
    if (us == 8.1) samples.mark_throttled(2);
  }
  CHECK(samples.taken() == 5);
  CHECK(samples.unthrottled() == std::vector<double>{5.0, 5.1, 5.2});
  CHECK(samples.kept(3) == std::vector<double>{5.0, 5.1, 5.2});
  CHECK(samples.kept(4).size() == 5);
}

TEST_CASE("when every sample is throttled all are kept") {
  ThrottledSamples samples;
  samples.add(7);
  samples.add(8);
  samples.mark_throttled(99);
  CHECK(samples.unthrottled().empty());
  CHECK(samples.kept(0) == std::vector<double>{7, 8});
}

TEST_CASE("a paired ratio is the geometric mean of the ratios, with Student's interval") {
  // log ratios -0.1, 0, 0.1: mean 0, standard error 0.1 / sqrt(3), t(2) = 4.3027.
  const std::vector<double> a = {std::exp(-0.1), 1, std::exp(0.1)}, b = {1, 1, 1};
  const PairedRatio ratio = paired_ratio(a, b, false);
  CHECK(ratio.pairs == 3);
  CHECK(ratio.ratio == Approx(1));
  CHECK(std::log(ratio.high) == Approx(4.3027 * 0.1 / std::sqrt(3.0)).epsilon(1e-4));
  CHECK(std::log(ratio.low) == Approx(-std::log(ratio.high)));
  CHECK(ranking(ratio) == Ranking::same);
}

TEST_CASE("common drift does not hide a difference of one per cent") {
  std::mt19937_64 random(3);
  std::normal_distribution<double> noise(0, 0.004);
  std::vector<double> slow, fast;
  for (int round = 0; round < 21; ++round) {
    const double clock = 1 + 0.02 * round;  // The drift is far larger than the difference.
    slow.push_back(10.0 * clock * std::exp(noise(random)));
    fast.push_back(9.9 * clock * std::exp(noise(random)));
  }
  CHECK(ranking(paired_ratio(fast, slow, false)) == Ranking::faster);
  CHECK(ranking(paired_ratio(slow, fast, false)) == Ranking::slower);
}

TEST_CASE("two latencies are plainly the same if the interval lies within the margin") {
  const std::vector<double> base = {10, 10, 10};
  const auto same = [&](const std::vector<double>& a) { return plainly_same(paired_ratio(a, base, false), 0.05); };
  CHECK(same({10.1, 10.0, 10.05}));
  CHECK_FALSE(same({9.0, 10.0, 11.0}));
  CHECK_FALSE(same({10.0}));
  CHECK_FALSE(same({9.0, 9.01, 8.99}));
}

TEST_CASE("two equal candidates are ranked the same in about 95 of 100 comparisons, for any number of rounds") {
  std::mt19937_64 random(5);
  std::normal_distribution<double> noise(0, 0.05);
  for (const int rounds : {3, 9, 12, 21, 60}) {
    int same = 0;
    for (int trial = 0; trial < 2000; ++trial) {
      std::vector<double> a, b;
      for (int i = 0; i < rounds; ++i) {
        a.push_back(std::exp(noise(random)));
        b.push_back(std::exp(noise(random)));
      }
      same += ranking(paired_ratio(a, b, false)) == Ranking::same ? 1 : 0;
    }
    INFO(rounds);
    CHECK(same > 2000 * 0.935);
    CHECK(same < 2000 * 0.965);
  }
}

TEST_CASE("one pair decides nothing unless the device is deterministic") {
  const std::vector<double> one = {9}, other = {10};
  CHECK(ranking(paired_ratio(one, other, false)) == Ranking::same);
  CHECK(ranking(paired_ratio(one, other, true)) == Ranking::faster);
  CHECK(ranking(paired_ratio(one, one, true)) == Ranking::same);
  CHECK(ranking(paired_ratio({}, {}, true)) == Ranking::same);
  CHECK(paired_ratio(std::vector<double>{9, 0, std::nan("")}, std::vector<double>{10, 1, 1}, false).pairs == 1);
}

TEST_CASE("the rank correlation depends on the order alone, and ties share their ranks") {
  const std::vector<double> a = {1, 2, 3, 4, 5}, squares = {1, 4, 9, 16, 25}, falling = {5, 4, 3, 2, 1};
  CHECK(rank_correlation(a, squares) == Approx(1));
  CHECK(rank_correlation(a, falling) == Approx(-1));
  CHECK(rank_correlation(a, std::vector<double>{2, 1, 3, 5, 4}) == Approx(0.8));
  CHECK(rank_correlation(std::vector<double>{1, 2, 2, 3}, std::vector<double>{1, 2, 3, 4}) == Approx(0.9486832981));
  CHECK(rank_correlation(a, std::vector<double>(5, 7.0)) == 0);
}
