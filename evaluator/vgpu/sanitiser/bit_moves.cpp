#include "evaluator/vgpu/sanitiser/bit_moves.h"

#include <algorithm>

#include "evaluator/vgpu/machine/lanes.h"
#include "evaluator/vgpu/ptx/ptx.h"

namespace evo::vgpu {
namespace {

using Result = std::optional<std::vector<RegisterBits>>;
/// An operand in each lane: its value, or its marked bits.
using Lanes = std::array<std::uint64_t, 32>;

bool is_constant(Place place) {
  return (place & kConstantBit) != 0;
}

/// The last part of an opcode that is a type, counted from the end: 0 the last one.
ptx::Type type_of(std::string_view opcode, int from_end) {
  while (!opcode.empty()) {
    const std::size_t dot = opcode.rfind('.');
    if (dot == std::string_view::npos) break;
    const ptx::Type type = ptx::parse_type(opcode.substr(dot + 1));
    opcode = opcode.substr(0, dot);
    if (type != ptx::Type::none && from_end-- == 0) return type;
  }
  return ptx::Type::none;
}

std::size_t bytes_of(ptx::Type type) {
  return static_cast<std::size_t>(ptx::bits_of(type)) / 8;
}

std::uint64_t ones(std::size_t bits) {
  return bits >= 64 ? ~0ull : (1ull << bits) - 1;
}

Result split(const Lanes& bits, std::size_t bytes, std::size_t writes) {
  std::vector<RegisterBits> result(writes);
  for (std::size_t i = 0; i < std::min<std::size_t>(writes, 2); ++i)
    for (std::size_t lane = 0; lane < 32; ++lane)
      result[i][lane] = static_cast<std::uint32_t>((bits[lane] & ones(8 * bytes)) >> 32 * i);
  return result;
}

Lanes values_of(const Warp& warp, Place place, std::size_t bytes) {
  Lanes values;
  for (std::size_t lane = 0; lane < 32; ++lane)
    values[lane] = bytes == 8 ? source_row<std::uint64_t>(warp, place)[lane] : warp.row(place)[lane];
  return values;
}

/// The operands that an instruction reads, one after another: values of `bytes`, or fewer than `bytes` of a register.
class Operands {
 public:
  Operands(const Warp& warp, const Instruction& in, std::span<const RegisterBits> marked)
      : warp_(warp), in_(in), marked_(marked) {}

  /// The marked bits of the next one. Nothing when the marks do not go with the operands.
  bool take(Lanes& bits, Lanes& values, std::size_t bytes) {
    const Place place = in_.op[next_++];
    values = values_of(warp_, place, bytes);
    bits = {};
    if (is_constant(place)) return true;
    const std::size_t words = bytes == 8 ? 2 : 1;
    if (marked_.size() < words) return false;
    for (std::size_t lane = 0; lane < 32; ++lane)
      bits[lane] = marked_[0][lane] | (words == 2 ? std::uint64_t{marked_[1][lane]} << 32 : 0);
    marked_ = marked_.subspan(words);
    return true;
  }
  /// An amount that no mark is in.
  bool take_amount(Lanes& values) {
    Lanes bits;
    return take(bits, values, 4) && std::ranges::all_of(bits, [](std::uint64_t lane) { return lane == 0; });
  }

 private:
  const Warp& warp_;
  const Instruction& in_;
  std::span<const RegisterBits> marked_;
  std::size_t next_ = 1;
};

/// Integers: the low bytes are kept, those above are copies of the sign or zero.
Result extended(std::span<const RegisterBits> marked, std::size_t writes, ptx::Type from, std::size_t to_bytes) {
  const std::size_t width = 8 * bytes_of(from);
  Lanes bits{};
  for (std::size_t lane = 0; lane < 32; ++lane) {
    for (std::size_t i = 0; i < std::min<std::size_t>(marked.size(), 2); ++i)
      bits[lane] |= std::uint64_t{marked[i][lane]} << 32 * i;
    const bool sign = width != 0 && (bits[lane] >> (width - 1) & 1u) != 0 && ptx::is_signed(from);
    bits[lane] = (bits[lane] & ones(width)) | (sign ? ~ones(width) : 0);
  }
  return split(bits, to_bytes, writes);
}

/// mov: as many bytes on either side, in registers of equal size.
Result packed(std::span<const RegisterBits> marked, std::size_t writes, std::string_view opcode) {
  const std::size_t bytes = bytes_of(type_of(opcode, 0));
  if (bytes == 0 || marked.empty() || writes == 0) return std::nullopt;
  const auto each = [&](std::size_t registers) { return std::clamp<std::size_t>(bytes / registers, 1, 4); };
  const std::size_t from = each(marked.size()), to = each(writes);
  std::vector<RegisterBits> result(writes);
  for (std::size_t i = 0; i < bytes && i / to < writes && i / from < marked.size(); ++i)
    for (std::size_t lane = 0; lane < 32; ++lane)
      result[i / to][lane] |= (marked[i / from][lane] >> 8 * (i % from) & 255u) << 8 * (i % to);
  return result;
}

/// selp: a lane takes one of two, which may be numbers.
Result selected(const Warp& warp, const Instruction& in, std::span<const RegisterBits> marked, std::size_t writes,
                std::size_t bytes) {
  Operands operands(warp, in, marked);
  Lanes first, second, value;
  if (!operands.take(first, value, bytes) || !operands.take(second, value, bytes)) return std::nullopt;
  const std::size_t taken = (is_constant(in.op[1]) ? 0 : writes) + (is_constant(in.op[2]) ? 0 : writes);
  if (marked.size() > taken && lanes_of(marked.back()) != 0) return std::nullopt;
  const std::uint32_t chosen = get_predicate(warp, in.op[3]);
  for (std::size_t lane = 0; lane < 32; ++lane)
    if ((chosen >> lane & 1u) == 0) first[lane] = second[lane];
  return split(first, bytes, writes);
}

/// and, or, xor, lop3: bit `abc` of the table is the result for those bits of three operands. Unknown bits are 0 or 1.
/// A result depends on marked ones if two rows that may be, and that differ in such operands alone, give different
/// ones.
Result logic(const Warp& warp, const Instruction& in, std::span<const RegisterBits> marked,
             std::span<const RegisterBits> unknown, std::size_t writes, std::size_t bytes, std::uint32_t table,
             std::size_t count) {
  Operands all(warp, in, unknown), some(warp, in, marked);
  std::array<Lanes, 3> open{}, bits{}, values{};
  for (std::size_t i = 3 - count; i < 3; ++i)
    if (!all.take(open[i], values[i], bytes) || !some.take(bits[i], values[i], bytes)) return std::nullopt;
  Lanes result{};
  for (std::size_t lane = 0; lane < 32; ++lane) {
    std::array<std::uint64_t, 8> may_be;
    for (std::uint32_t row = 0; row < 8; ++row) {
      may_be[row] = ~0ull;
      for (std::size_t i = 0; i < 3; ++i)
        may_be[row] &= open[i][lane] | ((row >> (2 - i) & 1u) != 0 ? values[i][lane] : ~values[i][lane]);
      for (std::uint32_t other = 0; other < row; ++other) {
        if ((table >> row & 1u) == (table >> other & 1u)) continue;
        std::uint64_t depends = may_be[row] & may_be[other];
        for (std::size_t i = 0; i < 3; ++i)
          if (((row ^ other) >> (2 - i) & 1u) != 0) depends &= bits[i][lane];
        result[lane] |= depends;
      }
    }
  }
  return split(result, bytes, writes);
}

/// shl, shr
Result shifted(const Warp& warp, const Instruction& in, std::span<const RegisterBits> marked, std::size_t writes,
               ptx::Type type, bool left) {
  const std::size_t bytes = bytes_of(type), width = 8 * bytes;
  Operands operands(warp, in, marked);
  Lanes bits, value, by;
  if (!operands.take(bits, value, bytes) || !operands.take_amount(by)) return std::nullopt;
  for (std::size_t lane = 0; lane < 32; ++lane) {
    const std::size_t amount = std::min<std::size_t>(by[lane], width);
    const bool sign = ptx::is_signed(type) && (bits[lane] >> (width - 1) & 1u) != 0;
    const std::uint64_t above = sign && !left ? ~ones(width - amount) : 0;
    bits[lane] = amount == 64 ? above : (left ? bits[lane] << amount : bits[lane] >> amount) | above;
  }
  return split(bits, bytes, writes);
}

/// bfe of unsigned numbers
Result extracted(const Warp& warp, const Instruction& in, std::span<const RegisterBits> marked, std::size_t writes,
                 std::size_t bytes) {
  Operands operands(warp, in, marked);
  Lanes bits, value, at, length;
  if (!operands.take(bits, value, bytes) || !operands.take_amount(at) || !operands.take_amount(length))
    return std::nullopt;
  for (std::size_t lane = 0; lane < 32; ++lane)
    bits[lane] = (at[lane] & 255u) >= 64 ? 0 : bits[lane] >> (at[lane] & 255u) & ones(length[lane] & 255u);
  return split(bits, bytes, writes);
}

/// bfi
Result inserted(const Warp& warp, const Instruction& in, std::span<const RegisterBits> marked, std::size_t writes,
                std::size_t bytes) {
  Operands operands(warp, in, marked);
  Lanes field, into, value, at, length;
  if (!operands.take(field, value, bytes) || !operands.take(into, value, bytes) || !operands.take_amount(at) ||
      !operands.take_amount(length))
    return std::nullopt;
  for (std::size_t lane = 0; lane < 32; ++lane) {
    const std::uint64_t shift = at[lane] & 255u;
    const std::uint64_t kept = shift >= 64 ? 0 : ones(length[lane] & 255u) << shift;
    into[lane] = (into[lane] & ~kept) | (shift >= 64 ? 0 : field[lane] << shift & kept);
  }
  return split(into, bytes, writes);
}

/// prmt: bytes of two words, in an order without marks. A nibble's top bit repeats the byte's sign.
Result permuted(const Warp& warp, const Instruction& in, std::span<const RegisterBits> marked) {
  Operands operands(warp, in, marked);
  Lanes low, high, value, order;
  if (!operands.take(low, value, 4) || !operands.take(high, value, 4) || !operands.take_amount(order))
    return std::nullopt;
  Lanes result{};
  for (std::size_t lane = 0; lane < 32; ++lane) {
    const std::uint64_t both = high[lane] << 32 | low[lane];
    for (std::size_t i = 0; i < 4; ++i) {
      const std::uint64_t wanted = order[lane] >> 4 * i & 15u, byte = both >> 8 * (wanted & 7u) & 255u;
      result[lane] |= ((wanted & 8u) == 0 ? byte : byte >> 7 != 0 ? 255u : 0u) << 8 * i;
    }
  }
  return split(result, 4, 1);
}

}  // namespace

std::optional<std::vector<RegisterBits>> moved_bits(const Warp& warp, const Instruction& in, std::string_view opcode,
                                                    std::span<const RegisterBits> marked,
                                                    std::span<const RegisterBits> unknown, std::size_t writes) {
  const std::string_view name = opcode.substr(0, opcode.find('.'));
  const ptx::Type type = type_of(opcode, 0);
  const std::size_t bytes = bytes_of(type);
  if (name == "mov") return packed(marked, writes, opcode);
  if (name == "cvt") {
    const ptx::Type to = type_of(opcode, 1);
    const bool whole = !ptx::is_float(type) && !ptx::is_float(to) && opcode.find(".sat") == std::string_view::npos;
    if (!whole || to == ptx::Type::none) return std::nullopt;
    return extended(marked, writes, type, bytes_of(to));
  }
  // What the decoder adds to a load or store: the value in a wider or narrower register.
  if (name == "ld" || name == "ldu" || name == "st") return extended(marked, writes, type, 8);
  if (bytes == 0 || bytes > 4 * writes) return std::nullopt;
  if (name == "selp") return selected(warp, in, marked, writes, bytes);
  const auto by_table = [&](std::uint32_t table, std::size_t count) {
    return logic(warp, in, marked, unknown, writes, bytes, table, count);
  };
  if (name == "and") return by_table(0x88, 2);
  if (name == "or") return by_table(0xee, 2);
  if (name == "xor") return by_table(0x66, 2);
  if (opcode == "lop3.b32") return by_table(static_cast<std::uint32_t>(in.immediate), 3);
  if (name == "not") return packed(marked, writes, opcode);
  if (name == "shl" || name == "shr") return shifted(warp, in, marked, writes, type, name == "shl");
  if (opcode == "prmt.b32") return permuted(warp, in, marked);
  if (name == "bfe" && !ptx::is_signed(type)) return extracted(warp, in, marked, writes, bytes);
  if (name == "bfi") return inserted(warp, in, marked, writes, bytes);
  return std::nullopt;
}

Way way_through(const Warp& warp, const Instruction& in, std::string_view opcode, std::span<const RegisterBits> marked,
                std::span<const RegisterBits> result) {
  const std::string_view name = opcode.substr(0, opcode.find('.'));
  const auto whole = [&](Place place) { return is_constant(place) && warp.row(place)[0] % 8 == 0; };
  if (name == "shl" || name == "shr") return {!whole(in.op[2]), true};
  if (name == "bfe") return {!whole(in.op[2]) || !whole(in.op[3]), true};
  if (name == "bfi") {
    const auto is_marked = [](const RegisterBits& bits) { return lanes_of(bits) != 0; };
    const bool moved = !is_constant(in.op[1]) && std::ranges::any_of(marked.first(result.size()), is_marked);
    return {!whole(in.op[3]) || !whole(in.op[4]), moved};
  }
  if (name != "and" && name != "or" && name != "xor" && name != "lop3") return {};
  for (std::size_t lane = 0; lane < 32; ++lane) {
    for (std::size_t i = 0; i < result.size(); ++i) {
      std::uint32_t before = 0;
      for (std::size_t from = i; from < marked.size(); from += result.size()) before |= marked[from][lane];
      for (const std::uint32_t byte : {0xffu, 0xff00u, 0xff0000u, 0xff000000u})
        if ((result[i][lane] & byte) != 0 && ((before & ~result[i][lane]) & byte) != 0) return {true, false};
    }
  }
  return {};
}

Elements elements_of(std::string_view opcode, std::size_t bytes) {
  // A texel has as many channels as its format.
  if (opcode.starts_with("tex.") || opcode.starts_with("tld4.")) return {1, bytes};
  std::size_t count = 1;
  if (opcode.find(".v2") != std::string_view::npos || opcode.ends_with(".b128")) count = 2;
  if (opcode.find(".v4") != std::string_view::npos) count = 4;
  return {count, bytes / count};
}

}  // namespace evo::vgpu
