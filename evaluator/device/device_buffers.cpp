#include "evaluator/device/device_buffers.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>
#include <string>

#include "engine/base/error.h"
#include "evaluator/device/digest.h"
#include "evaluator/device/guards.h"
#include "evaluator/device/strided_layout.h"

namespace evo {
namespace {

Failure out_of_bounds(const std::string& name, const char* where, std::size_t bytes) {
  Failure failure;
  failure.verdict = Verdict::crashed;
  failure.reason = fmt::format("wrote out of bounds: {} bytes {} {}", bytes, where, name);
  return failure;
}

Failure changed_input(const PlanTensor& tensor, std::size_t offset) {
  Failure failure;
  failure.verdict = Verdict::wrong_answer;
  failure.reason = fmt::format("changed its input {} (first at byte {})", tensor.name, offset);
  return failure;
}

}  // namespace

std::byte poison_byte(unsigned variant) {
  constexpr std::array<std::byte, kPoisons> kPoison = {std::byte{0xff}, std::byte{0x7f}, std::byte{0x00}};
  return kPoison[variant % kPoisons];
}

BufferSet::BufferSet(Device& device, const std::vector<PlanTensor>& tensors)
    : device_(device), tensors_(tensors), guard_(guard_bytes_for(device.info())) {
  std::vector<std::byte> guard(guard_);
  write_guard(guard);
  guard_digest_ = digest_of(guard, digest_key());
  for (const PlanTensor& tensor : tensors_) {
    tensor_memory_.emplace_back(device_, std::max<std::uint64_t>(tensor.bytes, 1) + 2 * guard_, tensor.name);
    addresses_.tensors.push_back(tensor.bytes > 0 ? tensor_memory_.back().address() + guard_ : 0);
  }
}

std::optional<Failure> BufferSet::attach_workspaces(const std::vector<Workspace>& workspaces) {
  // The virtual GPU knows what was never written: there, memory is never used twice.
  if (guard_ > 0 && std::ranges::equal(workspaces, workspaces_, {}, &Workspace::bytes, &Workspace::bytes)) {
    workspaces_ = workspaces;
    return std::nullopt;
  }
  workspace_memory_.clear();
  addresses_.workspaces.clear();
  workspaces_ = workspaces;
  for (const Workspace& workspace : workspaces_) {
    try {
      const std::uint64_t bytes = std::max<std::uint64_t>(workspace.bytes, 1);
      workspace_memory_.emplace_back(device_, bytes + 2 * guard_, workspace.name);
    } catch (const Error& error) {
      return Failure{Verdict::over_resources, fmt::format("workspace {}: {}", workspace.name, error.what()), false, ""};
    }
    addresses_.workspaces.push_back(workspace_memory_.back().address() + guard_);
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
    write_guards(addresses_.workspaces[i], workspaces_[i].bytes);
  }
}

void BufferSet::prepare(const PristineInputs& inputs, unsigned poison_variant, unsigned workspace_variant) {
  if (guard_ == 0) {
    // Filling scratch memory would hide what was never written.
    if (auto failure = attach_workspaces(std::vector<Workspace>(workspaces_))) throw machine_error(failure->reason);
  }
  for (std::size_t i = 0; i < tensors_.size(); ++i) {
    if (!tensors_[i].output || tensors_[i].bytes == 0) continue;
    device_.fill(addresses_.tensors[i], poison_byte(poison_variant), tensors_[i].bytes);
  }
  gap_poison_ = poison_byte(poison_variant);
  replace_inputs(inputs);
  for (std::size_t i = 0; i < tensors_.size(); ++i)
    if (tensors_[i].output && tensors_[i].bytes > 0) write_guards(addresses_.tensors[i], tensors_[i].bytes);
  prepare_workspaces(workspace_variant);
}

void BufferSet::replace_inputs(const PristineInputs& inputs) {
  std::vector<DeviceAddress> places;
  for (std::size_t i = 0; i < tensors_.size(); ++i) {
    if (!tensors_[i].drawn()) continue;
    const std::vector<std::byte>& content = inputs.content(places.size());
    if (content.size() != tensors_[i].bytes) {
      throw machine_error(fmt::format("input {}: the plan wants {} bytes, the case has {}", tensors_[i].name,
                                      tensors_[i].bytes, content.size()));
    }
    places.push_back(tensors_[i].bytes > 0 ? tensor_memory_[i].address() : 0);
  }
  inputs.place(places);
}

void BufferSet::forget_outputs() {
  for (std::size_t i = 0; i < tensors_.size(); ++i) {
    if (tensors_[i].output && tensors_[i].bytes > 0)
      device_.fill(addresses_.tensors[i], poison_byte(0), tensors_[i].bytes);
  }
}

void BufferSet::forget_workspaces() {
  if (guard_ == 0) {
    attach_workspaces({});
    return;
  }
  for (std::size_t i = 0; i < workspaces_.size(); ++i)
    device_.fill(addresses_.workspaces[i], poison_byte(0), workspaces_[i].bytes);
}

/// Copies of the guard before an input, which has just been placed: an upload takes ten times as long.
void BufferSet::write_guards(DeviceAddress address, std::uint64_t bytes) {
  if (guard_ == 0) return;
  for (const DeviceAddress to : {address - guard_, address + bytes}) {
    if (const auto placed = placed_guard()) {
      device_.copy(to, *placed, guard_);
    } else {
      std::vector<std::byte> guard(guard_);
      write_guard(guard);
      device_.upload(to, guard);
    }
  }
}

std::optional<DeviceAddress> BufferSet::placed_guard() const {
  for (std::size_t i = 0; i < tensors_.size(); ++i)
    if (tensors_[i].drawn() && !tensors_[i].output && tensors_[i].bytes > 0) return tensor_memory_[i].address();
  return std::nullopt;
}

/// Those of outputs and workspaces. An input's are part of its digest.
bool BufferSet::guards_are_whole() const {
  if (guard_ == 0) return true;
  std::vector<DeviceRange> guards;
  const auto add = [&](DeviceAddress address, std::uint64_t bytes) {
    guards.push_back({address - guard_, guard_});
    guards.push_back({address + bytes, guard_});
  };
  for (std::size_t i = 0; i < tensors_.size(); ++i)
    if (tensors_[i].output && tensors_[i].bytes > 0) add(addresses_.tensors[i], tensors_[i].bytes);
  for (std::size_t i = 0; i < workspaces_.size(); ++i) add(addresses_.workspaces[i], workspaces_[i].bytes);
  const std::vector<std::uint64_t> digests = device_.digests(guards);
  return std::ranges::all_of(digests, [this](std::uint64_t digest) { return digest == guard_digest_; });
}

std::optional<Failure> BufferSet::damage(const PristineInputs& inputs) {
  std::vector<DeviceAddress> read_only;  // of each drawn tensor; 0 for what is also written
  std::vector<std::size_t> numbers;      // their tensors
  for (std::size_t i = 0; i < tensors_.size(); ++i) {
    if (!tensors_[i].drawn()) continue;
    read_only.push_back(tensors_[i].output || tensors_[i].bytes == 0 ? 0 : tensor_memory_[i].address());
    numbers.push_back(i);
  }
  const std::optional<std::size_t> changed = inputs.first_changed(read_only);
  const bool whole = guards_are_whole();
  for (std::size_t i = 0; i < tensors_.size(); ++i) {
    if (tensors_[i].bytes == 0) continue;
    if (tensors_[i].output) {
      if (!whole) {
        if (auto failure = damage_of_guards(tensors_[i].name, addresses_.tensors[i], tensors_[i].bytes)) return failure;
      }
      if (auto failure = damage_of_gaps(i)) return failure;
    } else if (changed && numbers[*changed] == i) {
      return damage_of_input(i, inputs.content(*changed));
    }
  }
  for (std::size_t i = 0; i < workspaces_.size() && !whole; ++i) {
    const Workspace& workspace = workspaces_[i];
    if (auto failure = damage_of_guards(workspace.name, addresses_.workspaces[i], workspace.bytes)) return failure;
  }
  return std::nullopt;
}

/// What lies between the elements of an output with strides holds what `prepare` put there.
std::optional<Failure> BufferSet::damage_of_gaps(std::size_t number) {
  const PlanTensor& tensor = tensors_[number];
  if (tensor.strides.empty()) return std::nullopt;
  std::vector<std::byte> content(tensor.bytes);
  device_.download(content, addresses_.tensors[number]);
  const std::byte filled = tensor.inout ? kGap : gap_poison_;
  const std::size_t at =
      StridedLayout(tensor.dims, tensor.strides).first_changed_gap(content, size_of(tensor.dtype), filled);
  if (at == content.size()) return std::nullopt;
  Failure failure;
  failure.verdict = Verdict::crashed;
  failure.reason =
      fmt::format("wrote between the rows of {} (first at byte {}), which its strides leave out", tensor.name, at);
  return failure;
}

std::optional<Failure> BufferSet::damage_of_guards(const std::string& name, DeviceAddress address,
                                                   std::uint64_t bytes) {
  std::vector<std::byte> guard(guard_);
  device_.download(guard, address - guard_);
  if (const auto at = first_damage(guard)) return out_of_bounds(name, "before", guard_ - *at);
  device_.download(guard, address + bytes);
  if (const auto at = first_damage(guard)) return out_of_bounds(name, "behind", *at);
  return std::nullopt;
}

/// Says where an input, whose digest has changed, differs.
Failure BufferSet::damage_of_input(std::size_t number, const std::vector<std::byte>& content) {
  const PlanTensor& tensor = tensors_[number];
  if (auto failure = damage_of_guards(tensor.name, addresses_.tensors[number], tensor.bytes)) return *failure;
  std::vector<std::byte> found(tensor.bytes);
  device_.download(found, addresses_.tensors[number]);
  const auto [changed, pristine] = std::ranges::mismatch(found, content);
  if (changed == found.end())
    throw machine_error(fmt::format("input {}: its digest is wrong, its bytes are not", tensor.name));
  return changed_input(tensor, static_cast<std::size_t>(changed - found.begin()));
}

void BufferSet::read_outputs(std::vector<std::byte>& outputs) {
  for (std::size_t i = 0; i < tensors_.size(); ++i) {
    if (!tensors_[i].output || tensors_[i].bytes == 0) continue;
    const std::size_t begin = outputs.size();
    outputs.resize(begin + tensors_[i].bytes);
    read_output(i, std::span(outputs).subspan(begin));
  }
}

void BufferSet::read_output(std::size_t number, std::span<std::byte> content) {
  device_.download(content, addresses_.tensors[number]);
  const PlanTensor& tensor = tensors_[number];
  if (!tensor.strides.empty())
    StridedLayout(tensor.dims, tensor.strides).fill_gaps(content, size_of(tensor.dtype), kGap);
}

std::vector<std::uint64_t> BufferSet::output_digests() {
  std::vector<std::uint64_t> digests;
  for (std::size_t i = 0; i < tensors_.size(); ++i) {
    if (!tensors_[i].output || tensors_[i].bytes == 0) continue;
    if (tensors_[i].strides.empty()) {
      digests.push_back(device_.digest(addresses_.tensors[i], tensors_[i].bytes));
      continue;
    }
    std::vector<std::byte> content(tensors_[i].bytes);
    read_output(i, content);
    digests.push_back(digest_of(content, digest_key()));
  }
  return digests;
}

std::size_t BufferSet::bytes() const {
  std::size_t total = 0;
  for (const PlanTensor& tensor : tensors_) total += tensor.bytes + 2 * guard_;
  for (const Workspace& workspace : workspaces_) total += workspace.bytes + 2 * guard_;
  return total;
}

}  // namespace evo
