#include "evaluator/worker/device_server.h"

#include <catch2/catch_test_macros.hpp>
#include <variant>

#include "evaluator/vgpu/virtual_device.h"

namespace evo {
namespace {

/// Writes each thread's number.
constexpr const char* kNumbers = R"(
.version 8.0
.target sm_90
.address_size 64
.visible .entry numbers(.param .u64 out) {
  .reg .b32 %r;
  .reg .b64 %to, %offset;
  ld.param.u64 %to, [out];
  mov.u32 %r, %tid.x;
  mul.wide.u32 %offset, %r, 4;
  add.s64 %to, %to, %offset;
  st.global.u32 [%to], %r;
  ret;
})";

constexpr std::uint64_t kBytes = 128;

Plan numbers_plan() {
  Plan plan;
  plan.tensors = {{"out", DType::s32, kBytes, true}};
  Launch launch;
  launch.kernel = "numbers";
  launch.block = {32, 1, 1};
  launch.arguments = {{Argument::Kind::tensor, 0}};
  plan.launches = {launch};
  return plan;
}

protocol::Timed timed(DeviceServer& server, bool answered) {
  protocol::Time request{1, numbers_plan(), {CaseRecipe{}}, {}};
  request.answered = answered;
  return std::get<protocol::Timed>(server.time(request));
}

TEST_CASE("timing returns only outputs that differ from every earlier answer, and none unless requested") {
  const auto device = vgpu::make_device("h200");
  DeviceServer server(*device);
  Binary binary;
  binary.arch = "sm_90";
  binary.ptx = kNumbers;
  REQUIRE(std::holds_alternative<protocol::Done>(server.load({1, binary})));

  const protocol::Timed unasked = timed(server, false);
  CHECK(unasked.timing.median_us > 0);
  CHECK(unasked.as_before.empty());
  CHECK(unasked.outputs.empty());

  const protocol::Timed fresh = timed(server, true);
  CHECK(fresh.as_before == std::vector<bool>{false});
  CHECK(fresh.outputs.size() == kBytes);

  const protocol::Timed known = timed(server, true);
  CHECK(known.as_before == std::vector<bool>{true});
  CHECK(known.outputs.empty());
}

}  // namespace
}  // namespace evo
