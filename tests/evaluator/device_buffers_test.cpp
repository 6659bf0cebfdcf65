#include "evaluator/device/device_buffers.h"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <optional>

#include "evaluator/cuda/device_query.h"
#include "evaluator/device/guards.h"
#include "memory_only_device.h"

using namespace evo;
using Catch::Matchers::ContainsSubstring;

namespace {

constexpr std::uint64_t kBytes = 400;

DeviceInfo guarded() {
  DeviceInfo info;
  info.kind = cuda::kKind;
  return info;
}

PlanTensor tensor(const char* name, bool output) {
  PlanTensor tensor;
  tensor.name = name;
  tensor.bytes = kBytes;
  tensor.output = output;
  return tensor;
}

CaseRecipe hundred_floats() {
  InputRecipe input;
  input.name = "in";
  input.elements = input.row = input.matrix = input.group = kBytes / sizeof(float);
  input.stream = 5;
  return {1, {input}};
}

/// An input, an output and a workspace, prepared.
struct Prepared {
  MemoryOnly device{guarded()};
  std::size_t guard = guard_bytes_for(device.info());
  PristineInputs inputs{device, hundred_floats(), guard};
  BufferSet set{device, {tensor("in", false), tensor("out", true)}};

  Prepared() {
    REQUIRE_FALSE(set.attach_workspaces({{"scratch", kBytes, false}}));
    set.prepare(inputs, 0, 0);
  }

  std::optional<Failure> damage() {
    Readback read = set.readback(BufferSet::Wanted::digests);
    device.read(read);
    return set.damage(inputs, read);
  }
  std::byte& at(DeviceAddress address) { return *reinterpret_cast<std::byte*>(address); }
};

}  // namespace

TEST_CASE("every output and workspace lies between guards, which are copied on the device") {
  Prepared prepared;
  CHECK(prepared.device.uploads == 1);  // The input's.
  for (const DeviceAddress address : {prepared.set.addresses().tensors[1], prepared.set.addresses().workspaces[0]}) {
    CHECK_FALSE(first_damage(std::span(&prepared.at(address - prepared.guard), prepared.guard)));
    CHECK_FALSE(first_damage(std::span(&prepared.at(address + kBytes), prepared.guard)));
  }
  CHECK_FALSE(prepared.damage());
}

TEST_CASE("a write before or behind an output or a workspace is found and placed") {
  Prepared prepared;
  const DeviceAddress out = prepared.set.addresses().tensors[1];
  const DeviceAddress scratch = prepared.set.addresses().workspaces[0];
  const auto damage_at = [&](DeviceAddress address) {
    prepared.set.prepare(prepared.inputs, 1, 1);
    prepared.at(address) ^= std::byte{1};
    return prepared.damage().value().reason;
  };
  CHECK_THAT(damage_at(out - 1), ContainsSubstring("wrote out of bounds: 1 bytes before out"));
  CHECK_THAT(damage_at(out + kBytes + 3), ContainsSubstring("wrote out of bounds: 3 bytes behind out"));
  CHECK_THAT(damage_at(scratch - 8), ContainsSubstring("wrote out of bounds: 8 bytes before scratch"));
  CHECK_THAT(damage_at(scratch + kBytes), ContainsSubstring("behind scratch"));
  CHECK_THAT(damage_at(prepared.set.addresses().tensors[0] + 5), ContainsSubstring("changed its input in"));
}

TEST_CASE("outputs and workspaces have poisons of their own, and a workspace that is to be zero is") {
  Prepared prepared;
  REQUIRE_FALSE(prepared.set.attach_workspaces({{"scratch", kBytes, false}, {"counter", kBytes, true}}));
  const Buffers& at = prepared.set.addresses();
  for (unsigned variant = 0; variant < kPoisons; ++variant) {
    prepared.set.prepare(prepared.inputs, 0, variant);
    CHECK(prepared.at(at.tensors[1]) == poison_byte(0));
    CHECK(prepared.at(at.workspaces[0]) == poison_byte(variant));
    CHECK(prepared.at(at.workspaces[1]) == std::byte{0});
  }
  CHECK(poison_byte(0) != poison_byte(1));
  CHECK(poison_byte(1) != poison_byte(2));
}

TEST_CASE("guards of a set without inputs are copied, too") {
  MemoryOnly device(guarded());
  const std::size_t guard = guard_bytes_for(device.info());
  const PristineInputs inputs(device, {}, guard);
  BufferSet set(device, {tensor("out", true)});
  set.prepare(inputs, 0, 0);
  CHECK(device.uploads == 1);
  Readback read = set.readback(BufferSet::Wanted::digests);
  device.read(read);
  CHECK_FALSE(set.damage(inputs, read));
}

TEST_CASE("what is read after a run gives the outputs and their digests, or the digests alone") {
  Prepared prepared;
  const DeviceAddress out = prepared.set.addresses().tensors[1];
  for (std::size_t i = 0; i < kBytes; ++i) prepared.at(out + i) = static_cast<std::byte>(i);
  const std::span written(&prepared.at(out), kBytes);
  for (const auto wanted : {BufferSet::Wanted::digests, BufferSet::Wanted::outputs}) {
    Readback read = prepared.set.readback(wanted);
    prepared.device.read(read);
    const RunOutputs outputs = prepared.set.outputs(std::move(read));
    CHECK(outputs.digests == std::vector{digest_of(written, digest_key())});
    CHECK(outputs.bytes.size() == (wanted == BufferSet::Wanted::outputs ? kBytes : 0));
    CHECK(std::ranges::equal(outputs.bytes, written.first(outputs.bytes.size())));
  }
}

TEST_CASE("the first input that was changed is named") {
  MemoryOnly device(guarded());
  const std::size_t guard = guard_bytes_for(device.info());
  CaseRecipe recipe = hundred_floats();
  recipe.inputs.push_back(recipe.inputs.front());
  const PristineInputs inputs(device, recipe, guard);
  BufferSet set(device, {tensor("out", true), tensor("first", false), tensor("second", false)});
  const auto damage = [&](std::size_t number) {
    Readback read = set.readback(BufferSet::Wanted::digests);
    device.read(read);
    CHECK(set.first_changed_input(inputs, read) == number);
    return set.damage(inputs, read).value().reason;
  };
  set.prepare(inputs, 0, 0);
  *reinterpret_cast<std::byte*>(set.addresses().tensors[2] + 7) ^= std::byte{1};
  CHECK(damage(2) == "changed its input second (first at byte 7)");
  *reinterpret_cast<std::byte*>(set.addresses().tensors[1]) ^= std::byte{1};
  CHECK(damage(1) == "changed its input first (first at byte 0)");
}

TEST_CASE("workspaces of the same sizes are used again, poisoned") {
  Prepared prepared;
  const DeviceAddress scratch = prepared.set.addresses().workspaces[0];
  prepared.at(scratch) = std::byte{42};
  REQUIRE_FALSE(prepared.set.attach_workspaces({{"other", kBytes, false}}));
  CHECK(prepared.at(scratch) == std::byte{42});
  prepared.set.forget_workspaces();
  CHECK(prepared.at(scratch) == poison_byte(0));
  prepared.at(scratch) = std::byte{42};
  CHECK(prepared.set.addresses().workspaces[0] == scratch);
  prepared.set.prepare(prepared.inputs, 0, 0);
  CHECK(prepared.at(scratch) == poison_byte(0));
  REQUIRE_FALSE(prepared.set.attach_workspaces({{"larger", 2 * kBytes, true}}));
  CHECK(prepared.set.addresses().workspaces[0] != scratch);
}
