#include "cli/run/run_times.h"

#include <catch2/catch_test_macros.hpp>

using namespace evo;
using namespace evo::cli;

namespace {

/// 100 s of two devices.
RunTimes of_two_devices() {
  RunTimes times;
  times.devices = 2;
  times.search_s = 50;
  times.lanes = {.validation_s = 30, .timing_s = 20, .comparison_s = 8, .compiling_s = 0.2, .idle_s = 41.8};
  times.modelling_s = 25;
  times.settling_s = 9.8;
  times.checking_s = 3;
  return times;
}

}  // namespace

TEST_CASE("a run says what its devices spent their time on, the largest part first") {
  CHECK(times_text(of_two_devices()) ==
        "bound by validation: in 50 s the devices spent 30 % validating, 25 % waiting for models, 20 % timing, 18 % "
        "comparing challengers with elites, 4 % without a candidate, 3 % waiting for checks of elites\n");
  CHECK(times_text({}).empty());
}

TEST_CASE("what idle devices waited for counts as what bounds a run") {
  RunTimes times = of_two_devices();
  times.lanes.comparison_s = 25;  // With those that held up the recording.
  CHECK(bound_by(times) == "comparisons");
  CHECK(times_json(times)["comparisons_s"] == 34.8);
  times.lanes.idle_s += 40;
  CHECK(bound_by(times) == "idle");
  CHECK(times_text(times).starts_with("bound by too few candidates: "));
}
