// Kernels of the shipped families under the sanitiser.
#include <catch2/catch_test_macros.hpp>
#include <memory>
#include <variant>

#include "evaluator/cases.h"
#include "evaluator/device_server.h"
#include "evaluator/vgpu/virtual_device.h"
#include "tests/templates/shipped.h"

using namespace evo;
using namespace evo::test;

namespace {

Gpu hopper() {
  Gpu gpu = h200();
  gpu.limits.wgmma = true;
  return gpu;
}

/// Runs a candidate on one case of the task's shape; returns what the sanitiser says.
std::vector<vgpu::Finding> findings_of(const Aimed& aimed, const Candidate& candidate) {
  const Program& program = candidate.programs.front();
  auto compiled = nvrtc_or_skip().compile(program.source, aimed.gpu().arch, program.max_registers);
  REQUIRE(std::holds_alternative<Binary>(compiled));
  const auto device = vgpu::make_device("h200");
  device->sanitise();
  DeviceServer server(*device);
  REQUIRE(std::holds_alternative<protocol::Done>(server.load({1, std::get<Binary>(std::move(compiled))})));
  const CasePlan cases = plan_cases(aimed.task(), aimed.target(), "vgpu", 1);
  const Case& one = cases.cases.at(cases.timed.front().rotation.front());
  const auto reply = server.run({1, program.plans.at(one.shape.name), one.recipe, 1});
  // A launch that the device refuses (too many registers) has run nothing.
  if (const auto* failed = std::get_if<protocol::Failed>(&reply); failed && device->findings().empty())
    REQUIRE(failed->failure.verdict == Verdict::launch_failed);
  return device->findings();
}

void check_clean(const char* task, const char* family, const char* shape) {
  Aimed aimed(task, hopper(), {shape});
  const Space space = aimed.space();
  Rng rng(11);
  for (int i = 0; i < 10; ++i) {
    const Genome genome = space.sample(rng, family);
    INFO(to_text(genome));
    for (const vgpu::Finding& finding : findings_of(aimed, aimed.candidate(space, genome))) {
      INFO(finding.text);
      CHECK(name_of(finding.kind).empty());
    }
  }
}

}  // namespace

TEST_CASE("random kernels of fp8_sdpa's mma_sync family have no race and read nothing that nobody wrote") {
  check_clean("fp8_sdpa", "mma_sync", "tail77");
}

TEST_CASE("random kernels of fp8_sdpa's wgmma family have no race and read nothing that nobody wrote") {
  check_clean("fp8_sdpa", "wgmma", "tail129");
}

TEST_CASE("random kernels of fp8_qkt's family have no race and read nothing that nobody wrote") {
  check_clean("fp8_qkt", "mma_sync", "tail77");
}
