#include "evaluator/vgpu/isa/warp_operations.h"

#include <bit>
#include <functional>
#include <string>

#include "evaluator/vgpu/isa/operations.h"
#include "evaluator/vgpu/machine/launch.h"
#include "evaluator/vgpu/machine/observer.h"
#include "evaluator/vgpu/numbers/combining.h"
#include "evaluator/vgpu/numbers/float_bits.h"

// PTX ISA 9.0, 9.7.9.6 "shfl.sync" and 9.7.13: vote, match, redux, activemask, elect, bar.warp.sync.
namespace evo::vgpu {

bool MemberGroups::next(std::uint32_t& mask) {
  while (left_ != 0) {
    const std::uint32_t members = members_[std::countr_zero(left_)];
    const std::uint32_t group = lanes_with(members_, members) & left_;
    if ((group & ~members) != 0) {
      warp_.fail(in_, "a lane that executes this is not in its member mask", std::countr_zero(group & ~members));
      return false;
    }
    left_ &= ~group;
    const bool complete = (members & warp_.live() & ~group) == 0;
    if (!complete && group != first_) {
      incomplete_ |= group;
      continue;
    }
    mask = group;
    elsewhere_ = {};
    if (!complete) {
      if (!warp_.gather(in_, mask, members, Meet::anywhere)) return false;
      elsewhere_ = warp_.met_elsewhere;
      rows_composed_ = 0;
    }
    if (warp_.launch->observer != nullptr) warp_.launch->observer->meet(warp_, mask);
    return true;
  }
  return postpone_incomplete();
}

std::vector<Executing> MemberGroups::executing(std::uint32_t mask) const {
  std::vector<Executing> all(elsewhere_.begin(), elsewhere_.end());
  for (const Executing& other : elsewhere_) mask &= ~other.lanes;
  all.push_back({&in_, mask});
  return all;
}

const Word* MemberGroups::composed(std::size_t operand, std::size_t words) {
  std::array<Word, 2 * kRowWords>& row = rows_[rows_composed_++];
  const auto take = [&](const Instruction& from, std::uint32_t lanes) {
    const Word* theirs = warp_.row(from.op[operand]);
    for (std::size_t i = 0; i < words * kRowWords; ++i)
      if ((lanes >> i / words & 1u) != 0) row[i] = theirs[i];
  };
  take(in_, kAllLanes);
  for (const Executing& other : elsewhere_) take(*other.in, other.lanes);
  return row.data();
}

/// Groups that miss lanes become splits of their own, which execute the instruction again and wait there.
bool MemberGroups::postpone_incomplete() {
  if (incomplete_ == 0) return false;
  const std::uint32_t members = members_[std::countr_zero(incomplete_)];
  std::uint32_t group = incomplete_;
  if (incomplete_ == warp_.active) {
    group &= lanes_with(members_, members);
    warp_.next = &in_;  // For the others.
  }
  incomplete_ = 0;
  warp_.diverge(group, &in_, nullptr);
  return false;
}

namespace {

using ptx::Type;

// ---- shfl

enum class Shuffle { up, down, bfly, idx };

template <Shuffle kMode>
struct ShuffleBody {
  /// op: d, p, a, b, c, member mask.
  static EVO_INLINE void run(Warp& warp, const Instruction& in, std::uint32_t mask) {
    MemberGroups groups(warp, in, mask, in.op[5]);
    while (groups.next(mask)) {
      const Word* a = groups.source(2);
      const Word* b = groups.source(3);
      const Word* c = groups.source(4);
      alignas(64) std::int32_t from[32];
      std::uint32_t inside = 0;
      EVO_LANE_LOOP
      for (int lane = 0; lane < 32; ++lane) {
        const auto by = static_cast<std::int32_t>(b[lane] & 31u);
        const auto clamp = static_cast<std::int32_t>(c[lane] & 31u);
        const auto segment = static_cast<std::int32_t>(c[lane] >> 8 & 31u);
        const std::int32_t last = (lane & segment) | (clamp & ~segment);
        std::int32_t source = (lane & segment) | (by & ~segment);  // idx.
        if (kMode == Shuffle::up) source = lane - by;
        if (kMode == Shuffle::down) source = lane + by;
        if (kMode == Shuffle::bfly) source = lane ^ by;
        const bool valid = kMode == Shuffle::up ? source >= last : source <= last;
        from[lane] = valid ? source : lane;
        inside |= static_cast<std::uint32_t>(valid) << lane;
      }
      if (warp.launch->observer != nullptr)
        warp.launch->observer->shuffled(warp, groups.executing(mask), std::span<const std::int32_t, 32>(from));
      alignas(64) Word result[32];
      for (int lane = 0; lane < 32; ++lane) result[lane] = a[from[lane] & 31];
      groups.put(0, result, mask);
      groups.put_predicates(1, inside, mask);
    }
  }
};

void decode_shfl(Form& form) {
  if (!form.take("sync")) form.unsupported("only shfl.sync");
  const std::optional<Shuffle> mode = take_enumerator<Shuffle>(form);
  form.type();
  form.destination(0, Type::b32);
  form.predicate_destination_of_pair(form.operand(0));
  for (std::size_t i = 1; i <= 4; ++i) form.source(i, Type::b32);
  if (!mode) form.unsupported();
  const auto choose = [&](auto constant) { return Compiled<ShuffleBody<constant>>::choose(form.simd()); };
  form.emit(with_enumerator(*mode, choose), OpClass::shuffle);
}

// ---- vote

void fill_lanes(Warp& warp, Place d, std::uint32_t mask, std::uint32_t value) {
  Word* row = warp.own(d);
  for (const int lane : lanes_of(mask)) row[lane] = value;
}

enum class Vote { all, any, uni, ballot };

/// op: d (predicate or row), a, member mask.
template <Vote kVote>
void vote(Warp& warp, const Instruction& in, std::uint32_t mask) {
  MemberGroups groups(warp, in, mask, in.op[2]);
  while (groups.next(mask)) {
    const std::uint32_t votes = groups.predicate(1) & mask;
    const bool holds = kVote == Vote::any ? votes != 0 : votes == mask || (kVote == Vote::uni && votes == 0);
    kVote == Vote::ballot ? groups.put_in_all(0, votes, mask) : groups.put_predicates(0, holds ? kAllLanes : 0, mask);
  }
}

void decode_vote(Form& form) {
  if (!form.take("sync")) form.unsupported("only vote.sync");
  const std::optional<Vote> mode = take_enumerator<Vote>(form);
  form.type();
  mode == Vote::ballot ? form.destination(0, Type::b32) : form.predicate_destination(form.operand(0));
  form.predicate_source(form.operand(1));
  form.source(2, Type::b32);
  if (!mode) form.unsupported();
  form.emit(with_enumerator(*mode, [](auto constant) -> Execute { return vote<constant>; }), OpClass::vote);
}

// ---- match, redux

/// op: d, p, a, member mask.
template <class T>
void match_any(Warp& warp, const Instruction& in, std::uint32_t mask) {
  MemberGroups groups(warp, in, mask, in.op[3]);
  while (groups.next(mask)) {
    const Slot<T>* a = groups.source<T>(2);
    Word result[32] = {};
    for (const int lane : lanes_of(mask)) {
      for (int other = 0; other < 32; ++other) result[lane] |= static_cast<Word>(a[other] == a[lane]) << other;
      result[lane] &= mask;
    }
    groups.put(0, result, mask);
  }
}
template <class T>
void match_all(Warp& warp, const Instruction& in, std::uint32_t mask) {
  MemberGroups groups(warp, in, mask, in.op[3]);
  while (groups.next(mask)) {
    const Slot<T>* a = groups.source<T>(2);
    const auto value = a[std::countr_zero(mask)];
    bool same = true;
    for (const int lane : lanes_of(mask)) same &= a[lane] == value;
    groups.put_in_all(0, same ? mask : 0, mask);
    groups.put_predicates(1, same ? kAllLanes : 0, mask);
  }
}

void decode_match(Form& form) {
  const bool all = form.take_one_of({"any", "all"}) == "all";
  if (!form.take("sync")) form.unsupported("only match.sync");
  const Type type = form.type();
  form.destination(0, Type::b32);
  form.predicate_destination_of_pair(form.operand(0));
  form.source(1, type);
  form.source(2, Type::b32);
  const bool wide = ptx::bits_of(type) == 64;
  if (all) return form.emit(wide ? match_all<std::uint64_t> : match_all<std::uint32_t>, OpClass::vote, 4);
  form.emit(wide ? match_any<std::uint64_t> : match_any<std::uint32_t>, OpClass::vote, 8);
}

template <class T, class Combine>
void reduce(Warp& warp, const Instruction& in, std::uint32_t mask) {
  MemberGroups groups(warp, in, mask, in.op[2]);
  while (groups.next(mask)) {
    const Word* a = groups.source(1);
    T total = get<T>(a, std::countr_zero(mask));
    for (const int lane : lanes_of(mask & (mask - 1))) total = Combine()(total, get<T>(a, lane));
    groups.put_in_all(0, static_cast<Word>(total), mask);
  }
}

/// Without kNan only numbers count, if there are any.
template <bool kMax, bool kAbs, bool kNan>
void reduce_singles(Warp& warp, const Instruction& in, std::uint32_t mask) {
  MemberGroups groups(warp, in, mask, in.op[2]);
  while (groups.next(mask)) {
    const Word* a = groups.source(1);
    bool any_nan = false;
    float total = with_bits<float>(kNanF32);
    for (const int lane : lanes_of(mask)) {
      const float value = with_bits<float>(kAbs ? a[lane] & ~kSignBit<float> : a[lane]);
      any_nan |= value != value;
      total = smaller_or_larger<float, kMax>(total, value);
    }
    groups.put_in_all(0, kNan && any_nan ? kNanF32 : bits_in(total), mask);
  }
}

void decode_single_redux(Form& form, std::string_view op) {
  if (op != "min" && op != "max") form.unsupported("type .f32");
  const bool absolute = form.take("abs"), nan = form.take("NaN");
  form.destination(0, Type::f32);
  form.source(1, Type::f32);
  form.source(2, Type::b32);
  const auto choose = [](auto max, auto abs, auto with_nan) -> Execute { return reduce_singles<max, abs, with_nan>; };
  form.emit(with_flags(choose, op == "max", absolute, nan), OpClass::redux);
}

void decode_redux(Form& form) {
  if (!form.take("sync")) form.unsupported("only redux.sync");
  const std::string_view op = form.take_one_of({"add", "min", "max", "and", "or", "xor"});
  const Type type = form.type();
  if (type == Type::f32) return decode_single_redux(form, op);
  if (ptx::is_float(type)) form.unsupported("type ." + std::string(ptx::name_of(type)));
  const bool is_signed = ptx::is_signed(type);
  form.destination(0, Type::b32);
  form.source(1, Type::b32);
  form.source(2, Type::b32);
  if (op == "add") return form.emit(reduce<Word, std::plus<>>, OpClass::redux);
  if (op == "min") return form.emit(is_signed ? reduce<std::int32_t, Min> : reduce<Word, Min>, OpClass::redux);
  if (op == "max") return form.emit(is_signed ? reduce<std::int32_t, Max> : reduce<Word, Max>, OpClass::redux);
  if (op == "and") return form.emit(reduce<Word, std::bit_and<>>, OpClass::redux);
  if (op == "or") return form.emit(reduce<Word, std::bit_or<>>, OpClass::redux);
  if (op == "xor") return form.emit(reduce<Word, std::bit_xor<>>, OpClass::redux);
  form.unsupported();
}

// ---- activemask, elect

void active_mask(Warp& warp, const Instruction& in, std::uint32_t mask) {
  fill_lanes(warp, in.op[0], mask, mask);
}

void decode_activemask(Form& form) {
  form.type();
  form.destination(0, Type::b32);
  form.emit(active_mask, OpClass::vote);
}

/// op: d, p, member mask. The lowest lane leads.
void elect(Warp& warp, const Instruction& in, std::uint32_t mask) {
  MemberGroups groups(warp, in, mask, in.op[2]);
  while (groups.next(mask)) {
    const int leader = std::countr_zero(mask);
    groups.put_in_all(0, static_cast<std::uint32_t>(leader), mask);
    groups.put_predicates(1, 1u << leader, mask);
  }
}

void decode_elect(Form& form) {
  if (!form.take("sync")) form.unsupported("only elect.sync");
  form.destination(0, Type::b32);
  form.predicate_destination_of_pair(form.operand(0));
  form.source(1, Type::b32);
  form.emit(elect, OpClass::vote);
}

}  // namespace

std::span<const Operation> warp_operations() {
  static constexpr Operation kOperations[] = {
      {"shfl", Operands::any, decode_shfl},
      {"vote", Operands::any, decode_vote},
      {"match", Operands::any, decode_match},
      {"redux", Operands::any, decode_redux},
      {"activemask", Operands::any, decode_activemask},
      {"elect", Operands::any, decode_elect},
  };
  return kOperations;
}

}  // namespace evo::vgpu
