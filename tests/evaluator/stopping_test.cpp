#include "evaluator/device/stopping.h"

#include <catch2/catch_test_macros.hpp>
#include <vector>

using namespace evo;

namespace {

TimingRequest request() {
  TimingRequest request;
  request.min_samples = 20;
  request.max_samples = 100;
  request.min_seconds = 0.005;
  request.max_seconds = 0.5;
  request.relative_interval = 0.01;
  return request;
}

/// As many samples of each of two values, far apart: an interval that never gets tight.
std::vector<double> noisy(std::size_t n) {
  std::vector<double> samples;
  for (std::size_t i = 0; i < n; ++i) samples.push_back(i % 2 == 0 ? 5 : 6);
  return samples;
}

}  // namespace

TEST_CASE("a tight interval ends a timing, but not before the minimum") {
  const StoppingCriterion criterion(request());
  CHECK_FALSE(criterion.finished(std::vector<double>(19, 5.0), 19, 0.01));
  CHECK(criterion.finished(std::vector<double>(20, 5.0), 20, 0.01));
}

TEST_CASE("a tight interval does not end a timing below the minimum time, but the maximum of samples does") {
  const StoppingCriterion criterion(request());
  CHECK_FALSE(criterion.finished(std::vector<double>(20, 5.0), 20, 0.004));
  CHECK(criterion.finished(std::vector<double>(100, 5.0), 100, 0.004));
}

TEST_CASE("a wide interval asks for more samples") {
  const StoppingCriterion criterion(request());
  CHECK_FALSE(criterion.finished(noisy(20), 20, 0.01));
  CHECK_FALSE(criterion.finished(noisy(99), 99, 0.01));
}

TEST_CASE("the maximum and the time end a noisy timing") {
  const StoppingCriterion criterion(request());
  CHECK(criterion.finished(noisy(100), 100, 0.01));
  CHECK(criterion.finished(noisy(30), 30, 0.6));
}

TEST_CASE("the time limit does not reduce the minimum of samples") {
  CHECK_FALSE(StoppingCriterion(request()).finished(noisy(19), 19, 1000));
}

TEST_CASE("throttled samples count towards the maximum, but not towards a tight interval") {
  const StoppingCriterion criterion(request());
  CHECK_FALSE(criterion.finished(std::vector<double>(10, 5.0), 40, 0.01));
  CHECK(criterion.finished(std::vector<double>(20, 5.0), 40, 0.01));
  CHECK(criterion.finished({}, 100, 0.01));
}

TEST_CASE("a request with impossible limits takes one sample and ends") {
  TimingRequest senseless;
  senseless.min_samples = 0;
  senseless.max_samples = -1;
  const StoppingCriterion criterion(senseless);
  CHECK_FALSE(criterion.finished({}, 0, 1000));
  CHECK(criterion.finished(std::vector<double>{1}, 1, 0));
}
