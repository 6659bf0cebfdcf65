#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "evaluator/vgpu/decode/memory_operands.h"
#include "evaluator/vgpu/isa/operations.h"
#include "evaluator/vgpu/machine/access.h"

// PTX ISA 9.0, 9.7.9: ld, ld.global.nc, ldu, st.
namespace evo::vgpu {

namespace {

using ptx::Type;

template <int kBytes>
using Raw = std::conditional_t<
    kBytes == 1, std::uint8_t,
    std::conditional_t<kBytes == 2, std::uint16_t, std::conditional_t<kBytes == 4, std::uint32_t, std::uint64_t>>>;

template <class T>
EVO_INLINE T load_from(const std::byte* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

/// An access of 32 bytes, or of eight elements, is two instructions. aux1, of these: the bytes of both, and above 16
/// bits the distance of this half from where the first one begins.
bool misaligned(Warp& warp, const Instruction& in, std::uint32_t mask, const Touched& touched) {
  const std::uint32_t bytes = in.aux1 & 0xffffu;
  for (const int lane : lanes_of(mask)) {
    const std::uint64_t first = touched.address[lane] - (in.aux1 >> 16);
    if (first % bytes == 0) continue;
    warp.fail(in, fmt::format("an access of {} bytes at the misaligned address {:#x}", bytes, first), lane);
    return true;
  }
  return false;
}

/// op: the elements' destinations, then the base.
template <int kBytes, int kCount>
struct Load {
  static EVO_INLINE void run(Warp& warp, const Instruction& in, std::uint32_t mask) {
    using T = Raw<kBytes>;
    if constexpr (kCount == 1 && kBytes >= 4) {
      if (const std::byte* from = contiguous_bytes(warp, in, mask, in.op[1], kBytes)) {
        std::memcpy(own_row<T>(warp, in.op[0]), from, 32 * kBytes);
        return;
      }
    }
    Touched touched;
    if (!resolve(warp, in, mask, in.op[kCount], kBytes * kCount, touched)) return;
    if (in.aux1 != 0 && misaligned(warp, in, mask, touched)) return;
    observe_load(warp, in, mask, kBytes * kCount, touched);
    alignas(64) Slot<T> values[kCount][32];
    for (int lane = 0; lane < 32; ++lane) {
      for (int i = 0; i < kCount; ++i) {
        put<T>(values[i], lane, load_from<T>(touched.at[lane] + i * kBytes));
      }
    }
    for (std::size_t i = 0; i < kCount; ++i) {
      Slot<T>* d = own_row<T>(warp, in.op[i]);
      if (mask == kAllLanes) {
        std::memcpy(d, values[i], sizeof values[i]);
      } else {
        blend(d, values[i], mask);
      }
    }
  }
};

/// op: the base, then the elements.
template <int kBytes, int kCount>
struct Store {
  static EVO_INLINE void run(Warp& warp, const Instruction& in, std::uint32_t mask) {
    using T = Raw<kBytes>;
    if constexpr (kCount == 1 && kBytes >= 4) {
      if (std::byte* to = contiguous_bytes(warp, in, mask, in.op[0], kBytes)) {
        std::memcpy(to, source_row<T>(warp, in.op[1]), 32 * kBytes);
        return;
      }
    }
    Touched touched;
    if (!resolve(warp, in, mask, in.op[0], kBytes * kCount, touched)) return;
    if (in.aux1 != 0 && misaligned(warp, in, mask, touched)) return;
    const Slot<T>* rows[kCount];
    for (std::size_t i = 0; i < kCount; ++i) rows[i] = source_row<T>(warp, in.op[1 + i]);
    std::uint32_t changed = 0;
    for (const int lane : lanes_of(mask)) {
      for (int i = 0; i < kCount; ++i) {
        const T value = get<T>(rows[i], lane);
        std::byte* const at = touched.at[lane] + i * kBytes;
        changed |= static_cast<std::uint32_t>(std::memcmp(at, &value, sizeof value) != 0) << lane;
        std::memcpy(at, &value, sizeof value);
      }
    }
    observe_store(warp, in, mask, kBytes * kCount, touched, changed);
  }
};

template <template <int, int> class Body, int kBytes>
Execute choose_count(Form& form, std::size_t count) {
  switch (count) {
    case 1:
      return Compiled<Body<kBytes, 1>>::choose(form.simd());
    case 2:
      return Compiled<Body<kBytes, 2>>::choose(form.simd());
    case 4:
      return Compiled<Body<kBytes, 4>>::choose(form.simd());
    default:
      form.unsupported("that many elements");
  }
}
template <template <int, int> class Body>
Execute choose(Form& form, Type type, std::size_t count) {
  switch (ptx::bits_of(type)) {
    case 8:
      return choose_count<Body, 1>(form, count);
    case 16:
      return choose_count<Body, 2>(form, count);
    case 32:
      return choose_count<Body, 4>(form, count);
    case 64:
      return choose_count<Body, 8>(form, count);
    default:
      form.unsupported("type ." + std::string(ptx::name_of(type)));
  }
}

void check_vector(Form& form, std::size_t elements) {
  const std::string_view vector = form.take_one_of({"v2", "v4", "v8"});
  const std::size_t wanted = vector.empty() ? 1 : static_cast<std::size_t>(vector[1] - '0');
  if (wanted != elements) form.unsupported("the number of registers does not fit the vector");
}

std::uint32_t vector_bytes(Type type, std::size_t elements) {
  return static_cast<std::uint32_t>(ptx::bits_of(type)) / 8 * static_cast<std::uint32_t>(elements);
}

/// Whether an access is two instructions. Those of 32 bytes are for global memory.
bool takes_two(Form& form, Type type, std::size_t elements, Where where) {
  const std::uint32_t bytes = vector_bytes(type, elements);
  if (bytes > 32 || (bytes > 16 && where != Where::global && where != Where::generic))
    form.unsupported("more than 16 bytes");
  return bytes > 16 || elements > 4;
}

/// The two halves of a wide access. A load whose first half overwrites the base makes its second half first.
template <template <int, int> class Body>
void emit_wide(Form& form, Type type, Where where, MemoryOrder order) {
  const bool loads = form.name() == "ld";
  const auto elements = form.elements(loads ? 0 : 1);
  const ptx::Operand& address = form.operand(loads ? 1 : 0);
  const std::size_t half = elements.size() / 2;
  const auto is_base = [&](const ptx::Operand& element) {
    const ptx::Operand& base = address.elements.at(0);
    return element.kind == ptx::Operand::Kind::reg && base.kind == element.kind && base.index == element.index;
  };
  const bool second_first = loads && std::ranges::any_of(elements.first(half), is_base);
  for (const bool second : {second_first, !second_first}) {
    if (second != second_first) form.begin_another();
    const auto part = elements.subspan(second ? half : 0, half);
    if (!loads) take_address(form, address, where, true);
    for (const ptx::Operand& element : part) loads ? form.destination(element, type) : form.source(element, type);
    if (loads) take_address(form, address, where, false);
    form.instruction().aux0 |= order.encoded();
    const std::uint32_t bytes = vector_bytes(type, elements.size()), before = second ? bytes / 2 : 0;
    form.instruction().immediate += before;
    form.instruction().aux1 = before << 16 | bytes;
    form.emit(choose<Body>(form, type, half), loads ? OpClass::load : OpClass::store);
  }
}

void decode_ld(Form& form) {
  const Where where = take_space(form);
  const MemoryOrder order = take_memory_hints(form);
  const auto elements = form.elements(0);
  check_vector(form, elements.size());
  const Type type = form.type();
  if (takes_two(form, type, elements.size(), where)) return emit_wide<Load>(form, type, where, order);
  if (type == Type::b128) {
    for (const bool upper : {false, true}) form.destination_half(elements[0], upper);
    take_address(form, form.operand(1), where, false);
    form.instruction().aux0 |= order.encoded();
    return form.emit(choose<Load>(form, Type::b64, 2), OpClass::load);
  }
  for (const ptx::Operand& element : elements) form.destination(element, type);
  take_address(form, form.operand(1), where, false);
  form.instruction().aux0 |= order.encoded();
  form.emit(choose<Load>(form, type, elements.size()), OpClass::load);
}

void decode_st(Form& form) {
  if (form.take("async")) return decode_async_store(form);
  const Where where = take_space(form);
  const MemoryOrder order = take_memory_hints(form);
  const auto elements = form.elements(1);
  check_vector(form, elements.size());
  const Type type = form.type();
  if (takes_two(form, type, elements.size(), where)) return emit_wide<Store>(form, type, where, order);
  take_address(form, form.operand(0), where, true);
  form.instruction().aux0 |= order.encoded();
  if (type == Type::b128) {
    for (const bool upper : {false, true}) form.source_half(elements[0], upper);
    return form.emit(choose<Store>(form, Type::b64, 2), OpClass::store);
  }
  for (const ptx::Operand& element : elements) form.source(element, type);
  form.emit(choose<Store>(form, type, elements.size()), OpClass::store);
}

}  // namespace

std::span<const Operation> memory_operations() {
  static constexpr Operation kOperations[] = {
      {"ld", Operands::any, decode_ld},
      {"ldu", Operands::any, decode_ld},
      {"st", Operands::any, decode_st},
  };
  return kOperations;
}

}  // namespace evo::vgpu
