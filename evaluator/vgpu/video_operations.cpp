#include "evaluator/vgpu/video_operations.h"

#include <algorithm>
#include <bit>
#include <string>

#include "evaluator/vgpu/choose.h"

// PTX ISA 9.0, 9.7.18 "Scalar Video Instructions" and 9.7.19 "Video Instructions", without selectors on operands: what
// NVRTC makes of __vabsdiffu4() and its like.
namespace evo::vgpu {
namespace {

using ptx::Type;

enum class Video : std::uint32_t { add, sub, absdiff, min, max, average, lt, le, gt, ge, eq, ne };
/// What becomes of the result: .add sums all parts and C, .min and .max (scalar forms) compare with C.
enum class Then : std::uint32_t { nothing, add, min, max };

/// Instruction::aux1.
struct VideoForm {
  Video op = Video::add;
  Then then = Then::nothing;
  std::uint32_t parts = 1;  ///< 1, 2 or 4.
  bool signed_d = false, signed_a = false, signed_b = false;
  bool saturates = false;

  std::uint32_t encoded() const {
    return static_cast<std::uint32_t>(op) | static_cast<std::uint32_t>(then) << 4 | parts << 8 | (signed_d ? 1u << 12 : 0) |
           (signed_a ? 1u << 13 : 0) | (signed_b ? 1u << 14 : 0) | (saturates ? 1u << 15 : 0);
  }
  static VideoForm decoded(std::uint32_t code) {
    VideoForm form;
    form.op = static_cast<Video>(code & 15u);
    form.then = static_cast<Then>(code >> 4 & 3u);
    form.parts = code >> 8 & 7u;
    form.signed_d = (code >> 12 & 1u) != 0;
    form.signed_a = (code >> 13 & 1u) != 0;
    form.signed_b = (code >> 14 & 1u) != 0;
    form.saturates = (code >> 15 & 1u) != 0;
    return form;
  }
};

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
  }
  return 0;
}

std::uint32_t result_of(const VideoForm& form, std::uint32_t a, std::uint32_t b, std::uint32_t c) {
  const int width = 32 / static_cast<int>(form.parts);
  const std::int64_t least = form.signed_d ? -(std::int64_t{1} << (width - 1)) : 0;
  const std::int64_t greatest = (std::int64_t{1} << (form.signed_d ? width - 1 : width)) - 1;
  std::uint32_t packed = 0;
  std::uint32_t sum = c;
  for (std::uint32_t i = 0; i < form.parts; ++i) {
    const int shift = static_cast<int>(i) * width;
    std::int64_t value = applied(form.op, extended(a >> shift, width, form.signed_a), extended(b >> shift, width, form.signed_b));
    if (form.saturates) value = std::clamp(value, least, greatest);
    const auto bits = static_cast<std::uint32_t>(value) & (width == 32 ? ~0u : (1u << width) - 1);
    packed |= bits << shift;
    sum += form.parts == 1 ? bits : static_cast<std::uint32_t>(extended(bits, width, form.signed_d));
  }
  const auto less = [&] {
    return form.signed_d ? static_cast<std::int32_t>(packed) < static_cast<std::int32_t>(c) : packed < c;
  };
  switch (form.then) {
    case Then::add:
      return sum;
    case Then::min:
      return less() ? packed : c;
    case Then::max:
      return less() ? c : packed;
    case Then::nothing:
      break;
  }
  return packed;
}

/// op: d, a, b, c.
void execute_video(Warp& warp, const Instruction& in, std::uint32_t mask) {
  const VideoForm form = VideoForm::decoded(in.aux1);
  Word* d = warp.own(in.op[0]);
  const Word* a = warp.row(in.op[1]);
  const Word* b = warp.row(in.op[2]);
  const Word* c = warp.row(in.op[3]);
  for (std::uint32_t left = mask; left != 0; left &= left - 1) {
    const int lane = std::countr_zero(left);
    d[lane] = result_of(form, a[lane], b[lane], c[lane]);
  }
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
  static constexpr Named kNames[] = {{"vadd", Video::add},     {"vsub", Video::sub}, {"vabsdiff", Video::absdiff},
                                     {"vmin", Video::min},     {"vmax", Video::max}, {"vavrg", Video::average},
                                     {"lt", Video::lt},        {"le", Video::le},    {"gt", Video::gt},
                                     {"ge", Video::ge},        {"eq", Video::eq},    {"ne", Video::ne}};
  for (const Named& known : kNames) {
    if (known.name == name) return known.op;
  }
  form.unsupported();
}

void decode_video(Form& form) {
  VideoForm video;
  std::string_view name = form.name();
  if (name.back() == '2' || name.back() == '4') {
    video.parts = static_cast<std::uint32_t>(name.back() - '0');
    name.remove_suffix(1);
  }
  const bool compares = name == "vset";
  if (!compares) video.signed_d = take_sign(form);
  video.signed_a = take_sign(form);
  video.signed_b = take_sign(form);
  video.saturates = form.take("sat");
  video.op = named(form, compares ? form.take_one_of({"lt", "le", "gt", "ge", "eq", "ne"}) : name);
  const std::string_view then = form.take_one_of({"add", "min", "max"});
  if (then == "add") video.then = Then::add;
  if (then == "min") video.then = Then::min;
  if (then == "max") video.then = Then::max;
  form.destination(0, Type::b32);
  form.source(1, Type::b32);
  form.source(2, Type::b32);
  if (form.operand_count() > 3) {
    form.source(3, Type::b32);
  } else {
    form.constant(0, Type::b32);
  }
  form.instruction().aux1 = video.encoded();
  form.emit(execute_video, OpClass::integer, video.parts == 1 ? 2 : 6);
}

constexpr Operation kOperations[] = {
    {"vadd", Operands::any, decode_video},      {"vsub", Operands::any, decode_video},
    {"vabsdiff", Operands::any, decode_video},  {"vmin", Operands::any, decode_video},
    {"vmax", Operands::any, decode_video},      {"vset", Operands::any, decode_video},
    {"vadd2", Operands::any, decode_video},     {"vsub2", Operands::any, decode_video},
    {"vabsdiff2", Operands::any, decode_video}, {"vmin2", Operands::any, decode_video},
    {"vmax2", Operands::any, decode_video},     {"vavrg2", Operands::any, decode_video},
    {"vset2", Operands::any, decode_video},     {"vadd4", Operands::any, decode_video},
    {"vsub4", Operands::any, decode_video},     {"vabsdiff4", Operands::any, decode_video},
    {"vmin4", Operands::any, decode_video},     {"vmax4", Operands::any, decode_video},
    {"vavrg4", Operands::any, decode_video},    {"vset4", Operands::any, decode_video},
};

}  // namespace

std::span<const Operation> video_operations() {
  return kOperations;
}

}  // namespace evo::vgpu
