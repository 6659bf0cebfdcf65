#include "evaluator/timing/ranked_timings.h"

#include <catch2/catch_test_macros.hpp>

using namespace evo;

namespace {

constexpr int kFullMhz = 1980;

Evaluation timed(double latency_us, int sm_mhz = kFullMhz, bool power_limited = false) {
  Evaluation evaluation;
  evaluation.verdict = Verdict::valid;
  evaluation.latency_us = latency_us;
  Timing& warm = evaluation.timings.emplace_back();
  warm.conditions.sm_mhz_low = sm_mhz;
  warm.conditions.power_limited = power_limited;
  return evaluation;
}

}  // namespace

TEST_CASE("the one to beat is the third best, once there are three") {
  RankedTimings ranked(kFullMhz);
  ranked.add("a", timed(3));
  ranked.add("b", timed(1));
  CHECK_FALSE(ranked.to_beat());
  ranked.add("c", timed(2, 1500));
  CHECK(ranked.to_beat()->us == 3);
  CHECK(ranked.to_beat()->at_full_clock);
  ranked.add("d", timed(1.5));
  CHECK(ranked.to_beat()->us == 2);
  CHECK_FALSE(ranked.to_beat()->at_full_clock);
}

TEST_CASE("a candidate ran at full clock if no warm timing was slowed down") {
  RankedTimings ranked(kFullMhz);
  ranked.add("full", timed(1));
  ranked.add("slow", timed(1, 1500));
  ranked.add("limited", timed(1, kFullMhz, true));
  Evaluation cold = timed(1);
  cold.timings.emplace_back().cold = true;
  ranked.add("cold", cold);
  CHECK(ranked.ran_at_full_clock("full"));
  CHECK_FALSE(ranked.ran_at_full_clock("slow"));
  CHECK_FALSE(ranked.ran_at_full_clock("limited"));
  CHECK(ranked.ran_at_full_clock("cold"));
}

TEST_CASE("one that is slower than the three best may have been timed too briefly to show a power limit") {
  RankedTimings ranked(kFullMhz);
  for (const char* source : {"a", "b", "c"}) ranked.add(source, timed(1));
  ranked.add("slower", timed(1.1));
  ranked.add("equal", timed(1));
  CHECK_FALSE(ranked.ran_at_full_clock("slower"));
  CHECK(ranked.ran_at_full_clock("equal"));
}

TEST_CASE("one that was found wrong need not be beaten") {
  RankedTimings ranked(kFullMhz);
  ranked.add("a", timed(3));
  ranked.add("wrong", timed(1));
  ranked.add("c", timed(2));
  REQUIRE(ranked.to_beat());
  ranked.remove("wrong");
  CHECK_FALSE(ranked.to_beat());
  ranked.add("d", timed(4));
  CHECK(ranked.to_beat()->us == 4);
}
