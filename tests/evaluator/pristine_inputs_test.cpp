#include "evaluator/device/pristine_inputs.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cstring>
#include <map>
#include <memory>
#include <vector>

#include "evaluator/device/digest.h"
#include "evaluator/device/guards.h"

using namespace evo;

namespace {

/// A device with memory only; it counts uploads.
class MemoryOnly final : public Device {
 public:
  const DeviceInfo& info() const override { return info_; }
  DeviceAddress allocate(std::size_t bytes, const std::string&) override {
    memory.push_back(std::make_unique<std::vector<std::byte>>(bytes));
    return reinterpret_cast<DeviceAddress>(memory.back()->data());
  }
  void free(DeviceAddress) override {}
  void upload(DeviceAddress to, std::span<const std::byte> from) override {
    ++uploads;
    std::memcpy(reinterpret_cast<void*>(to), from.data(), from.size());
  }
  void download(std::span<std::byte> to, DeviceAddress from) override {
    std::memcpy(to.data(), reinterpret_cast<const void*>(from), to.size());
  }
  void fill(DeviceAddress, std::byte, std::size_t) override {}
  void copy(DeviceAddress to, DeviceAddress from, std::size_t bytes) override {
    std::memcpy(reinterpret_cast<void*>(to), reinterpret_cast<const void*>(from), bytes);
  }
  std::uint64_t digest(DeviceAddress from, std::size_t bytes) override {
    return digest_of({reinterpret_cast<const std::byte*>(from), bytes}, digest_key());
  }
  std::unique_ptr<Module> load(const Binary&, std::optional<Failure>&) override { return nullptr; }
  std::optional<Failure> run(const Module&, const Plan&, const Buffers&) override { return std::nullopt; }
  Timing time(const Module&, const Plan&, std::span<const Buffers>, const TimingRequest&,
              std::optional<Failure>&) override {
    return {};
  }

  std::vector<std::unique_ptr<std::vector<std::byte>>> memory;
  int uploads = 0;

 private:
  DeviceInfo info_;
};

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
