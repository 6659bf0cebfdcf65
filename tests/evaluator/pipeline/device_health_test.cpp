#include "evaluator/pipeline/device_health.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>

#include "engine/base/error.h"

using namespace evo;
using Catch::Matchers::Message;

namespace {

Evaluation evaluation_ending(Verdict verdict) {
  Evaluation evaluation;
  evaluation.verdict = verdict;
  evaluation.reason = "the reason";
  return evaluation;
}

DeviceHealth health_of_two() {
  DeviceHealth health;
  health.add("device 0");
  health.add("device 1");
  return health;
}

}  // namespace

TEST_CASE("a device fails more often than the others only where chance does not explain it") {
  CHECK(fails_more_often({24, 24}, {24, 0}));
  CHECK_FALSE(fails_more_often({24, 12}, {24, 0}));
  CHECK(fails_more_often({240, 120}, {240, 0}));
  CHECK_FALSE(fails_more_often({240, 120}, {240, 120}));
  CHECK_FALSE(fails_more_often({240, 0}, {240, 120}));
  CHECK_FALSE(fails_more_often({240, 0}, {240, 0}));
}

TEST_CASE("few candidates on either side say nothing about a device") {
  CHECK_FALSE(fails_more_often({23, 23}, {1000, 0}));
  CHECK_FALSE(fails_more_often({1000, 1000}, {23, 0}));
}

TEST_CASE("the fifth failure of the machine in a row makes a device unfit") {
  DeviceHealth health = health_of_two();
  for (int i = 0; i < 4; ++i) health.watch_harness(0, evaluation_ending(Verdict::harness_failed));
  CHECK_FALSE(health.is_unfit(0));
  CHECK_THROWS_MATCHES(health.watch_harness(0, evaluation_ending(Verdict::harness_failed)), Error,
                       Message("device 0: 5 evaluations in a row failed through no fault of the candidates; the last "
                               "one: the reason"));
  CHECK(health.is_unfit(0));
  CHECK_FALSE(health.is_unfit(1));
}

TEST_CASE("a candidate's own failure, a duplicate and the device's return each end a row of the machine's failures") {
  DeviceHealth health = health_of_two();
  const auto fail_four_times = [&] {
    for (int i = 0; i < 4; ++i) health.watch_harness(0, evaluation_ending(Verdict::harness_failed));
  };
  fail_four_times();
  health.watch_harness(0, evaluation_ending(Verdict::wrong_answer));
  fail_four_times();
  health.interrupt_row(0);
  fail_four_times();
  health.serves(0);
  fail_four_times();
  CHECK_FALSE(health.is_unfit(0));
}

TEST_CASE("a device is unfit that fails what the others do not, unless the others have left") {
  DeviceHealth health = health_of_two();
  for (int i = 0; i < 24; ++i) health.watch_failures(1, evaluation_ending(Verdict::valid));
  DeviceHealth alone = health;
  alone.leaves(1);
  for (int i = 0; i < 23; ++i) health.watch_failures(0, evaluation_ending(Verdict::crashed));
  CHECK_THROWS_MATCHES(health.watch_failures(0, evaluation_ending(Verdict::crashed)), Error,
                       Message("it failed 24 of 24 candidates, the other devices 0 of 24"));
  CHECK(health.is_unfit(0));
  for (int i = 0; i < 50; ++i) alone.watch_failures(0, evaluation_ending(Verdict::crashed));
  CHECK_FALSE(alone.is_unfit(0));
}
