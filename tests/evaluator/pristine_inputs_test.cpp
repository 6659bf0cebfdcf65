#include "evaluator/device/pristine_inputs.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cstring>
#include <vector>

#include "evaluator/device/digest.h"
#include "evaluator/device/guards.h"
#include "memory_only_device.h"

using namespace evo;

namespace {

CaseRecipe hundred_floats() {
  InputRecipe input;
  input.name = "a";
  input.elements = input.row = input.matrix = input.group = 100;
  input.stream = 5;
  return {1, {input}};
}

constexpr std::size_t kGuard = 64;
constexpr std::size_t kImageBytes = 400 + 2 * kGuard;

std::vector<DeviceAddress> one(DeviceAddress address) {
  return {address};
}

}  // namespace

TEST_CASE("inputs are uploaded once, then copied on the device with their guards") {
  MemoryOnly device;
  const PristineInputs inputs(device, hundred_floats(), kGuard);
  const DeviceAddress buffer = device.allocate(kImageBytes, "a");
  inputs.place(one(buffer));
  inputs.place(one(buffer));
  CHECK(device.uploads == 1);
  CHECK_FALSE(inputs.first_changed(one(buffer)));
  const std::vector<std::byte>& placed = *device.memory.back();
  CHECK(std::memcmp(placed.data() + kGuard, inputs.content(0).data(), 400) == 0);
  CHECK_FALSE(first_damage(std::span(placed).first(kGuard)));
  CHECK_FALSE(first_damage(std::span(placed).last(kGuard)));
}

TEST_CASE("a changed byte of an input or of its guards is detected") {
  MemoryOnly device;
  const PristineInputs inputs(device, hundred_floats(), kGuard);
  const DeviceAddress buffer = device.allocate(kImageBytes, "a");
  std::vector<std::byte>& placed = *device.memory.back();
  for (const std::size_t at : {std::size_t{0}, kGuard + 17, kImageBytes - 1}) {
    inputs.place(one(buffer));
    placed[at] ^= std::byte{1};
    CHECK(inputs.first_changed(one(buffer)) == 0);
  }
}

TEST_CASE("inputs whose copy on the device was written are uploaded again before they are used") {
  MemoryOnly device;
  const PristineInputs inputs(device, hundred_floats(), kGuard);
  (*device.memory.front())[kGuard] ^= std::byte{1};
  const DeviceAddress buffer = device.allocate(kImageBytes, "a");
  inputs.place(one(buffer));
  CHECK(device.uploads == 2);
  CHECK_FALSE(inputs.first_changed(one(buffer)));
  CHECK(std::memcmp(device.memory.back()->data() + kGuard, inputs.content(0).data(), 400) == 0);
}

TEST_CASE("the first of several inputs that has changed is named, and one without an address is left alone") {
  MemoryOnly device;
  CaseRecipe recipe = hundred_floats();
  recipe.inputs.push_back(recipe.inputs.front());
  recipe.inputs.push_back(recipe.inputs.front());
  recipe.inputs[1].stream = 6;
  const PristineInputs inputs(device, recipe, kGuard);
  std::vector<DeviceAddress> buffers;
  for (int i = 0; i < 3; ++i) buffers.push_back(device.allocate(kImageBytes, "a"));
  const std::vector<std::byte>& left_out = *device.memory.back();
  buffers[2] = 0;
  inputs.place(buffers);
  CHECK_FALSE(inputs.first_changed(buffers));
  CHECK(left_out == std::vector<std::byte>(kImageBytes));
  (*device.memory[device.memory.size() - 2])[kGuard] ^= std::byte{1};
  CHECK(inputs.first_changed(buffers) == 1);
  (*device.memory[device.memory.size() - 3])[kGuard] ^= std::byte{1};
  CHECK(inputs.first_changed(buffers) == 0);
}

TEST_CASE("inputs are placed only at an address for each") {
  MemoryOnly device;
  const PristineInputs inputs(device, hundred_floats(), kGuard);
  CHECK_THROWS_WITH(inputs.place({}), "0 addresses for 1 inputs");
  CHECK_THROWS_WITH(inputs.first_changed(std::vector<DeviceAddress>(2)), "2 addresses for 1 inputs");
}
