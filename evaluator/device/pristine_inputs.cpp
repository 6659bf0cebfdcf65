#include "evaluator/device/pristine_inputs.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/base/error.h"
#include "evaluator/device/guards.h"

namespace evo {

PristineInputs::PristineInputs(Device& device, const CaseRecipe& recipe, std::size_t guard_bytes)
    : device_(device), guard_(guard_bytes), contents_(generate_inputs(recipe)) {
  std::vector<DeviceRange> ranges;
  for (std::size_t i = 0; i < contents_.size(); ++i) {
    const std::size_t bytes = contents_[i].size() + 2 * guard_;
    images_.push_back({DeviceMemory(device, bytes, "pristine " + recipe.inputs[i].name), bytes, 0});
    upload(i, images_[i].memory.address());
    ranges.push_back({images_[i].memory.address(), bytes});
  }
  const std::vector<std::uint64_t> digests = device.digests(ranges);
  for (std::size_t i = 0; i < images_.size(); ++i) images_[i].digest = digests[i];
}

void PristineInputs::place(std::span<const DeviceAddress> to) const {
  require_one_for_each_input(to);
  std::vector<DeviceAddress> used(images_.size(), 0);
  for (std::size_t i = 0; i < images_.size(); ++i)
    if (to[i] != 0) used[i] = images_[i].memory.address();
  for (const std::size_t number : changed(used)) upload(number, used[number]);
  for (std::size_t i = 0; i < images_.size(); ++i)
    if (to[i] != 0) device_.copy(to[i], used[i], images_[i].bytes);
}

std::optional<std::size_t> PristineInputs::first_changed(std::span<const DeviceAddress> at) const {
  const std::vector<std::size_t> numbers = changed(at);
  return numbers.empty() ? std::nullopt : std::optional(numbers.front());
}

std::vector<std::size_t> PristineInputs::changed(std::span<const DeviceAddress> at) const {
  require_one_for_each_input(at);
  std::vector<std::size_t> numbers;
  std::vector<DeviceRange> ranges;
  for (std::size_t i = 0; i < images_.size(); ++i) {
    if (at[i] == 0) continue;
    numbers.push_back(i);
    ranges.push_back({at[i], images_[i].bytes});
  }
  const std::vector<std::uint64_t> digests = device_.digests(ranges);
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < numbers.size(); ++i)
    if (digests[i] != images_[numbers[i]].digest) found.push_back(numbers[i]);
  return found;
}

void PristineInputs::require_one_for_each_input(std::span<const DeviceAddress> addresses) const {
  if (addresses.size() != images_.size())
    throw machine_error(fmt::format("{} addresses for {} inputs", addresses.size(), images_.size()));
}

void PristineInputs::upload(std::size_t number, DeviceAddress to) const {
  std::vector<std::byte> image(images_[number].bytes);
  write_guard(std::span(image).first(guard_));
  write_guard(std::span(image).last(guard_));
  std::ranges::copy(contents_[number], image.begin() + static_cast<std::ptrdiff_t>(guard_));
  device_.upload(to, image);
}

}  // namespace evo
