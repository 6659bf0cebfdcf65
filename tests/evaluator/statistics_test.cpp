#include "evaluator/statistics.h"

#include <algorithm>
#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
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

TEST_CASE("the interval holds the true median about as often as it says, whatever the distribution") {
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
