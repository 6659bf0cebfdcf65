#include "evaluator/device_buffers.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <span>

#include "engine/error.h"

namespace evo {
namespace {

/// More than the rows that a tile of a usual kernel overhangs.
constexpr std::size_t kGuardBytes = 4096;

/// NaN as f32, f16 and bf16 (and three bytes in four as e4m3), so that a kernel which computes with what lies beyond its
/// tensors is found; but not the NaN that a GPU itself produces (0x7fffffff), so that writing one is found too.
constexpr std::array<std::byte, 4> kGuardPattern = {std::byte{0xfb}, std::byte{0xff}, std::byte{0xff}, std::byte{0x7f}};

void write_guard(std::span<std::byte> guard) {
  for (std::size_t i = 0; i < guard.size(); ++i) guard[i] = kGuardPattern[i % kGuardPattern.size()];
}

/// The offset of the first overwritten byte.
std::optional<std::size_t> first_damage(std::span<const std::byte> guard) {
  for (std::size_t i = 0; i < guard.size(); ++i) {
    if (guard[i] != kGuardPattern[i % kGuardPattern.size()]) return i;
  }
  return std::nullopt;
}

std::size_t guard_for(const DeviceInfo& info) { return info.kind == "vgpu" ? 0 : kGuardBytes; }

Failure damage_failure(const PlanTensor& tensor, const char* where, std::size_t bytes) {
  Failure failure;
  failure.verdict = Verdict::crashed;
  failure.reason = fmt::format("wrote out of bounds: {} bytes {} {}", bytes, where, tensor.name);
  return failure;
}

Failure changed_input(const PlanTensor& tensor, std::size_t offset) {
  Failure failure;
  failure.verdict = Verdict::wrong_answer;
  failure.reason = fmt::format("changed its input {} (first at byte {})", tensor.name, offset);
  return failure;
}

}  // namespace

DeviceMemory::~DeviceMemory() {
  if (device_ == nullptr) return;
  try {
    device_->free(address_);
  } catch (...) {
    // A lost device has no memory left to give back; the process is about to be replaced.
  }
}

std::byte poison_byte(unsigned variant) {
  constexpr std::array<std::byte, 3> kPoison = {std::byte{0xff}, std::byte{0x7f}, std::byte{0x00}};
  return kPoison[variant % kPoison.size()];
}

BufferSet::BufferSet(Device& device, const std::vector<PlanTensor>& tensors)
    : device_(device), tensors_(tensors), guard_(guard_for(device.info())) {
  for (const PlanTensor& tensor : tensors_) {
    tensor_memory_.emplace_back(device_, tensor.bytes + 2 * guard_, tensor.name);
    addresses_.tensors.push_back(tensor_memory_.back().address() + guard_);
  }
}

std::optional<Failure> BufferSet::attach_workspaces(const std::vector<Workspace>& workspaces) {
  workspace_memory_.clear();
  addresses_.workspaces.clear();
  workspaces_ = workspaces;
  for (const Workspace& workspace : workspaces_) {
    try {
      workspace_memory_.emplace_back(device_, std::max<std::uint64_t>(workspace.bytes, 1), workspace.name);
    } catch (const Error& error) {
      return Failure{Verdict::over_resources, fmt::format("workspace {}: {}", workspace.name, error.what()), false, ""};
    }
    addresses_.workspaces.push_back(workspace_memory_.back().address());
  }
  return std::nullopt;
}

void BufferSet::prepare_workspaces(unsigned poison_variant) {
  for (std::size_t i = 0; i < workspaces_.size(); ++i) {
    if (workspaces_[i].zeroed) {
      device_.fill(addresses_.workspaces[i], std::byte{0}, workspaces_[i].bytes);
    } else if (guard_ > 0) {
      device_.fill(addresses_.workspaces[i], poison_byte(poison_variant), workspaces_[i].bytes);
    }
  }
}

void BufferSet::prepare(const std::vector<std::vector<std::byte>>& inputs, unsigned poison_variant) {
  if (guard_ == 0) {
    // The virtual GPU knows what was never written; filling scratch memory would hide it, so it is made anew.
    if (auto failure = attach_workspaces(std::vector<Workspace>(workspaces_))) throw machine_error(failure->reason);
  }
  for (std::size_t i = 0; i < tensors_.size(); ++i) {
    if (tensors_[i].output) {
      prepare_output(i, poison_byte(poison_variant));
    } else {
      prepare_input(i, inputs.at(i));
    }
  }
  prepare_workspaces(poison_variant);
}

void BufferSet::replace_inputs(const std::vector<std::vector<std::byte>>& inputs) {
  for (std::size_t i = 0; i < tensors_.size(); ++i) {
    if (!tensors_[i].output) prepare_input(i, inputs.at(i));
  }
}

void BufferSet::forget_outputs() {
  for (std::size_t i = 0; i < tensors_.size(); ++i) {
    if (tensors_[i].output) device_.fill(addresses_.tensors[i], poison_byte(0), tensors_[i].bytes);
  }
}

void BufferSet::prepare_input(std::size_t number, const std::vector<std::byte>& content) {
  const PlanTensor& tensor = tensors_[number];
  if (content.size() != tensor.bytes) {
    throw machine_error(fmt::format("input {}: the plan wants {} bytes, the case has {}", tensor.name, tensor.bytes,
                                    content.size()));
  }
  image_.resize(tensor.bytes + 2 * guard_);
  const std::span<std::byte> image(image_);
  write_guard(image.first(guard_));
  write_guard(image.last(guard_));
  std::ranges::copy(content, image.begin() + static_cast<std::ptrdiff_t>(guard_));
  device_.upload(tensor_memory_[number].address(), image);
}

void BufferSet::prepare_output(std::size_t number, std::byte poison) {
  const std::uint64_t bytes = tensors_[number].bytes;
  device_.fill(addresses_.tensors[number], poison, bytes);
  if (guard_ == 0) return;
  image_.resize(guard_);
  write_guard(image_);
  device_.upload(addresses_.tensors[number] - guard_, image_);
  device_.upload(addresses_.tensors[number] + bytes, image_);
}

std::optional<Failure> BufferSet::collect(const std::vector<std::vector<std::byte>>& inputs,
                                          std::vector<std::byte>& outputs) {
  for (std::size_t i = 0; i < tensors_.size(); ++i) {
    const PlanTensor& tensor = tensors_[i];
    image_.resize(tensor.bytes + 2 * guard_);
    const std::span<std::byte> image(image_);
    device_.download(image, tensor_memory_[i].address());
    if (const auto at = first_damage(image.first(guard_))) {
      return damage_failure(tensor, "before", guard_ - *at);
    }
    if (const auto at = first_damage(image.last(guard_))) return damage_failure(tensor, "behind", *at);
    const std::span<const std::byte> content = image.subspan(guard_, tensor.bytes);
    if (tensor.output) {
      outputs.insert(outputs.end(), content.begin(), content.end());
    } else if (std::memcmp(content.data(), inputs[i].data(), content.size()) != 0) {
      const auto [changed, pristine] = std::ranges::mismatch(content, inputs[i]);
      return changed_input(tensor, static_cast<std::size_t>(changed - content.begin()));
    }
  }
  return std::nullopt;
}

std::size_t BufferSet::bytes() const {
  std::size_t total = 0;
  for (const PlanTensor& tensor : tensors_) total += tensor.bytes + 2 * guard_;
  return total;
}

}  // namespace evo
