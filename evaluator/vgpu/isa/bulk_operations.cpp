#include <cstring>
#include <utility>

#include "evaluator/vgpu/decode/memory_operands.h"
#include "evaluator/vgpu/isa/operations.h"
#include "evaluator/vgpu/machine/access.h"
#include "evaluator/vgpu/machine/observer.h"
#include "evaluator/vgpu/numbers/reduction.h"
#include "evaluator/vgpu/parts/bulk_issue.h"

// PTX ISA 9.0, 9.7.9.25.4 "Data Movement and Conversion Instructions: Bulk copy". Operands are checked when a copy is
// issued; it reads and writes when its end is waited for, the latest moment that the ISA allows.
namespace evo::vgpu {
namespace {

using ptx::Type;

constexpr std::uint32_t kBulkUnit = 16;

std::byte* bulk_bytes(Warp& warp, const Instruction& in, int lane, AccessMode mode, std::uint64_t address,
                      std::uint32_t bytes) {
  if (address % kBulkUnit != 0) {
    warp.fail(in, "an address that is not aligned to 16 bytes", lane);
    return nullptr;
  }
  return resolve_lane(warp, in, lane, mode, address, bytes);
}

/// One lane's copy, as it was issued.
struct BulkCopy {
  AccessMode from_mode;
  std::uint64_t from = 0, to = 0;
  Word bytes = 0;
  const std::byte* source = nullptr;
  Reduction reduction;

  void write_to(std::byte* there) const {
    if (reduction.combine != nullptr) {
      reduction.combine(there, source, bytes / reduction.bytes);
    } else {
      std::memcpy(there, source, bytes);
    }
  }
};

/// To global memory. False when the warp has failed.
bool add_store(Warp& warp, const Instruction& in, int lane, const BulkCopy& copy, std::byte* target) {
  std::function<void()> perform = [=] { copy.write_to(target); };
  std::function<void()> settle;
  if (Observer* const observer = warp.launch->observer) {
    const auto origin = shared_place(warp, in, lane, copy.from_mode, copy.from, copy.bytes, kBulkUnit);
    if (!origin) return false;
    observer->begin_bulk_read(warp, in, lane, copy.from_mode, copy.from, copy.bytes);
    perform = [=, &warp, &in, perform = std::move(perform)] {
      perform();
      observer->end_bulk_read(warp, in, lane, copy.from_mode, copy.from, copy.bytes);
      observer->bulk_stored(warp, in, lane, *origin, copy.to, copy.bytes, copy.reduction.combine != nullptr);
    };
    settle = [=, &warp, &in] { observer->bulk_settled(warp, in, lane, copy.to, copy.bytes); };
  }
  add_to_group(warp, in, lane, std::move(perform), std::move(settle));
  note_copy(warp, {copy.bytes, true, true}, nullptr);
  return true;
}

/// To shared memory of one or several blocks. False when the warp has failed.
bool issue_load(Warp& warp, const Instruction& in, int lane, const BulkCopy& copy, AccessMode to_mode) {
  const auto place = shared_place(warp, in, lane, to_mode, copy.to, copy.bytes, kBulkUnit);
  if (!place) return false;
  const bool from_global = copy.from_mode.where == Where::global;
  if (Observer* const observer = warp.launch->observer) {
    from_global ? observer->bulk_source(warp, in, lane, copy.from_mode, copy.from, copy.bytes)
                : observer->begin_bulk_read(warp, in, lane, copy.from_mode, copy.from, copy.bytes);
  }
  const auto deliver = [&](Block& block) -> std::function<void()> {
    return [=, &block, &warp, &in] {
      copy.write_to(block.shared.data() + place->offset);
      Observer* const observer = warp.launch->observer;
      if (observer == nullptr) return;
      observer->bulk_loaded({&block, place->offset}, copy.bytes);
      if (from_global) {
        observer->pass_state(warp, copy.from, {&block, place->offset}, copy.bytes);
      } else {
        observer->end_bulk_read(warp, in, lane, copy.from_mode, copy.from, copy.bytes);
      }
    };
  };
  return issue_to_blocks(warp, in, lane, *place, {copy.bytes, from_global, false}, deliver);
}

/// op: target, source, size, mbarrier, block mask, reduction.
void execute_bulk_copy(Warp& warp, const Instruction& in, std::uint32_t mask) {
  const AccessMode to_mode = AccessMode::decoded(in.aux0);
  const AccessMode from_mode = AccessMode::decoded(in.aux1);
  const Reduction reduction = reduction_in(in);
  const bool grouped = to_mode.where == Where::global;
  if (reduction.combine != nullptr && !grouped && !is_in_cluster(warp))
    return warp.fail(in, "a launch without clusters");
  for (const int lane : lanes_of(mask)) {
    const Word bytes = warp.row(in.op[2])[lane];
    if (bytes % kBulkUnit != 0) return warp.fail(in, "a size that is no multiple of 16", lane);
    if (bytes == 0) continue;
    const std::uint64_t to = address_in(warp, in.op[0], to_mode, in.more, lane);
    const std::uint64_t from = address_in(warp, in.op[1], from_mode, static_cast<std::uint32_t>(in.immediate), lane);
    const std::byte* source = bulk_bytes(warp, in, lane, from_mode, from, bytes);
    if (source == nullptr) return;
    std::byte* target = bulk_bytes(warp, in, lane, to_mode, to, bytes);
    if (target == nullptr) return;
    const BulkCopy copy{from_mode, from, to, bytes, source, reduction};
    const bool issued = grouped ? add_store(warp, in, lane, copy, target) : issue_load(warp, in, lane, copy, to_mode);
    if (!issued) return;
  }
}

/// Checks the place of a prefetch; there are no caches.
void execute_bulk_prefetch(Warp& warp, const Instruction& in, std::uint32_t mask) {
  const AccessMode mode = AccessMode::decoded(in.aux1);
  for (const int lane : lanes_of(mask)) {
    const Word bytes = warp.row(in.op[2])[lane];
    if (bytes % kBulkUnit != 0) return warp.fail(in, "a size that is no multiple of 16", lane);
    const std::uint64_t from = address_in(warp, in.op[1], mode, static_cast<std::uint32_t>(in.immediate), lane);
    if (bytes > 0 && bulk_bytes(warp, in, lane, mode, from, bytes) == nullptr) return;
  }
}

void execute_bulk_commit(Warp& warp, const Instruction&, std::uint32_t mask) {
  for (const std::size_t lane : lanes_of(mask)) ++warp.committed_bulk_groups[lane];
}

/// aux0: only for the reads. Reads and writes are performed together, but an observer sees which were waited for.
void execute_bulk_wait(Warp& warp, const Instruction& in, std::uint32_t mask) {
  warp.land_bulk_groups(mask, static_cast<std::uint32_t>(in.immediate), in.aux0 != 0);
}

void decode_bulk_wait(Form& form) {
  form.instruction().aux0 = form.take("read") ? 1 : 0;
  take_pending_groups(form);
  form.emit(execute_bulk_wait, OpClass::bulk_wait);
}

/// The next state space among the modifiers, in their order: of the target, then of the source.
Where next_space(Form& form) {
  for (const std::string_view part : form.statement().parts) {
    const bool space = part == "global" || part.starts_with("shared");
    if (!space || !form.take(part)) continue;
    if (part == "global") return Where::global;
    return part == "shared::cluster" ? Where::cluster : Where::shared;
  }
  form.unsupported("state spaces");
}

void decode_bulk_prefetch(Form& form) {
  if (form.take("tensor")) return decode_tensor_prefetch(form);
  if (!form.take("L2") || next_space(form) != Where::global) form.unsupported();
  form.take("L2::cache_hint");
  form.raw(0);
  const AddressForm source = take_base(form, form.operand(0), Where::global, false);
  form.source(1, Type::u32);
  form.instruction().immediate = source.offset;
  form.instruction().aux1 = source.mode.encoded();
  form.instruction().cache = form.new_cache();
  form.emit(execute_bulk_prefetch, OpClass::bulk_copy);
}

void decode_bulk_copy(Form& form) {
  const Where to = next_space(form);
  const Where from = next_space(form);
  std::uint32_t reduction = 0;
  if (form.take("reduce")) {
    const std::uint32_t number = take_reduction(form);
    form.take("noftz");
    reduction = encoded_reduction(form, number, form.type());
  }
  const BulkEnd end = take_bulk_end(form);
  const bool grouped = to == Where::global;
  if (grouped == (end == BulkEnd::mbarrier) || (grouped && from == Where::global))
    form.unsupported("state spaces that do not go with the completion mechanism");
  const bool multicast = form.take("multicast::cluster");
  form.take("L2::cache_hint");
  const AddressForm target = take_base(form, form.operand(0), to, true);
  const AddressForm source = take_base(form, form.operand(1), from, false);
  form.source(2, Type::u32);
  form.instruction().aux0 = target.mode.encoded();
  form.instruction().aux1 = source.mode.encoded();
  form.instruction().more = static_cast<std::uint32_t>(target.offset);
  form.instruction().immediate = source.offset & 0xffff'ffff;
  form.instruction().cache = form.new_cache();
  take_completion_barrier(form, grouped ? 0 : 3, multicast ? 4 : 0);
  form.raw(reduction);
  form.emit(execute_bulk_copy, OpClass::bulk_copy);
}

}  // namespace

void decode_bulk(Form& form) {
  if (form.take("commit_group")) return form.emit(execute_bulk_commit, OpClass::bulk_commit);
  if (form.take("wait_group")) return decode_bulk_wait(form);
  if (form.take("prefetch")) return decode_bulk_prefetch(form);
  if (form.take("tensor")) return decode_tensor_copy(form);
  decode_bulk_copy(form);
}

}  // namespace evo::vgpu
