#include "evaluator/worker/device_server.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <variant>

#include "engine/base/error.h"
#include "evaluator/cuda/device_query.h"
#include "evaluator/device/inputs.h"
#include "evaluator/vgpu/virtual_device.h"
#include "memory_only_device.h"

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
  protocol::Time request{1, "any", {CaseRecipe{}}, {}};
  request.answered = answered;
  return std::get<protocol::Timed>(server.time(request));
}

TEST_CASE("timing returns only outputs that differ from every earlier answer, and none unless requested") {
  const auto device = vgpu::make_device("h200");
  DeviceServer server(*device);
  Binary binary;
  binary.arch = "sm_90";
  binary.ptx = kNumbers;
  REQUIRE(std::holds_alternative<protocol::Done>(server.load({1, binary, {{"any", numbers_plan()}}})));

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

DeviceInfo guarded() {
  DeviceInfo info;
  info.kind = cuda::kKind;
  return info;
}

/// Loads everything.
class Guarded : public MemoryOnly {
 public:
  Guarded() : MemoryOnly(guarded()) {}
  std::unique_ptr<Module> load(const Binary&, std::optional<Failure>&) override { return std::make_unique<Module>(); }
};

/// Answers with what it finds in its workspace.
class Showing : public Guarded {
 public:
  std::optional<Failure> run(const Module&, const Plan&, const Buffers& buffers) override {
    std::memcpy(reinterpret_cast<void*>(buffers.tensors[0]), reinterpret_cast<const void*>(buffers.workspaces[0]),
                kBytes);
    return std::nullopt;
  }
};

TEST_CASE("a workspace begins with another poison in cases of another seed, and in each repetition") {
  Showing device;
  DeviceServer server(device);
  Plan plan = numbers_plan();
  plan.workspaces = {{"scratch", kBytes, false}};
  REQUIRE(std::holds_alternative<protocol::Done>(server.load({1, Binary{}, {{"any", plan}}})));
  const auto answer = [&](std::uint64_t seed, std::uint32_t repeats) {
    CaseRecipe recipe;
    recipe.seed = seed;
    return std::get<protocol::Ran>(server.run({1, "any", recipe, repeats, false}));
  };
  for (std::uint64_t seed = 0; seed < kPoisons; ++seed) {
    CHECK(answer(seed, 1).outputs == std::vector<std::byte>(kBytes, poison_byte(static_cast<unsigned>(seed))));
    CHECK(answer(seed, 2).unrepeatable);
  }
}

/// Each run answers with its number.
class Counting : public Guarded {
 public:
  std::optional<Failure> run(const Module&, const Plan&, const Buffers& buffers) override {
    *reinterpret_cast<char*>(buffers.tensors[0]) = static_cast<char>(++runs_);
    return std::nullopt;
  }

 private:
  int runs_ = 0;
};

TEST_CASE("a case that was compared on the device must give the same when it runs again") {
  Counting device;
  DeviceServer server(device);
  REQUIRE(std::holds_alternative<protocol::Done>(server.load({1, Binary{}, {{"any", numbers_plan()}}})));
  protocol::Run request{1, "any", CaseRecipe{}};
  request.compared.resize(1);
  CHECK_FALSE(std::get<protocol::Ran>(server.run(request)).unrepeatable);
  request.compared.clear();
  CHECK_FALSE(std::get<protocol::Ran>(server.run(request)).unrepeatable);
  request.as_before = true;
  CHECK(std::get<protocol::Ran>(server.run(request)).unrepeatable);
  request.as_before = false;
  request.compared.resize(1);
  request.repeats = 2;
  CHECK(std::get<protocol::Ran>(server.run(request)).unrepeatable);
}

TEST_CASE("inputs that an earlier candidate has overwritten in their resting place are mended, and nobody is blamed") {
  Guarded device;
  DeviceServer server(device);
  Plan plan = numbers_plan();
  plan.tensors.insert(plan.tensors.begin(), {"in", DType::s32, kBytes});
  REQUIRE(std::holds_alternative<protocol::Done>(server.load({1, Binary{}, {{"any", plan}}})));
  CaseRecipe recipe;
  recipe.inputs.resize(1);
  recipe.inputs[0] = {"in", DType::s32, kBytes / 4, kBytes / 4, kBytes / 4, kBytes / 4};
  recipe.inputs[0].dims = {kBytes / 4};
  server.draw(recipe);
  std::vector<std::byte>& image = *device.memory.front();
  const int uploads = device.uploads;
  for (int i = 1; i <= 2; ++i) {
    image[image.size() / 2] ^= std::byte{1};
    CHECK(std::holds_alternative<protocol::Ran>(server.run({1, "any", recipe})));
    CHECK(device.uploads == uploads + i);
  }
}

constexpr const char* kConstants = R"(.version 8.0
.target sm_90
.address_size 64
.const .align 4 .b8 taps[128];
.const .align 4 .u32 by;
.visible .entry scaled(.param .u64 out)
{
  .reg .b64 %rd<6>;
  .reg .b32 %r<6>;
  ld.param.u64 %rd1, [out];
  mov.u32 %r1, %tid.x;
  mul.wide.u32 %rd2, %r1, 4;
  add.s64 %rd1, %rd1, %rd2;
  mov.u64 %rd3, taps;
  add.s64 %rd3, %rd3, %rd2;
  ld.const.u32 %r2, [%rd3];
  ld.const.u32 %r3, [by];
  mul.lo.u32 %r4, %r2, %r3;
  st.global.u32 [%rd1], %r4;
  ret;
}
)";

Plan constants_plan() {
  Plan plan = numbers_plan();
  plan.tensors = {{"in", DType::s32, kBytes}, {"out", DType::s32, kBytes, true}};
  plan.launches[0].kernel = "scaled";
  plan.launches[0].arguments = {{Argument::Kind::tensor, 1}};
  plan.constants = {{"taps", {Argument::Kind::tensor, 0}}, {"factor", Argument::of_int(3)}};
  return plan;
}

CaseRecipe constants_case(std::uint64_t stream) {
  CaseRecipe recipe;
  recipe.inputs.resize(1);
  recipe.inputs[0] = {"in", DType::s32, kBytes / 4, kBytes / 4, kBytes / 4, kBytes / 4};
  recipe.inputs[0].dims = {kBytes / 4};
  recipe.inputs[0].stream = stream;
  return recipe;
}

Binary constants_binary() {
  Binary binary;
  binary.arch = "sm_90";
  binary.ptx = kConstants;
  binary.build.variables = {{"factor", "by"}};
  return binary;
}

TEST_CASE("variables of the program hold the inputs of each case, in timed, sanitised and modelled calls too") {
  const auto device = vgpu::make_device("h200");
  DeviceServer server(*device);
  REQUIRE(std::holds_alternative<protocol::Done>(server.load({1, constants_binary(), {{"any", constants_plan()}}})));
  for (const std::uint64_t stream : {1, 2}) {
    const CaseRecipe recipe = constants_case(stream);
    std::vector<std::byte> want = generate_inputs(recipe)[0];
    for (std::size_t at = 0; at < want.size(); at += 4) {
      std::uint32_t value = 0;
      std::memcpy(&value, want.data() + at, sizeof value);
      value *= 3;
      std::memcpy(want.data() + at, &value, sizeof value);
    }
    const auto ran = std::get<protocol::Ran>(server.run({1, "any", recipe, 2, stream == 2}));
    CHECK(ran.outputs == want);
    CHECK_FALSE(ran.unrepeatable);
    protocol::Time request{1, "any", {recipe}, {}};
    request.afterwards = constants_case(stream + 10);
    const auto timed = std::get<protocol::Timed>(server.time(request));
    CHECK(timed.as_before == std::vector<bool>{true, false});
    CHECK(duration_us(std::get<protocol::Profiled>(server.read_counters({1, "any", recipe})).launches) > 0);
  }
  CHECK_THROWS_AS(server.time({1, "any", {constants_case(1), constants_case(2)}, {}}), Error);
  CHECK_THROWS_WITH(server.run({1, "other", constants_case(1)}), "module 1 has no plan for shape other");
}

TEST_CASE("a variable that is missing or of another size is named") {
  const auto device = vgpu::make_device("h200");
  DeviceServer server(*device);
  const auto reason = [&](const Constant& constant) {
    Plan plan = constants_plan();
    plan.constants = {constant};
    REQUIRE(std::holds_alternative<protocol::Done>(server.load({1, constants_binary(), {{"any", plan}}})));
    return std::get<protocol::Failed>(server.run({1, "any", constants_case(1), 1})).failure.reason;
  };
  CHECK(reason({"tabs", Argument::of_int(1)}) == "the program has no variable tabs");
  CHECK(reason({"factor", {Argument::Kind::tensor, 0}}) == "variable factor has 4 bytes, in has 128");
}

}  // namespace
}  // namespace evo
