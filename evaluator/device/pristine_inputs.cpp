#include "evaluator/device/pristine_inputs.h"

#include <algorithm>

#include "evaluator/device/guards.h"

namespace evo {

PristineInputs::PristineInputs(Device& device, const CaseRecipe& recipe, std::size_t guard_bytes)
    : device_(device), guard_(guard_bytes), contents_(generate_inputs(recipe)) {
  for (std::size_t i = 0; i < contents_.size(); ++i) {
    const std::size_t bytes = contents_[i].size() + 2 * guard_;
    images_.push_back({DeviceMemory(device, bytes, "pristine " + recipe.inputs[i].name), bytes, 0});
    upload(i, images_[i].memory.address());
    images_[i].digest = device.digest(images_[i].memory.address(), bytes);
  }
}

void PristineInputs::place(std::size_t number, DeviceAddress to) const {
  const Image& image = images_.at(number);
  if (!intact(number, image.memory.address())) upload(number, image.memory.address());
  device_.copy(to, image.memory.address(), image.bytes);
}

bool PristineInputs::intact(std::size_t number, DeviceAddress at) const {
  const Image& image = images_.at(number);
  return device_.digest(at, image.bytes) == image.digest;
}

void PristineInputs::upload(std::size_t number, DeviceAddress to) const {
  std::vector<std::byte> image(images_[number].bytes);
  write_guard(std::span(image).first(guard_));
  write_guard(std::span(image).last(guard_));
  std::ranges::copy(contents_[number], image.begin() + static_cast<std::ptrdiff_t>(guard_));
  device_.upload(to, image);
}

}  // namespace evo
