#include "evaluator/vgpu/sanitiser/byte_moves.h"

#include <algorithm>

#include "evaluator/vgpu/machine/lanes.h"
#include "evaluator/vgpu/ptx/ptx.h"

namespace evo::vgpu {
namespace {

using Result = std::optional<std::vector<RegisterBytes>>;

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

/// Bytes of several registers in a row, `each` of every register.
class Bytes {
 public:
  Bytes(std::span<const RegisterBytes> registers, std::size_t each) : registers_(registers), each_(each) {}
  std::uint32_t at(std::size_t i) const { return i / each_ < registers_.size() ? registers_[i / each_][i % each_] : 0; }

 private:
  std::span<const RegisterBytes> registers_;
  std::size_t each_;
};

/// The low bytes are kept, those above are copies of the sign or zero.
Result extended(std::span<const RegisterBytes> marked, std::size_t writes, ptx::Type from, std::size_t to_bytes) {
  const Bytes source(marked, 4);
  const std::size_t from_bytes = bytes_of(from);
  std::vector<RegisterBytes> result(writes);
  for (std::size_t i = 0; i < std::min(writes * 4, to_bytes); ++i) {
    if (i < from_bytes)
      result[i / 4][i % 4] = source.at(i);
    else if (ptx::is_signed(from))
      result[i / 4][i % 4] = source.at(from_bytes - 1);
  }
  return result;
}

/// mov: as many bytes on either side, in registers of equal size.
Result packed(std::span<const RegisterBytes> marked, std::size_t writes, std::string_view opcode) {
  const std::size_t bytes = bytes_of(type_of(opcode, 0));
  if (bytes == 0 || marked.empty() || writes == 0) return std::nullopt;
  const auto each = [&](std::size_t registers) { return std::clamp<std::size_t>(bytes / registers, 1, 4); };
  const Bytes source(marked, each(marked.size()));
  const std::size_t size = each(writes);
  std::vector<RegisterBytes> result(writes);
  for (std::size_t i = 0; i < bytes && i / size < writes; ++i) result[i / size][i % size] = source.at(i);
  return result;
}

/// selp: a lane takes one of two, which may be numbers.
Result selected(const Warp& warp, const Instruction& in, std::span<const RegisterBytes> marked, std::size_t writes) {
  const std::size_t first = is_constant(in.op[1]) ? 0 : writes, second = is_constant(in.op[2]) ? 0 : writes;
  if (marked.size() > first + second + 1 || marked.size() < first + second) return std::nullopt;
  const bool depends = marked.size() > first + second && lanes_of(marked.back()) != 0;
  if (depends) return std::nullopt;
  const std::uint32_t chosen = get_predicate(warp, in.op[3]);
  std::vector<RegisterBytes> result(writes);
  for (std::size_t i = 0; i < writes; ++i) {
    for (std::size_t byte = 0; byte < 4; ++byte) {
      if (first != 0) result[i][byte] |= marked[i][byte] & chosen;
      if (second != 0) result[i][byte] |= marked[first + i][byte] & ~chosen;
    }
  }
  return result;
}

std::uint64_t constant_at(const Warp& warp, Place place, std::size_t bytes) {
  return bytes == 8 ? source_row<std::uint64_t>(warp, place)[0] : warp.row(place)[0];
}

/// and: whole bytes of a constant mask.
Result masked(const Warp& warp, const Instruction& in, std::span<const RegisterBytes> marked, std::size_t writes,
              std::size_t bytes) {
  const Place mask_at = is_constant(in.op[1]) ? in.op[1] : in.op[2];
  if (!is_constant(mask_at) || marked.size() != writes) return std::nullopt;
  const std::uint64_t mask = constant_at(warp, mask_at, bytes);
  std::vector<RegisterBytes> result(writes);
  for (std::size_t i = 0; i < bytes; ++i) {
    const std::uint64_t kept = mask >> 8 * i & 0xff;
    if (kept == 0 || marked[i / 4][i % 4] == 0) continue;
    if (kept != 0xff) return std::nullopt;
    result[i / 4][i % 4] = marked[i / 4][i % 4];
  }
  return result;
}

/// or: what has been put together from parts.
Result joined_bytes(std::span<const RegisterBytes> marked, std::size_t writes) {
  std::vector<RegisterBytes> result(writes);
  for (std::size_t i = 0; i < marked.size(); ++i)
    for (std::size_t byte = 0; byte < 4; ++byte) result[i % writes][byte] |= marked[i][byte];
  return result;
}

/// shl, shr: by a constant number of whole bytes.
Result shifted(const Warp& warp, const Instruction& in, std::span<const RegisterBytes> marked, std::size_t writes,
               std::size_t bytes, bool left) {
  if (is_constant(in.op[1]) || !is_constant(in.op[2]) || marked.size() != writes) return std::nullopt;
  const std::size_t bits = warp.row(in.op[2])[0];
  if (bits % 8 != 0) return std::nullopt;
  std::vector<RegisterBytes> result(writes);
  for (std::size_t i = 0; i < bytes; ++i) {
    const std::size_t from = left ? i - bits / 8 : i + bits / 8;
    if (from < bytes) result[i / 4][i % 4] = marked[from / 4][from % 4];
  }
  return result;
}

/// prmt: bytes of two words, in a constant order.
Result permuted(const Warp& warp, const Instruction& in, std::span<const RegisterBytes> marked) {
  if (!is_constant(in.op[3])) return std::nullopt;
  const std::uint32_t order = warp.row(in.op[3])[0];
  RegisterBytes result{};
  for (std::size_t i = 0; i < 4; ++i) {
    const std::uint32_t wanted = order >> 4 * i & 15u;
    const std::size_t operand = (wanted & 7u) / 4;
    if (is_constant(in.op[1 + operand])) continue;
    const std::size_t at = operand == 0 || is_constant(in.op[1]) ? 0 : 1;
    if (at < marked.size()) result[i] = marked[at][wanted & 3u];
  }
  return std::vector<RegisterBytes>{result};
}

/// bfe: a field of whole bytes.
Result extracted(const Warp& warp, const Instruction& in, std::span<const RegisterBytes> marked, std::size_t writes,
                 std::size_t bytes) {
  if (is_constant(in.op[1]) || !is_constant(in.op[2]) || !is_constant(in.op[3])) return std::nullopt;
  if (marked.size() != writes) return std::nullopt;
  const std::size_t begin = warp.row(in.op[2])[0], length = warp.row(in.op[3])[0];
  if (begin % 8 != 0 || length % 8 != 0) return std::nullopt;
  std::vector<RegisterBytes> result(writes);
  for (std::size_t i = 0; i < std::min(bytes, length / 8); ++i) {
    const std::size_t from = i + begin / 8;
    if (from < bytes) result[i / 4][i % 4] = marked[from / 4][from % 4];
  }
  return result;
}

}  // namespace

std::optional<std::vector<RegisterBytes>> moved_bytes(const Warp& warp, const Instruction& in, std::string_view opcode,
                                                      std::span<const RegisterBytes> marked, std::size_t writes) {
  const std::string_view name = opcode.substr(0, opcode.find('.'));
  const ptx::Type type = type_of(opcode, 0);
  const std::size_t bytes = bytes_of(type);
  if (name == "mov") return packed(marked, writes, opcode);
  if (name == "selp") return selected(warp, in, marked, writes);
  if (name == "cvt") {
    const ptx::Type to = type_of(opcode, 1);
    const bool whole = !ptx::is_float(type) && !ptx::is_float(to) && opcode.find(".sat") == std::string_view::npos;
    if (!whole || to == ptx::Type::none) return std::nullopt;
    return extended(marked, writes, type, bytes_of(to));
  }
  // What the decoder adds to a load or store: the value in a wider or narrower register.
  if (name == "ld" || name == "ldu" || name == "st") return extended(marked, writes, type, 8);
  if (bytes == 0 || bytes > 4 * writes) return std::nullopt;
  if (name == "and") return masked(warp, in, marked, writes, bytes);
  if (name == "or") return joined_bytes(marked, writes);
  if (name == "shl") return shifted(warp, in, marked, writes, bytes, true);
  if (name == "shr" && !ptx::is_signed(type)) return shifted(warp, in, marked, writes, bytes, false);
  if (opcode == "prmt.b32") return permuted(warp, in, marked);
  if (name == "bfe" && !ptx::is_signed(type)) return extracted(warp, in, marked, writes, bytes);
  return std::nullopt;
}

Elements elements_of(std::string_view opcode, std::size_t bytes) {
  std::size_t count = 1;
  if (opcode.find(".v2") != std::string_view::npos || opcode.ends_with(".b128")) count = 2;
  if (opcode.find(".v4") != std::string_view::npos) count = 4;
  return {count, bytes / count};
}

}  // namespace evo::vgpu
