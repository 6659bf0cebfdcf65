#include "cli/run/timing_disturbances.h"

#include <catch2/catch_test_macros.hpp>

using namespace evo;
using cli::TimingDisturbances;

namespace {

Evaluation timed(const Conditions& conditions, int throttled = 0) {
  Evaluation evaluation;
  evaluation.verdict = Verdict::valid;
  evaluation.timings.resize(1);
  evaluation.timings[0].conditions = conditions;
  evaluation.timings[0].throttled = throttled;
  return evaluation;
}

constexpr Conditions kCalm = {.sm_mhz_low = 1965, .sm_mhz_high = 1980, .memory_mhz = 3201};

}  // namespace

TEST_CASE("undisturbed measurements, modelled ones and failures are not reported") {
  TimingDisturbances watch;
  CHECK(watch.notice("proposal 0", timed(kCalm)).empty());
  CHECK(watch.notice("proposal 1", timed({})).empty());
  CHECK(watch.notice("proposal 2", Evaluation{}).empty());
}

TEST_CASE("another process on the GPU is reported once") {
  TimingDisturbances watch;
  Conditions company = kCalm;
  company.other_processes = 1;
  CHECK(watch.notice("proposal 3", timed(company)) ==
        std::vector<std::string>{"1 other process on the GPU while proposal 3 was timed: latencies may be too long"});
  CHECK(watch.notice("proposal 4", timed(company)).empty());
}

TEST_CASE("lowered clocks are reported once, whatever was reported before") {
  TimingDisturbances watch;
  Conditions company = kCalm;
  company.other_processes = 2;
  watch.notice("proposal 0", timed(company));
  CHECK(watch.notice("proposal 1", timed(kCalm, 7)) ==
        std::vector<std::string>{"the GPU lowered its clocks while proposal 1 was timed (heat or power): 7 samples "
                                 "were dropped"});
  CHECK(watch.notice("proposal 2", timed(kCalm, 7)).empty());
}

TEST_CASE("a clock that a power limit lowers is reported once, and not as a change of clocks") {
  TimingDisturbances watch;
  CHECK(watch.notice("proposal 0", timed(kCalm)).empty());
  CHECK(watch.notice("proposal 0", timed({.power_limited = true})).empty());
  const Conditions limited = {.sm_mhz_low = 1410, .sm_mhz_high = 1425, .power_limited = true};
  CHECK(watch.notice("proposal 1", timed(limited)) ==
        std::vector<std::string>{
            "the power limit of the GPU lowers the clock under proposal 1 (SM at 1410 MHz): latencies "
            "are those of a lasting load"});
  CHECK(watch.notice("proposal 2", timed(limited)).empty());
  CHECK(watch.notice("proposal 3", timed({.sm_mhz_low = 1410, .sm_mhz_high = 1410})).empty());
  CHECK(watch.notice("proposal 4", timed({.sm_mhz_low = 1200, .sm_mhz_high = 1200})).size() == 1);
}

TEST_CASE("a power limit that is reported with the second timing of a candidate explains the clock of the first") {
  TimingDisturbances watch;
  CHECK(watch.notice("proposal 0", timed(kCalm)).empty());
  Evaluation evaluation = timed({.sm_mhz_low = 1500, .sm_mhz_high = 1500});
  evaluation.timings.push_back(timed({.sm_mhz_low = 1500, .sm_mhz_high = 1500, .power_limited = true}).timings.front());
  const std::vector<std::string> lines = watch.notice("proposal 1", evaluation);
  REQUIRE(lines.size() == 1);
  CHECK(lines.front().starts_with("the power limit of the GPU lowers the clock under proposal 1 (SM at 1500 MHz)"));
}

TEST_CASE("a changed clock is reported, a difference of a few percent is not") {
  TimingDisturbances watch;
  CHECK(watch.notice("proposal 0", timed(kCalm)).empty());
  CHECK(watch.notice("proposal 1", timed({.sm_mhz_low = 1800, .sm_mhz_high = 1800})).empty());
  CHECK(watch.notice("proposal 2", timed({.sm_mhz_low = 1410, .sm_mhz_high = 1410})) ==
        std::vector<std::string>{
            "the clock of the GPU changes during this run: 1410 MHz while proposal 2 was timed, 1980 "
            "MHz at best"});
  CHECK(watch.notice("proposal 3", timed({.sm_mhz_low = 1410, .sm_mhz_high = 1410})).empty());
}
