#include <algorithm>
#include <cstring>

#include "evaluator/vgpu/decode/memory_operands.h"
#include "evaluator/vgpu/isa/operations.h"
#include "evaluator/vgpu/machine/access.h"
#include "evaluator/vgpu/parts/pending_copies.h"

// PTX ISA 9.0, 9.7.9.25 "Data Movement and Conversion Instructions: Asynchronous copy" (non-bulk). A copy
// reads its source when it is issued and writes its target when it is waited for, the latest moment that the
// ISA allows: a missing wait shows as old data.
namespace evo::vgpu {
namespace {

using ptx::Type;

void copy_lanes(PendingCopy& copy, std::uint32_t lanes, const Word* source_bytes, const Touched& from,
                std::uint32_t bytes) {
  for (const std::size_t lane : lanes_of(lanes)) {
    const std::uint32_t taken = std::min(source_bytes[lane], bytes);
    std::memcpy(copy.data[lane].data(), from.at[lane], taken);
    std::memset(copy.data[lane].data() + taken, 0, bytes - taken);
  }
}

/// ignore-src: lanes whose predicate holds read nothing. op: the bytes to read, the predicate.
void forget_ignored(Warp& warp, const Instruction& in, std::uint32_t mask) {
  const std::uint32_t ignored = get_predicate(warp, in.op[1]);
  Word* bytes = warp.own(in.op[0]);
  for (const int lane : lanes_of(mask)) {
    bytes[lane] = (ignored >> lane & 1u) != 0 ? 0 : static_cast<Word>(in.immediate);
  }
}

/// op: target base, source base, bytes to read. aux0: the target's mode, aux1 the source's; `more` is the
/// target's offset.
template <std::uint32_t kBytes>
struct AsyncCopy {
  static EVO_INLINE void run(Warp& warp, const Instruction& in, std::uint32_t mask) {
    const Word* source_bytes = warp.row(in.op[2]);
    const std::uint32_t whole = lanes_with(source_bytes, kBytes) & mask;
    const std::uint32_t none = lanes_with(source_bytes, 0u) & mask;
    const AccessMode source_mode = AccessMode::decoded(in.aux1);
    const auto source_offset = static_cast<std::uint64_t>(in.immediate);
    Touched from, to;
    if (whole != 0 && !resolve_at(warp, in, whole, source_mode, in.op[1], source_offset, kBytes, from)) return;
    const auto target_offset =
        static_cast<std::uint64_t>(static_cast<std::int64_t>(static_cast<std::int32_t>(in.more)));
    if (!resolve_at(warp, in, mask, AccessMode::decoded(in.aux0), in.op[0], target_offset, kBytes, to)) return;

    PendingCopy& copy = warp.copies.emplace_back();
    copy.lanes = mask;
    copy.issued_in = &in;
    copy.bytes = kBytes;
    const std::byte* shared = warp.block->shared.data();
    for (std::size_t lane = 0; lane < 32; ++lane) copy.target[lane] = static_cast<std::uint32_t>(to.at[lane] - shared);
    if (whole != 0) copy_lanes(copy, whole, source_bytes, from, kBytes);
    Observer* const observer = warp.launch->observer;
    if (observer != nullptr) {
      observer->begin_copy_read(warp, in, whole, source_mode, source_bytes, from, copy);
      observer->begin_copy_write(warp, in, mask, copy);
    }
    for (const std::size_t lane : lanes_of(none)) std::memset(copy.data[lane].data(), 0, kBytes);
    // Partly read sources are rare: one lane after another, each with its own size.
    for (const int lane : lanes_of(mask & ~whole & ~none)) {
      if (source_bytes[lane] > kBytes) return warp.fail(in, "more bytes to read than to write", lane);
      Touched last;
      if (!resolve_at(warp, in, 1u << lane, source_mode, in.op[1], source_offset + source_bytes[lane] - 1, 1, last))
        return;
      if (!resolve_at(warp, in, 1u << lane, source_mode, in.op[1], source_offset, 1, from)) return;
      copy_lanes(copy, 1u << lane, source_bytes, from, kBytes);
      if (observer != nullptr) observer->begin_copy_read(warp, in, 1u << lane, source_mode, source_bytes, from, copy);
    }
    split_by_group(warp);
  }

  /// A record has one group number: lanes that have committed differently get records of their own.
  static void split_by_group(Warp& warp) {
    while (true) {
      PendingCopy& copy = warp.copies.back();
      copy.group = warp.committed_groups[static_cast<std::size_t>(std::countr_zero(copy.lanes))];
      const std::uint32_t same = lanes_with(warp.committed_groups.data(), copy.group);
      const std::uint32_t others = copy.lanes & ~same;
      copy.lanes &= same;
      if (others == 0) return;
      PendingCopy rest = copy;
      rest.lanes = others;
      warp.copies.push_back(rest);
    }
  }
};

void commit_group(Warp& warp, const Instruction&, std::uint32_t mask) {
  for (std::size_t lane = 0; lane < 32; ++lane) warp.committed_groups[lane] += mask >> lane & 1u;
}

/// immediate: how many of a lane's latest groups may stay in flight.
void wait_group(Warp& warp, const Instruction& in, std::uint32_t mask) {
  land_committed_copies(warp, mask, in.immediate);
}

void wait_all(Warp& warp, const Instruction&, std::uint32_t mask) {
  land_copies(warp, mask);
}

void decode_copy(Form& form) {
  form.take_one_of({"ca", "cg"});
  const bool to_shared = form.take("shared") || form.take("shared::cta") || form.take("shared::cluster");
  if (!to_shared || !form.take("global")) form.unsupported("only from global to shared memory");
  take_memory_hints(form);
  const ptx::Operand& size = form.operand(2);
  if (size.kind != ptx::Operand::Kind::integer) form.unsupported("the size must be a number");
  const bool has_more = form.operand_count() > 3 && form.operand(3).kind == ptx::Operand::Kind::reg;
  const bool ignores = has_more && form.register_type(form.operand(3)) == Type::pred;
  const bool has_source_size =
      form.operand_count() > 3 && (form.operand(3).kind == ptx::Operand::Kind::integer ||
                                   (has_more && ptx::bits_of(form.register_type(form.operand(3))) == 32));
  std::uint32_t bytes_to_read = 0;
  if (ignores) {
    bytes_to_read = form.new_temporary(Type::u32);
    form.temporary_destination(bytes_to_read);
    form.predicate_source(form.operand(3));
    form.instruction().immediate = static_cast<std::int64_t>(size.bits);
    form.emit(forget_ignored, OpClass::integer);
    form.begin_another();
  }
  const AddressForm target = take_base(form, form.operand(0), Where::shared, true);
  const AddressForm source = take_base(form, form.operand(1), Where::global, false);
  if (ignores) {
    form.temporary_source(bytes_to_read);
  } else if (has_source_size) {
    form.source(3, Type::u32);
  } else {
    form.constant(size.bits, Type::u32);
  }
  form.instruction().immediate = source.offset;
  form.instruction().aux0 = target.mode.encoded();
  form.instruction().aux1 = source.mode.encoded();
  form.instruction().more = static_cast<std::uint32_t>(target.offset);
  form.instruction().cache = form.new_cache();
  switch (size.bits) {
    case 4:
      return form.emit(Compiled<AsyncCopy<4>>::choose(form.simd()), OpClass::async_copy);
    case 8:
      return form.emit(Compiled<AsyncCopy<8>>::choose(form.simd()), OpClass::async_copy);
    case 16:
      return form.emit(Compiled<AsyncCopy<16>>::choose(form.simd()), OpClass::async_copy);
    default:
      form.unsupported("a size of " + std::to_string(size.bits));
  }
}

void decode_cp(Form& form) {
  if (!form.take("async")) form.unsupported();
  if (form.take("mbarrier")) return decode_arrive_after_copies(form);
  if (form.take("bulk")) return decode_bulk(form);
  if (form.take("commit_group")) return form.emit(commit_group, OpClass::async_commit);
  if (form.take("wait_all")) return form.emit(wait_all, OpClass::async_wait);
  if (form.take("wait_group")) {
    take_pending_groups(form);
    return form.emit(wait_group, OpClass::async_wait);
  }
  decode_copy(form);
}

}  // namespace

std::span<const Operation> async_operations() {
  static constexpr Operation kOperations[] = {{"cp", Operands::any, decode_cp}};
  return kOperations;
}

}  // namespace evo::vgpu
