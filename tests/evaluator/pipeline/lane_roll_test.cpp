#include "evaluator/pipeline/lane_roll.h"

#include <catch2/catch_test_macros.hpp>
#include <stdexcept>

using namespace evo;

namespace {

const std::exception_ptr kWhy = std::make_exception_ptr(std::runtime_error("it is lost"));

LaneRoll roll_of(int lanes) {
  LaneRoll roll;
  for (int i = 0; i < lanes; ++i) roll.add();
  return roll;
}

}  // namespace

TEST_CASE("a pipeline opens once each device is open, or is missing and may be") {
  LaneRoll roll = roll_of(3);
  CHECK_FALSE(roll.enter(0));
  CHECK_FALSE(roll.has_opened());
  CHECK(roll.leave(2, kWhy, false, true));
  CHECK_FALSE(roll.enter(1));
  CHECK(roll.has_opened());
  CHECK_NOTHROW(roll.end_opening());
  CHECK(roll.serving() == 2);
}

TEST_CASE("a pipeline does not open without a device that must open, or without any") {
  LaneRoll roll = roll_of(2);
  roll.leave(0, kWhy, false, false);
  CHECK(roll.has_opened());
  CHECK(roll.is_over());
  CHECK_THROWS_AS(roll.end_opening(), std::runtime_error);

  LaneRoll remote = roll_of(1);
  remote.leave(0, kWhy, false, true);
  CHECK_THROWS_AS(remote.end_opening(), std::runtime_error);
}

TEST_CASE("later a device may be missing") {
  LaneRoll roll = roll_of(1);
  roll.enter(0);
  roll.end_opening();
  roll.add();
  roll.leave(1, kWhy, false, false);
  CHECK_FALSE(roll.is_over());
}

TEST_CASE("a pipeline is over when the last lane has left") {
  LaneRoll roll = roll_of(2);
  roll.enter(0);
  roll.enter(1);
  roll.end_opening();
  roll.leave(0, kWhy, true, false);
  CHECK_FALSE(roll.fatal());
  roll.leave(1, kWhy, true, false);
  CHECK(roll.fatal() == kWhy);
}

TEST_CASE("a lane that comes back serves again, and leaves once for each time that it was there") {
  LaneRoll roll = roll_of(2);
  roll.enter(0);
  roll.enter(1);
  CHECK(roll.leave(1, kWhy, true, true));
  CHECK_FALSE(roll.leave(1, kWhy, false, true));
  CHECK(roll.has_left(1));
  CHECK(roll.why_left(1) == kWhy);
  CHECK(roll.serving() == 1);
  CHECK(roll.enter(1));
  CHECK_FALSE(roll.has_left(1));
  CHECK(roll.serving() == 2);
  CHECK(roll.leave(1, kWhy, true, true));
}
