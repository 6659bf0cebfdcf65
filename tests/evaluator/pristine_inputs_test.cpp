#include "evaluator/device/pristine_inputs.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

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
  device.write(inputs.copies(one(buffer)));
  device.write(inputs.copies(one(buffer)));
  CHECK(device.uploads == 1);
  const std::vector<std::byte>& placed = *device.memory.back();
  CHECK(std::memcmp(placed.data() + kGuard, inputs.content(0).data(), 400) == 0);
  CHECK_FALSE(first_damage(std::span(placed).first(kGuard)));
  CHECK_FALSE(first_damage(std::span(placed).last(kGuard)));
  CHECK(digest_of(placed, digest_key()) == inputs.digest(0));
}

TEST_CASE("inputs whose copy on the device was written are uploaded again when they are mended") {
  MemoryOnly device;
  const PristineInputs inputs(device, hundred_floats(), kGuard);
  CHECK_FALSE(inputs.repair());
  for (const std::size_t at : {std::size_t{0}, kGuard + 17, kImageBytes - 1}) {
    (*device.memory.front())[at] ^= std::byte{1};
    CHECK(inputs.repair());
    CHECK_FALSE(inputs.repair());
  }
  CHECK(device.uploads == 4);
  const DeviceAddress buffer = device.allocate(kImageBytes, "a");
  device.write(inputs.copies(one(buffer)));
  CHECK(std::memcmp(device.memory.back()->data() + kGuard, inputs.content(0).data(), 400) == 0);
}

TEST_CASE("an input without an address is left out; one address for each is needed") {
  MemoryOnly device;
  CaseRecipe recipe = hundred_floats();
  recipe.inputs.push_back(recipe.inputs.front());
  recipe.inputs[1].stream = 6;
  const PristineInputs inputs(device, recipe, kGuard);
  const DeviceAddress buffer = device.allocate(kImageBytes, "a");
  device.write(inputs.copies(std::vector<DeviceAddress>{0, buffer}));
  CHECK(std::memcmp(device.memory.back()->data() + kGuard, inputs.content(1).data(), 400) == 0);
  CHECK_THROWS_WITH(inputs.copies(one(buffer)), "1 addresses for 2 inputs");
}
