#include <fmt/core.h>

#include <array>
#include <cstring>

#include "evaluator/vgpu/decode/memory_operands.h"
#include "evaluator/vgpu/isa/operations.h"
#include "evaluator/vgpu/machine/access.h"
#include "evaluator/vgpu/machine/cluster.h"
#include "evaluator/vgpu/parts/pending_copies.h"

// PTX ISA 9.0, 9.7.13.15 "mbarrier". A wait whose phase is not over parks its lanes. test_wait does so too, because
// the speed of polling is undefined. A wait ends without its phase only when no other warp can advance.
namespace evo::vgpu {
namespace {

using ptx::Type;

/// Where a lane's mbarrier lies; fails the warp when no mbarrier can lie there.
std::optional<SharedPlace> place_of(Warp& warp, const Instruction& in, int lane) {
  const AccessMode mode = AccessMode::decoded(in.aux0);
  const std::uint64_t address =
      mode.wide_base ? source_row<std::uint64_t>(warp, in.op[1])[lane] + static_cast<std::uint64_t>(in.immediate)
                     : static_cast<Word>(warp.row(in.op[1])[lane] + static_cast<Word>(in.immediate));
  return shared_place(warp, in, lane, mode, address, 8, 8);
}

Mbarrier* existing(Warp& warp, const Instruction& in, int lane, SharedPlace& place) {
  const auto found = place_of(warp, in, lane);
  if (!found) return nullptr;
  place = *found;
  return mbarrier_at(warp, in, lane, place);
}

void note(Warp& warp, AsyncAction::Kind kind, const SharedPlace& place, std::uint64_t phase) {
  if (warp.launch->tracer == nullptr || place.block != warp.block) return;
  warp.launch->async.kind = kind;
  warp.launch->async.phase = phase;
}

// ---- init, inval

/// op: nothing, base, count.
void initialise(Warp& warp, const Instruction& in, std::uint32_t mask) {
  const Word* count = warp.row(in.op[2]);
  for (const int lane : lanes_of(mask)) {
    const auto place = place_of(warp, in, lane);
    if (!place) return;
    if (count[lane] == 0 || count[lane] > kMaxMbarrierCount)
      return warp.fail(in, fmt::format("a count of {}: 1 to {} are possible", count[lane], kMaxMbarrierCount), lane);
    std::byte* const bytes = place->block->shared.data() + place->offset;
    const Mbarrier* old = place->block->mbarriers.find(place->offset);
    if (old != nullptr && std::memcmp(bytes, &old->word, sizeof old->word) == 0) {
      return warp.fail(in,
                       "byte " + std::to_string(place->offset) + " of shared memory holds an mbarrier already" +
                           (old->line == 0 ? "" : ", initialised in line " + std::to_string(old->line)) +
                           ": it has to be invalidated first",
                       lane);
    }
    Mbarrier& barrier = place->block->mbarriers.put(place->offset);
    const Kernel& kernel = *warp.launch->kernel;
    barrier.line = kernel.lines[kernel.index_of(in)];
    barrier.phase = ++warp.launch->phases;
    barrier.phase_before = 0;
    barrier.word = MbarrierState{count[lane], count[lane], 0, 0}.encoded();
    std::memcpy(bytes, &barrier.word, sizeof barrier.word);
    if (warp.launch->observer != nullptr) warp.launch->observer->mbarrier_init(warp, in, lane, *place);
  }
}

void invalidate(Warp& warp, const Instruction& in, std::uint32_t mask) {
  for (const int lane : lanes_of(mask)) {
    SharedPlace place;
    if (existing(warp, in, lane, place) == nullptr) return;
    place.block->mbarriers.erase(place.offset);
  }
}

// ---- arrive, arrive_drop, expect_tx, complete_tx

/// Instruction::aux1.
enum Arrival : std::uint32_t {
  kArrives = 1,
  kDrops = 2,
  kMayNotComplete = 4,
  kExpectsBytes = 8,
  kCompletesBytes = 16,
};

/// op: the state before, base, count or bytes.
void change(Warp& warp, const Instruction& in, std::uint32_t mask) {
  std::uint64_t* before = own_row<std::uint64_t>(warp, in.op[0]);
  const Word* amount = warp.row(in.op[2]);
  const std::uint32_t kind = in.aux1;
  for (const int lane : lanes_of(mask)) {
    SharedPlace place;
    Mbarrier* barrier = existing(warp, in, lane, place);
    if (barrier == nullptr) return;
    MbarrierChange change;
    if ((kind & (kExpectsBytes | kCompletesBytes)) != 0) {
      change.bytes = (kind & kExpectsBytes) != 0 ? std::int64_t{amount[lane]} : -std::int64_t{amount[lane]};
      change.arrivals = (kind & kArrives) != 0 ? 1 : 0;
    } else {
      change.arrivals = amount[lane];
      if (change.arrivals == 0) return warp.fail(in, "a count of 0", lane);
    }
    if ((kind & kDrops) != 0) change.drop = change.arrivals;
    change.may_complete = (kind & kMayNotComplete) == 0;
    before[lane] = barrier->word;
    note(warp, AsyncAction::Kind::arrive, place, barrier->phase);
    if (warp.launch->observer != nullptr)
      warp.launch->observer->mbarrier_use(warp, in, lane, place, change.arrivals > 0);
    if (const std::string wrong = place.block->change_mbarrier(*barrier, change); !wrong.empty())
      return warp.fail(in, wrong + ", at the mbarrier at byte " + std::to_string(place.offset), lane);
  }
}

// ---- test_wait, try_wait

void park(Warp& warp, const Instruction& in, std::uint32_t mask, std::uint32_t barrier) {
  warp.launch->async.kind = AsyncAction::Kind::parked;
  warp.wait_outside(in, mask, Split::State::waits_at_mbarrier, barrier);
}

/// op: predicate, base, parity or state.
template <bool kParity>
void wait(Warp& warp, const Instruction& in, std::uint32_t mask) {
  const bool expired = warp.take_expired();
  std::uint32_t over = 0;
  std::uint32_t awaited = 0;
  bool several = false;
  std::array<SharedPlace, 32> places;
  for (const int lane : lanes_of(mask)) {
    SharedPlace place;
    Mbarrier* barrier = existing(warp, in, lane, place);
    if (barrier == nullptr) return;
    const std::uint32_t parity = kParity
                                     ? warp.row(in.op[2])[lane]
                                     : MbarrierState::decoded(source_row<std::uint64_t>(warp, in.op[2])[lane]).parity;
    if (parity > 1) return warp.fail(in, "a parity of " + std::to_string(parity), lane);
    const auto is_over = [&] { return MbarrierState::decoded(barrier->word).parity != parity; };
    if (!is_over() && !warp.block->cluster->land_for(*place.block, place.offset)) {
      warp.stop = Stop::failed;
      return;
    }
    if (is_over()) {
      over |= 1u << lane;
      places[static_cast<std::size_t>(lane)] = place;
      note(warp, AsyncAction::Kind::wait, place, barrier->phase_before);
      continue;
    }
    several |= awaited != 0 && awaited != place.offset;
    awaited = place.offset;
  }
  if (over != mask && !expired) return park(warp, in, mask, several ? kSeveralBarriers : awaited);
  put_predicate(warp, in.op[0], over, mask);
  if (warp.launch->observer != nullptr) warp.launch->observer->mbarrier_waited(warp, in, over, places);
}

// ---- pending_count

struct PendingCount {
  static EVO_INLINE std::uint32_t apply(std::uint64_t state) {
    return static_cast<std::uint32_t>(state >> 22) & kMaxMbarrierCount;
  }
};

// ---- cp.async.mbarrier.arrive

/// Arrives, or has the mbarrier wait for an arrival, once the lane's copies under way have ended.
void arrive_after_copies(Warp& warp, const Instruction& in, std::uint32_t mask) {
  for (const int lane : lanes_of(mask)) {
    SharedPlace place;
    Mbarrier* barrier = existing(warp, in, lane, place);
    if (barrier == nullptr) return;
    note(warp, AsyncAction::Kind::arrive, place, barrier->phase);
    if (warp.launch->observer != nullptr) {
      warp.launch->observer->copies_signal(warp, lane);
      warp.launch->observer->mbarrier_use(warp, in, lane, place, true);
    }
    MbarrierChange change;
    change.more_pending = in.aux1;
    change.may_complete = false;
    if (change.more_pending != 0) {
      const std::string wrong = place.block->change_mbarrier(*barrier, change);
      if (!wrong.empty()) return warp.fail(in, wrong, lane);
    }
    BulkOperation operation;
    operation.perform = [&warp, lane] { land_copies(warp, 1u << lane); };
    operation.issued_in = &in;
    operation.issued_by = &warp;
    operation.lane = lane;
    operation.barrier_of = place.block;
    operation.barrier = place.offset;
    operation.arrivals = 1;
    warp.block->cluster->issue(std::move(operation));
  }
}

// ---- Decoding

void take_barrier(Form& form, const ptx::Operand& operand) {
  const Where where = take_space(form);
  take_memory_hints(form);
  form.take("b64");
  take_address(form, operand, where, true);
}

void decode_arrival(Form& form, bool drops) {
  std::uint32_t kind = kArrives | (drops ? kDrops : 0u);
  if (form.take("noComplete")) kind |= kMayNotComplete;
  if (form.take("expect_tx")) kind |= kExpectsBytes;
  form.destination(0, Type::b64);
  take_barrier(form, form.operand(1));
  form.operand_count() > 2 ? form.source(2, Type::u32) : form.constant(1, Type::u32);
  form.instruction().aux1 = kind;
  form.emit(change, OpClass::mbarrier);
}

void decode_bytes(Form& form, std::uint32_t kind) {
  form.scratch(Type::b64);
  take_barrier(form, form.operand(0));
  form.source(1, Type::u32);
  form.instruction().aux1 = kind;
  form.emit(change, OpClass::mbarrier);
}

void decode_wait(Form& form) {
  const bool parity = form.take("parity");
  form.predicate_destination(form.operand(0));
  take_barrier(form, form.operand(1));
  form.source(2, parity ? Type::u32 : Type::b64);
  form.emit(parity ? wait<true> : wait<false>, OpClass::mbarrier_wait);  // How long it may take is but a hint.
}

void decode_mbarrier(Form& form) {
  const bool begins = form.take("init");
  if (begins || form.take("inval")) {
    form.raw(0);
    take_barrier(form, form.operand(0));
    if (begins) form.source(1, Type::u32);
    return form.emit(begins ? initialise : invalidate, OpClass::mbarrier);
  }
  if (form.take("arrive")) return decode_arrival(form, false);
  if (form.take("arrive_drop")) return decode_arrival(form, true);
  if (form.take("expect_tx")) return decode_bytes(form, kExpectsBytes);
  if (form.take("complete_tx")) return decode_bytes(form, kCompletesBytes);
  if (form.take("test_wait") || form.take("try_wait")) return decode_wait(form);
  if (form.take("pending_count")) {
    form.take("b64");
    form.destination(0, Type::u32);
    form.source(1, Type::b64);
    return form.emit(elementwise<PendingCount>(form.simd()), OpClass::integer);
  }
  form.unsupported();
}

}  // namespace

void decode_arrive_after_copies(Form& form) {
  form.take("arrive");
  form.instruction().aux1 = form.take("noinc") ? 0 : 1;
  form.raw(0);
  take_barrier(form, form.operand(0));
  form.emit(arrive_after_copies, OpClass::mbarrier);
}

std::span<const Operation> mbarrier_operations() {
  static constexpr Operation kOperations[] = {{"mbarrier", Operands::any, decode_mbarrier}};
  return kOperations;
}

}  // namespace evo::vgpu
