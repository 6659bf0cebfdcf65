#include <algorithm>
#include <array>
#include <bit>
#include <string>

#include "evaluator/vgpu/isa/operations.h"

// PTX ISA 9.0, 9.7.18 "Scalar Video Instructions" and 9.7.19 "Video Instructions". GPUs of sm_80 to sm_90a
// have no such instructions: ptxas 13.0 writes routines in their place. In some forms these differ from the ISA's
// text. The code here gives the results of ptxas; a comment that says "ptxas" marks a difference.
namespace evo::vgpu {
namespace {

using ptx::Type;

enum class Video : std::uint32_t { add, sub, absdiff, min, max, average, lt, le, gt, ge, eq, ne, shl, shr };
/// The secondary operation: .add sums all parts and C, .min and .max (scalar forms) compare with C,
/// `merge` puts a part into C.
enum class Then : std::uint32_t { nothing, add, min, max, merge };

/// Instruction::aux1.
struct VideoForm {
  Video op : 4 = Video::add;
  Then then : 3 = Then::nothing;
  std::uint32_t parts : 3 = 1;  ///< 1, 2 or 4.
  bool signed_d : 1 = false, signed_a : 1 = false, signed_b : 1 = false;
  bool saturates : 1 = false;
  bool wraps : 1 = false;  ///< Shifts: the count, instead of being clamped.
  std::uint32_t unused : 17 = 0;
};

/// A byte or half of a register in a scalar form, or all of it.
struct Part {
  std::uint8_t shift = 0, bits = 32;
};
/// Of a, b and d. Instruction::immediate.
using Parts = std::array<Part, 4>;

std::int64_t extended(std::uint32_t bits, int width, bool is_signed) {
  const std::uint64_t value = width == 32 ? bits : bits & ((1u << width) - 1);
  if (!is_signed || (value >> (width - 1) & 1u) == 0) return static_cast<std::int64_t>(value);
  return static_cast<std::int64_t>(value) - (std::int64_t{1} << width);
}

std::int64_t applied(Video op, std::int64_t a, std::int64_t b) {
  switch (op) {
    case Video::add:
      return a + b;
    case Video::sub:
      return a - b;
    case Video::absdiff:
      return a > b ? a - b : b - a;
    case Video::min:
      return std::min(a, b);
    case Video::max:
      return std::max(a, b);
    case Video::average:
      return (a + b + (a + b >= 0 ? 1 : 0)) >> 1;
    case Video::lt:
      return a < b ? 1 : 0;
    case Video::le:
      return a <= b ? 1 : 0;
    case Video::gt:
      return a > b ? 1 : 0;
    case Video::ge:
      return a >= b ? 1 : 0;
    case Video::eq:
      return a == b ? 1 : 0;
    case Video::ne:
      return a != b ? 1 : 0;
    case Video::shl:
      return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) << b);
    case Video::shr:
      return a >> b;
  }
  return 0;
}

std::int64_t part_of(std::uint32_t value, Part part, bool is_signed) {
  return extended(value >> part.shift, part.bits, is_signed);
}

std::int64_t extended_34(std::int64_t value) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(value) << 30) >> 30;
}

std::int64_t saturated(std::int64_t value, int width, bool is_signed) {
  const std::int64_t least = is_signed ? -(std::int64_t{1} << (width - 1)) : 0;
  const std::int64_t greatest = (std::int64_t{1} << (is_signed ? width - 1 : width)) - 1;
  return std::clamp(value, least, greatest);
}

/// Saturates a result for a part of d, or for all of it. ptxas saturates the 34-bit result of a shift to 32 bits,
/// whatever the part. It clamps other results for a part only from above, as unsigned numbers, and unsigned 32-bit
/// results only from below.
std::int64_t saturated_scalar(Video op, std::int64_t value, Part part, bool is_signed) {
  if (op == Video::shl || op == Video::shr) return saturated(extended_34(value), 32, is_signed);
  if (part.bits < 32) {
    const std::uint64_t greatest = (1u << (is_signed ? part.bits - 1 : part.bits)) - 1;
    return static_cast<std::int64_t>(std::min(static_cast<std::uint64_t>(value), greatest));
  }
  return is_signed ? saturated(value, 32, true) : std::max<std::int64_t>(value, 0);
}

/// The secondary operation on a result and C. ptxas compares 64 bits of the result.
std::uint32_t followed(const VideoForm& form, std::int64_t result, std::uint32_t c) {
  const auto bits = static_cast<std::uint32_t>(result);
  const bool less = form.signed_d ? result < static_cast<std::int32_t>(c) : static_cast<std::uint64_t>(result) < c;
  if (form.then == Then::add) return bits + c;
  if (form.then == Then::min) return less ? bits : c;
  if (form.then == Then::max) return less ? c : bits;
  return bits;
}

/// C with a byte or half of the result. ptxas puts the upper half of it into .h1.
std::uint32_t merged(std::uint32_t result, Part part, std::uint32_t c) {
  const bool upper_half = part.shift == 16 && part.bits == 16;
  const std::uint32_t field = ((1u << part.bits) - 1) << part.shift;
  return (c & ~field) | ((upper_half ? result : result << part.shift) & field);
}

/// op: d, a, b, c: d = f(a, b, c) in each lane of the mask.
template <class F>
void map_three(Warp& warp, const Instruction& in, std::uint32_t mask, F f) {
  Word* d = warp.own(in.op[0]);
  const Word* a = warp.row(in.op[1]);
  const Word* b = warp.row(in.op[2]);
  const Word* c = warp.row(in.op[3]);
  for (const int lane : lanes_of(mask)) {
    d[lane] = f(a[lane], b[lane], c[lane]);
  }
}

/// op: d, a, b, c.
void execute_scalar_video(Warp& warp, const Instruction& in, std::uint32_t mask) {
  const VideoForm form = std::bit_cast<VideoForm>(in.aux1);
  const auto parts = std::bit_cast<Parts>(in.immediate);
  const Part of_a = parts[0], of_b = parts[1], of_d = parts[2];
  const bool shifts = form.op == Video::shl || form.op == Video::shr;
  map_three(warp, in, mask, [&](Word a, Word b, Word c) -> Word {
    std::int64_t right = part_of(b, of_b, form.signed_b);
    if (shifts) right = form.wraps ? right & 31 : std::min<std::int64_t>(right, 32);
    std::int64_t value = applied(form.op, part_of(a, of_a, form.signed_a), right);
    if (form.saturates) value = saturated_scalar(form.op, value, of_d, form.signed_d);
    // ptxas: sums and differences have 32 bits.
    if (form.op == Video::add || form.op == Video::sub) value = static_cast<std::int32_t>(value);
    return form.then == Then::merge ? merged(static_cast<std::uint32_t>(value), of_d, c) : followed(form, value, c);
  });
}

/// vmad. Instruction::immediate.
struct MadForm {
  Part a, b;
  bool negates_product = false, negates_c = false, plus_one = false;
  std::uint8_t shift = 0;
};

/// ptxas multiplies and adds signed numbers. The signs of the operands, not of d, decide whether it shifts and
/// saturates signed numbers.
void execute_video_mad(Warp& warp, const Instruction& in, std::uint32_t mask) {
  const VideoForm form = std::bit_cast<VideoForm>(in.aux1);
  const MadForm mad = std::bit_cast<MadForm>(in.immediate);
  const bool is_signed = form.signed_a || form.signed_b || mad.negates_product || mad.negates_c;
  map_three(warp, in, mask, [&](Word a, Word b, Word c) -> Word {
    const auto x = static_cast<std::int32_t>(part_of(a, mad.a, form.signed_a));
    const auto y = static_cast<std::int32_t>(part_of(b, mad.b, form.signed_b));
    const auto product = static_cast<std::uint64_t>(std::int64_t{x} * y);
    const auto third = static_cast<std::uint64_t>(static_cast<std::int32_t>(c));
    const std::uint64_t sum =
        (mad.negates_product ? 0 - product : product) + (mad.negates_c ? 0 - third : third) + (mad.plus_one ? 1 : 0);
    const auto value =
        is_signed ? static_cast<std::int64_t>(sum) >> mad.shift : static_cast<std::int64_t>(sum >> mad.shift);
    return static_cast<Word>(form.saturates ? saturated(value, 32, is_signed) : value);
  });
}

/// The parts of a packed operand: each is one of the two registers' parts. `order` has 4 bits for each.
std::uint32_t selected(std::uint32_t a, std::uint32_t b, std::uint32_t order, std::uint32_t parts) {
  const int width = 32 / static_cast<int>(parts);
  const std::uint64_t both = std::uint64_t{b} << 32 | a;
  std::uint32_t result = 0;
  for (std::uint32_t i = 0; i < parts; ++i) {
    const int from = static_cast<int>(order >> (4 * i) & 15u) * width;
    result |= (static_cast<std::uint32_t>(both >> from) & ((1u << width) - 1)) << (static_cast<int>(i) * width);
  }
  return result;
}

std::uint32_t packed_result(const VideoForm& form, std::uint32_t chosen, std::uint32_t a, std::uint32_t b,
                            std::uint32_t c) {
  const int width = 32 / static_cast<int>(form.parts);
  std::uint32_t packed = form.then == Then::add ? 0 : c;
  std::uint32_t sum = c;
  for (std::uint32_t i = 0; i < form.parts; ++i) {
    if ((chosen >> i & 1u) == 0) continue;
    const int shift = static_cast<int>(i) * width;
    std::int64_t value =
        applied(form.op, extended(a >> shift, width, form.signed_a), extended(b >> shift, width, form.signed_b));
    if (form.saturates) value = saturated(value, width, form.signed_d);
    const std::uint32_t field = (1u << width) - 1, bits = static_cast<std::uint32_t>(value) & field;
    packed = (packed & ~(field << shift)) | bits << shift;
    sum += static_cast<std::uint32_t>(value);  // All of it, not what fits the part.
  }
  return form.then == Then::add ? sum : packed;
}

/// op: d, a, b, c; orders of a and b and the mask in `immediate`.
void execute_packed_video(Warp& warp, const Instruction& in, std::uint32_t mask) {
  const VideoForm form = std::bit_cast<VideoForm>(in.aux1);
  const auto codes = static_cast<std::uint64_t>(in.immediate);
  const auto order_a = static_cast<std::uint32_t>(codes & 0xffffu),
             order_b = static_cast<std::uint32_t>(codes >> 16 & 0xffffu);
  const auto chosen = static_cast<std::uint32_t>(codes >> 32);
  map_three(warp, in, mask, [&](Word a, Word b, Word c) -> Word {
    const std::uint32_t x = selected(a, b, order_a, form.parts), y = selected(a, b, order_b, form.parts);
    return packed_result(form, chosen, x, y, c);
  });
}

bool take_sign(Form& form) {
  const Type type = form.type();
  if (ptx::bits_of(type) != 32 || ptx::is_float(type)) form.unsupported("type ." + std::string(ptx::name_of(type)));
  return ptx::is_signed(type);
}

Video named(Form& form, std::string_view name) {
  struct Named {
    std::string_view name;
    Video op;
  };
  static constexpr Named kNames[] = {{"vadd", Video::add}, {"vsub", Video::sub}, {"vabsdiff", Video::absdiff},
                                     {"vmin", Video::min}, {"vmax", Video::max}, {"vavrg", Video::average},
                                     {"lt", Video::lt},    {"le", Video::le},    {"gt", Video::gt},
                                     {"ge", Video::ge},    {"eq", Video::eq},    {"ne", Video::ne},
                                     {"vshl", Video::shl}, {"vshr", Video::shr}};
  for (const Named& known : kNames) {
    if (known.name == name) return known.op;
  }
  form.unsupported();
}

/// The operand without its part and sign, which the caller has read.
ptx::Operand bare(const ptx::Operand& operand) {
  ptx::Operand result = operand;
  result.name = {};
  if (result.kind == ptx::Operand::Kind::reg) result.negated = false;
  return result;
}

std::string_view selector_of(const ptx::Operand& operand) {
  return operand.kind == ptx::Operand::Kind::reg ? operand.name : std::string_view();
}

/// .b0 to .b3, .h0, .h1.
Part take_part(Form& form, const ptx::Operand& operand) {
  const std::string_view name = selector_of(operand);
  if (name.empty()) return {};
  const int bits = name[0] == 'b' ? 8 : 16;
  const int number = name.size() == 2 && (name[0] == 'b' || name[0] == 'h') ? name[1] - '0' : -1;
  if (number < 0 || number >= 32 / bits) form.unsupported("the part ." + std::string(name) + " of a register");
  return {static_cast<std::uint8_t>(number * bits), static_cast<std::uint8_t>(bits)};
}

/// .h10, .b3210: the highest part first; 4 bits for each part, the lowest first.
std::uint32_t take_order(Form& form, const ptx::Operand& operand, std::uint32_t parts, bool is_b) {
  std::string_view name = selector_of(operand);
  std::uint32_t order = 0;
  if (name.empty()) {
    for (std::uint32_t i = 0; i < parts; ++i) order |= (i + (is_b ? parts : 0)) << (4 * i);
    return order;
  }
  if (name.size() != parts + 1 || name[0] != (parts == 2 ? 'h' : 'b'))
    form.unsupported("the selector ." + std::string(name));
  for (std::uint32_t i = 0; i < parts; ++i) {
    const auto digit = static_cast<std::uint32_t>(name[parts - i] - '0');
    if (digit >= 2 * parts) form.unsupported("the selector ." + std::string(name));
    order |= digit << (4 * i);
  }
  return order;
}

/// .h0, .b310: the parts of d that are written.
std::uint32_t take_mask(Form& form, const ptx::Operand& operand, std::uint32_t parts) {
  const std::string_view name = selector_of(operand);
  if (name.empty()) return (1u << parts) - 1;
  std::uint32_t mask = 0;
  for (const char digit : name.substr(1)) {
    if (digit < '0' || digit >= static_cast<char>('0' + parts)) form.unsupported("the mask ." + std::string(name));
    mask |= 1u << (digit - '0');
  }
  return mask;
}

void take_registers(Form& form) {
  form.destination(bare(form.operand(0)), Type::b32);
  form.source(bare(form.operand(1)), Type::b32);
  form.source(bare(form.operand(2)), Type::b32);
  form.operand_count() > 3 ? form.source(bare(form.operand(3)), Type::b32) : form.constant(0, Type::b32);
}

void take_types(Form& form, VideoForm& video, bool compares) {
  if (!compares) video.signed_d = take_sign(form);
  video.signed_a = take_sign(form);
  video.signed_b = take_sign(form);
  video.saturates = form.take("sat");
}

void decode_video_mad(Form& form) {
  VideoForm video;
  take_types(form, video, false);
  const ptx::Operand &a = form.operand(1), &b = form.operand(2), &c = form.operand(3);
  MadForm mad{take_part(form, a), take_part(form, b), a.negated != b.negated, c.negated, form.take("po"), 0};
  if (form.take("shr7")) mad.shift = 7;
  if (form.take("shr15")) mad.shift = 15;
  take_registers(form);
  form.instruction().aux1 = std::bit_cast<std::uint32_t>(video);
  form.instruction().immediate = std::bit_cast<std::int64_t>(mad);
  form.emit(execute_video_mad, OpClass::integer, 3);
}

void decode_video(Form& form) {
  VideoForm video;
  std::string_view name = form.name();
  if (name == "vmad") return decode_video_mad(form);
  if (name.back() == '2' || name.back() == '4') {
    video.parts = static_cast<std::uint32_t>(name.back() - '0');
    name.remove_suffix(1);
  }
  const bool compares = name == "vset";
  take_types(form, video, compares);
  video.wraps = form.take("wrap");
  form.take("clamp");
  video.op = named(form, compares ? form.take_one_of({"lt", "le", "gt", "ge", "eq", "ne"}) : name);
  video.then = take_value(form, {{"add", Then::add}, {"min", Then::min}, {"max", Then::max}}, Then::nothing);
  const ptx::Operand &d = form.operand(0), &a = form.operand(1), &b = form.operand(2);
  if (video.parts == 1) {
    if (!selector_of(d).empty()) video.then = Then::merge;
    const Parts parts = {take_part(form, a), take_part(form, b), take_part(form, d)};
    form.instruction().immediate = std::bit_cast<std::int64_t>(parts);
  } else {
    form.instruction().immediate =
        static_cast<std::int64_t>(std::uint64_t{take_order(form, a, video.parts, false)} |
                                  std::uint64_t{take_order(form, b, video.parts, true)} << 16 |
                                  std::uint64_t{take_mask(form, d, video.parts)} << 32);
  }
  take_registers(form);
  form.instruction().aux1 = std::bit_cast<std::uint32_t>(video);
  form.emit(video.parts == 1 ? execute_scalar_video : execute_packed_video, OpClass::integer, video.parts == 1 ? 2 : 6);
}

}  // namespace

std::span<const Operation> video_operations() {
  static constexpr Operation kOperations[] = {
      {"vadd", Operands::any, decode_video},      {"vsub", Operands::any, decode_video},
      {"vabsdiff", Operands::any, decode_video},  {"vmin", Operands::any, decode_video},
      {"vmax", Operands::any, decode_video},      {"vset", Operands::any, decode_video},
      {"vshl", Operands::any, decode_video},      {"vshr", Operands::any, decode_video},
      {"vmad", Operands::any, decode_video},      {"vadd2", Operands::any, decode_video},
      {"vsub2", Operands::any, decode_video},     {"vabsdiff2", Operands::any, decode_video},
      {"vmin2", Operands::any, decode_video},     {"vmax2", Operands::any, decode_video},
      {"vavrg2", Operands::any, decode_video},    {"vset2", Operands::any, decode_video},
      {"vadd4", Operands::any, decode_video},     {"vsub4", Operands::any, decode_video},
      {"vabsdiff4", Operands::any, decode_video}, {"vmin4", Operands::any, decode_video},
      {"vmax4", Operands::any, decode_video},     {"vavrg4", Operands::any, decode_video},
      {"vset4", Operands::any, decode_video},
  };
  return kOperations;
}

}  // namespace evo::vgpu
