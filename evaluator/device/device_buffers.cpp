#include "evaluator/device/device_buffers.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

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

bool is_answer(const PlanTensor& tensor) {
  return tensor.output && tensor.bytes > 0;
}

/// One that is also an input holds what was drawn, and has the input's guards.
bool is_only_answer(const PlanTensor& tensor) {
  return is_answer(tensor) && !tensor.drawn();
}

bool is_read_only(const PlanTensor& tensor) {
  return tensor.drawn() && !tensor.output && tensor.bytes > 0;
}

/// The bytes of a range that was copied; empty if it was not.
template <typename Read>
auto copied(Read& read, DeviceAddress from) {
  auto bytes = std::span(read.bytes);
  for (const DeviceRange& range : read.copied) {
    if (range.from == from) return bytes.first(range.bytes);
    bytes = bytes.subspan(range.bytes);
  }
  return bytes.first(0);
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
  device_.write(fresh_workspaces(poison_variant));
}

std::vector<DeviceWrite> BufferSet::fresh_workspaces(unsigned poison_variant) const {
  std::vector<DeviceWrite> writes;
  for (std::size_t i = 0; i < workspaces_.size(); ++i) {
    const bool poisoned = !workspaces_[i].zeroed;
    if (poisoned && guard_ == 0) continue;
    writes.push_back(
        {addresses_.workspaces[i], workspaces_[i].bytes, 0, poisoned ? poison_byte(poison_variant) : std::byte{0}});
  }
  return writes;
}

void BufferSet::prepare(const PristineInputs& inputs, unsigned poison_variant, unsigned workspace_variant) {
  if (guard_ == 0) {
    // Filling scratch memory would hide what was never written.
    if (auto failure = attach_workspaces(std::vector<Workspace>(workspaces_))) throw machine_error(failure->reason);
  }
  gap_poison_ = poison_byte(poison_variant);
  std::vector<DeviceWrite> writes = copies_of(inputs);
  for (std::size_t i = 0; i < tensors_.size(); ++i)
    if (is_only_answer(tensors_[i])) writes.push_back({addresses_.tensors[i], tensors_[i].bytes, 0, gap_poison_});
  std::ranges::copy(fresh_workspaces(workspace_variant), std::back_inserter(writes));
  // Copied on the device: an upload takes ten times as long.
  for (const DeviceRange& guard : guards_of(is_only_answer))
    writes.push_back({guard.from, guard.bytes, inputs.guard()});
  device_.write(writes);
}

void BufferSet::replace_inputs(const PristineInputs& inputs) {
  device_.write(copies_of(inputs));
}

std::vector<DeviceWrite> BufferSet::copies_of(const PristineInputs& inputs) const {
  std::vector<DeviceAddress> places;
  for (std::size_t i = 0; i < tensors_.size(); ++i) {
    if (!tensors_[i].drawn()) continue;
    const std::size_t bytes = inputs.bytes(places.size());
    if (bytes != tensors_[i].bytes) {
      throw machine_error(fmt::format("input {}: the plan wants {} bytes, the case has {}", tensors_[i].name,
                                      tensors_[i].bytes, bytes));
    }
    places.push_back(tensors_[i].bytes > 0 ? tensor_memory_[i].address() : 0);
  }
  return inputs.copies(places);
}

void BufferSet::forget_outputs() {
  std::vector<DeviceWrite> writes;
  for (std::size_t i = 0; i < tensors_.size(); ++i)
    if (is_answer(tensors_[i])) writes.push_back({addresses_.tensors[i], tensors_[i].bytes, 0, poison_byte(0)});
  device_.write(writes);
}

void BufferSet::forget_workspaces() {
  if (guard_ == 0) {
    attach_workspaces({});
    return;
  }
  std::vector<DeviceWrite> writes;
  for (std::size_t i = 0; i < workspaces_.size(); ++i)
    writes.push_back({addresses_.workspaces[i], workspaces_[i].bytes, 0, poison_byte(0)});
  device_.write(writes);
}

bool BufferSet::works_in_place() const {
  return std::ranges::any_of(tensors_, &PlanTensor::is_changed_in_place);
}

/// With their guards.
std::vector<DeviceRange> BufferSet::read_only_inputs() const {
  std::vector<DeviceRange> inputs;
  for (std::size_t i = 0; i < tensors_.size(); ++i)
    if (is_read_only(tensors_[i])) inputs.push_back({tensor_memory_[i].address(), tensors_[i].bytes + 2 * guard_});
  return inputs;
}

/// Of these outputs, and of all workspaces.
std::vector<DeviceRange> BufferSet::guards_of(bool (*wanted)(const PlanTensor&)) const {
  std::vector<DeviceRange> guards;
  if (guard_ == 0) return guards;
  const auto add = [&](DeviceAddress address, std::uint64_t bytes) {
    guards.push_back({address - guard_, guard_});
    guards.push_back({address + bytes, guard_});
  };
  for (std::size_t i = 0; i < tensors_.size(); ++i)
    if (wanted(tensors_[i])) add(addresses_.tensors[i], tensors_[i].bytes);
  for (std::size_t i = 0; i < workspaces_.size(); ++i) add(addresses_.workspaces[i], workspaces_[i].bytes);
  return guards;
}

/// Digests: of inputs, guards and outputs without strides, in this order. Copied: outputs with strides, whose gaps only
/// the host knows, and all others if wanted; in the plan's order.
Readback BufferSet::readback(Wanted wanted) const {
  Readback read;
  read.digested = read_only_inputs();
  std::ranges::copy(guards_of(is_answer), std::back_inserter(read.digested));
  for (std::size_t i = 0; i < tensors_.size(); ++i) {
    if (!is_answer(tensors_[i])) continue;
    const DeviceRange range{addresses_.tensors[i], tensors_[i].bytes};
    const bool has_gaps = !tensors_[i].strides.empty();
    if (!has_gaps) read.digested.push_back(range);
    if (has_gaps || wanted == Wanted::outputs) read.copied.push_back(range);
  }
  return read;
}

std::optional<std::size_t> BufferSet::first_changed_input(const PristineInputs& inputs, const Readback& read) const {
  std::size_t drawn = 0;
  auto found = read.digests.begin();
  for (std::size_t i = 0; i < tensors_.size(); ++i) {
    if (is_read_only(tensors_[i]) && *found++ != inputs.digest(drawn)) return i;
    if (tensors_[i].drawn()) ++drawn;
  }
  return std::nullopt;
}

bool BufferSet::guards_are_whole(const Readback& read) const {
  const std::span<const std::uint64_t> guards =
      std::span(read.digests).subspan(read_only_inputs().size(), guards_of(is_answer).size());
  return std::ranges::all_of(guards, [this](std::uint64_t digest) { return digest == guard_digest_; });
}

std::optional<Failure> BufferSet::damage(const PristineInputs& inputs, const Readback& read) {
  const std::optional<std::size_t> changed = first_changed_input(inputs, read);
  const bool whole = guards_are_whole(read);
  std::size_t drawn = 0;
  for (std::size_t i = 0; i < tensors_.size(); ++i) {
    const std::size_t number = drawn;
    if (tensors_[i].drawn()) ++drawn;
    if (changed == i) return damage_of_input(i, inputs, number);
    if (!is_answer(tensors_[i])) continue;
    if (!whole) {
      if (auto failure = damage_of_guards(tensors_[i].name, addresses_.tensors[i], tensors_[i].bytes)) return failure;
    }
    if (tensors_[i].strides.empty()) continue;
    if (auto failure = damage_of_gaps(i, copied(read, addresses_.tensors[i]))) return failure;
  }
  for (std::size_t i = 0; i < workspaces_.size() && !whole; ++i) {
    const Workspace& workspace = workspaces_[i];
    if (auto failure = damage_of_guards(workspace.name, addresses_.workspaces[i], workspace.bytes)) return failure;
  }
  return std::nullopt;
}

/// What lies between the elements of an output with strides holds what `prepare` put there.
std::optional<Failure> BufferSet::damage_of_gaps(std::size_t number, std::span<const std::byte> content) const {
  const PlanTensor& tensor = tensors_[number];
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

RunOutputs BufferSet::outputs(Readback read) const {
  RunOutputs outputs;
  auto digest =
      read.digests.begin() + static_cast<std::ptrdiff_t>(read_only_inputs().size() + guards_of(is_answer).size());
  bool complete = true;
  for (std::size_t i = 0; i < tensors_.size(); ++i) {
    const PlanTensor& tensor = tensors_[i];
    if (!is_answer(tensor)) continue;
    const std::span<std::byte> content = copied(read, addresses_.tensors[i]);
    complete = complete && content.size() == tensor.bytes;
    if (tensor.strides.empty()) {
      outputs.digests.push_back(*digest++);
    } else {
      StridedLayout(tensor.dims, tensor.strides).fill_gaps(content, size_of(tensor.dtype), kGap);
      outputs.digests.push_back(digest_of(content, digest_key()));
    }
  }
  if (complete) outputs.bytes = std::move(read.bytes);
  return outputs;
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
Failure BufferSet::damage_of_input(std::size_t number, const PristineInputs& inputs, std::size_t drawn) {
  const PlanTensor& tensor = tensors_[number];
  if (auto failure = damage_of_guards(tensor.name, addresses_.tensors[number], tensor.bytes)) return *failure;
  std::vector<std::byte> found(tensor.bytes);
  device_.download(found, addresses_.tensors[number]);
  const auto [changed, pristine] = std::ranges::mismatch(found, inputs.content(drawn));
  if (changed == found.end())
    throw machine_error(fmt::format("input {}: its digest is wrong, its bytes are not", tensor.name));
  return changed_input(tensor, static_cast<std::size_t>(changed - found.begin()));
}

std::size_t BufferSet::bytes() const {
  std::size_t total = 0;
  for (const PlanTensor& tensor : tensors_) total += tensor.bytes + 2 * guard_;
  for (const Workspace& workspace : workspaces_) total += workspace.bytes + 2 * guard_;
  return total;
}

}  // namespace evo
