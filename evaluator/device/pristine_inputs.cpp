#include "evaluator/device/pristine_inputs.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "engine/base/error.h"
#include "evaluator/device/guards.h"

namespace evo {

PristineInputs::PristineInputs(Device& device, const CaseRecipe& recipe, std::size_t guard_bytes, InputDrawer* drawer)
    : device_(device), recipe_(recipe), guard_(guard_bytes), drawer_(drawer) {
  for (std::size_t i = 0; i < recipe.inputs.size(); ++i) {
    const std::size_t bytes = bytes_of(recipe.inputs[i]) + 2 * guard_;
    images_.push_back({DeviceMemory(device, bytes, "pristine " + recipe.inputs[i].name), bytes, 0});
    place(i);
  }
  const std::vector<std::uint64_t> digests = digests_now();
  for (std::size_t i = 0; i < images_.size(); ++i) images_[i].digest = digests[i];
  if (!images_.empty() || guard_ == 0) return;
  std::vector<std::byte> guard(guard_);
  write_guard(guard);
  spare_guard_.emplace(device, guard_, "a guard");
  device.upload(spare_guard_->address(), guard);
}

const std::vector<std::byte>& PristineInputs::content(std::size_t number) const {
  if (contents_.empty()) contents_.resize(recipe_.inputs.size());
  if (contents_.at(number).empty())
    for (std::size_t i = 0; std::vector<std::byte> & made : generate_input(recipe_, number)) {
      if (contents_[i].empty()) contents_[i] = std::move(made);
      ++i;
    }
  return contents_[number];
}

DeviceAddress PristineInputs::guard() const {
  if (!images_.empty()) return images_.front().memory.address();
  return spare_guard_ ? spare_guard_->address() : 0;
}

std::vector<DeviceWrite> PristineInputs::copies(std::span<const DeviceAddress> to) const {
  if (to.size() != images_.size())
    throw machine_error(fmt::format("{} addresses for {} inputs", to.size(), images_.size()));
  std::vector<DeviceWrite> copies;
  for (std::size_t i = 0; i < images_.size(); ++i)
    if (to[i] != 0) copies.push_back({to[i], images_[i].bytes, images_[i].memory.address()});
  return copies;
}

bool PristineInputs::repair() const {
  bool repaired = false;
  const std::vector<std::uint64_t> digests = digests_now();
  for (std::size_t i = 0; i < images_.size(); ++i) {
    if (digests[i] == images_[i].digest) continue;
    place(i);
    repaired = true;
  }
  return repaired;
}

std::vector<std::uint64_t> PristineInputs::digests_now() const {
  Readback wanted;
  for (const Image& image : images_) wanted.digested.push_back({image.memory.address(), image.bytes});
  device_.read(wanted);
  return std::move(wanted.digests);
}

void PristineInputs::place(std::size_t number) const {
  const DeviceAddress to = images_[number].memory.address();
  if (is_drawn_there(number)) {
    std::vector<std::byte> guard(guard_);
    write_guard(guard);
    device_.upload(to, guard);
    device_.upload(to + guard_ + bytes(number), guard);
    if (drawer_->draw(recipe_, number, to + guard_)) return;
  }
  std::vector<std::byte> image(images_[number].bytes);
  write_guard(std::span(image).first(guard_));
  write_guard(std::span(image).last(guard_));
  std::ranges::copy(content(number), image.begin() + static_cast<std::ptrdiff_t>(guard_));
  device_.upload(to, image);
}

}  // namespace evo
