#include "evaluator/vgpu/cost/modelled_counters.h"

#include <algorithm>
#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>

namespace evo::vgpu {
namespace {

using Catch::Approx;

/// Of 300 blocks: 8 us with 2 us for the launch, the tensor core busy for half of the SM's time.
LaunchCost cost() {
  LaunchCost cost;
  cost.kernel = "kernel";
  cost.blocks = 300;
  cost.latency_us = 8;
  cost.launch_us = 2;
  cost.sm_us = 6;
  cost.l2_us = 3;
  cost.memory_us = 1.5;
  cost.occupancy = 0.25;
  cost.pipe_use[static_cast<int>(Pipe::tensor_core)] = 0.5;
  cost.pipe_use[static_cast<int>(Pipe::shared_memory)] = 0.75;
  cost.stall_share[static_cast<int>(Stall::none)] = 0.125;
  cost.stall_share[static_cast<int>(Stall::tensor_core)] = 0.25;
  cost.stall_share[static_cast<int>(Stall::global_memory)] = 0.25;
  cost.stall_share[static_cast<int>(Stall::async_copy)] = 0.375;
  cost.instructions_per_block = 1000;
  cost.global_bytes_per_block = 64;
  cost.bank_conflicts_per_block = 7;
  return cost;
}

}  // namespace

TEST_CASE("a modelled launch has counters by the names of the hardware's") {
  const LaunchProfile launch{"kernel", modelled_counters(device_model("h200"), cost())};
  CHECK(launch.value(metric::kDuration) == 8000);
  CHECK(launch.value(metric::kInstructions) == 300'000);
  CHECK(launch.value(metric::kL2Sectors) == 600);
  CHECK(launch.value(metric::kBankConflicts) == 2100);
  CHECK(launch.value(metric::kTensorPipe) == 50);
  CHECK(launch.value(metric::kShared) == 75);
  CHECK(launch.value(metric::kL2) == 50);
  CHECK(launch.value(metric::kMemory) == 25);
  CHECK(launch.value(metric::kWarps) == 25);
  CHECK(launch.value(metric::kMemoryBytes) == Approx(1.5e-6 * device_model("h200").memory_gbytes_per_s * 1e9));
  CHECK(bound_of(launch).unit == "shared-memory data pipe");
}

TEST_CASE("what modelled warps wait for stands under the states that show it on that GPU") {
  const auto shares = stall_shares({"kernel", modelled_counters(device_model("h200"), cost())});
  REQUIRE(shares.size() >= 3);
  CHECK(shares[0].state == "long scoreboard");  // Loads and bulk copies together.
  CHECK(shares[0].percent == Approx(62.5));
  CHECK(shares[1].state == "gmma");
  double whole = 0;
  for (const StallShare& share : shares) whole += share.percent;
  CHECK(whole == Approx(100));
  // A GPU without warpgroup products shows a busy pipe.
  CHECK(stall_shares({"kernel", modelled_counters(device_model("l4"), cost())})[1].state == "math pipe throttle");
}

TEST_CASE("every modelled counter is one that is listed") {
  for (const auto& [metric, value] : modelled_counters(device_model("a100"), cost())) {
    INFO(metric);
    CHECK(std::ranges::find(counters(), metric, &Counter::metric) != counters().end());
  }
}

}  // namespace evo::vgpu
