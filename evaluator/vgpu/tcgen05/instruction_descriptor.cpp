#include "evaluator/vgpu/tcgen05/instruction_descriptor.h"

#include <fmt/core.h>

#include <array>

namespace evo::vgpu {
namespace {

constexpr std::array<std::string_view, 7> kTensorKinds = {"f16",      "tf32", "f8f6f4",  "i8",
                                                          "mxf8f6f4", "mxf4", "mxf4nvf4"};
constexpr std::array<std::string_view, 12> kTensorFormats = {"f16",  "bf16", "tf32", "e4m3", "e5m2", "e2m3",
                                                             "e3m2", "e2m1", "u8",   "s8",   "f32",  "s32"};

std::optional<TensorFormat> operand_format(TensorKind kind, std::uint32_t code) {
  constexpr std::optional<TensorFormat> kNone;
  switch (kind) {
    case TensorKind::f16:
      return code == 0 ? std::optional(TensorFormat::f16) : code == 1 ? std::optional(TensorFormat::bf16) : kNone;
    case TensorKind::tf32:
      return code == 2 ? std::optional(TensorFormat::tf32) : kNone;
    case TensorKind::i8:
      return code == 0 ? std::optional(TensorFormat::u8) : code == 1 ? std::optional(TensorFormat::s8) : kNone;
    case TensorKind::mxf4:
    case TensorKind::mxf4nvf4:
      return code == 1 ? std::optional(TensorFormat::e2m1) : kNone;
    default:
      break;
  }
  constexpr std::array<std::optional<TensorFormat>, 8> kSmall = {
      TensorFormat::e4m3, TensorFormat::e5m2, kNone, TensorFormat::e2m3,
      TensorFormat::e3m2, TensorFormat::e2m1, kNone, kNone};
  return kSmall[code];
}

/// Of D: f16, f32 or s32. Products with scale factors have f32 alone.
std::optional<TensorFormat> sum_format(const TensorShape& shape, std::uint32_t code) {
  if (is_block_scaled(shape.kind)) return TensorFormat::f32;
  if (shape.kind == TensorKind::i8) return code == 2 ? std::optional(TensorFormat::s32) : std::nullopt;
  if (code == 1) return TensorFormat::f32;
  const bool halves = shape.kind == TensorKind::f8f6f4 ||
                      (shape.kind == TensorKind::f16 && shape.a == TensorFormat::f16 && shape.b == TensorFormat::f16);
  return code == 0 && halves ? std::optional(TensorFormat::f16) : std::nullopt;
}

std::string wrong_size(const TensorShape& shape) {
  const bool two = shape.blocks == 2;
  const bool scaled = is_block_scaled(shape.kind);
  const bool has_m = two ? shape.m == 128 || shape.m == 256 : shape.m == 128 || (shape.m == 64 && !scaled);
  if (!has_m) {
    return fmt::format("M is {}: a {} {}", shape.m, two ? "pair of blocks has" : "block has",
                       two      ? "128 or 256"
                       : scaled ? "128"
                                : "64 or 128");
  }
  int step = two ? 16 : 8;
  if (shape.kind == TensorKind::i8) step = two ? 32 : shape.m == 128 ? 16 : shape.n > 32 ? 16 : 8;
  const bool bytes = container_bytes(shape.b) == 1;
  if (shape.transpose_b && bytes) step = two ? 32 : 16;
  if (shape.n >= step && shape.n <= 256 && shape.n % step == 0) return "";
  return fmt::format("N is {}: {} to 256 in steps of {} are possible", shape.n, step, step);
}

std::string wrong_orders(const TensorShape& shape) {
  const auto wrong = [&](bool transposed, bool negated, TensorFormat format) -> std::string {
    const bool small = format == TensorFormat::e2m1 || format == TensorFormat::e2m3 || format == TensorFormat::e3m2;
    if (transposed && (shape.packed() || small)) return fmt::format("{} cannot be transposed", name_of(format));
    return negated && shape.kind == TensorKind::i8 ? "integers cannot be negated" : "";
  };
  const std::string of_a = wrong(shape.transpose_a, shape.negate_a, shape.a);
  return of_a.empty() ? wrong(shape.transpose_b, shape.negate_b, shape.b) : of_a;
}

}  // namespace

std::string_view name_of(TensorKind kind) {
  return kTensorKinds[static_cast<std::size_t>(kind)];
}

std::optional<TensorKind> tensor_kind(std::string_view name) {
  for (std::size_t i = 0; i < kTensorKinds.size(); ++i)
    if (kTensorKinds[i] == name) return static_cast<TensorKind>(i);
  return std::nullopt;
}

std::string_view name_of(TensorFormat format) {
  return kTensorFormats[static_cast<std::size_t>(format)];
}

int container_bytes(TensorFormat format) {
  switch (format) {
    case TensorFormat::f16:
    case TensorFormat::bf16:
      return 2;
    case TensorFormat::tf32:
    case TensorFormat::f32:
    case TensorFormat::s32:
      return 4;
    default:
      return 1;
  }
}

int TensorShape::k() const {
  return packed() ? 64 : 32 / container_bytes(a);
}

std::optional<TensorShape> decode_instruction_descriptor(std::uint32_t bits, TensorKind kind, int blocks,
                                                         std::string& why) {
  const auto field = [&](int from, int width) { return bits >> from & ((1u << width) - 1); };
  TensorShape shape;
  shape.kind = kind;
  shape.blocks = blocks;
  if (field(2, 1) != 0) {
    why = "it says that A is sparse, which only tcgen05.mma.sp multiplies";
    return std::nullopt;
  }
  const auto a = operand_format(kind, field(7, 3)), b = operand_format(kind, field(10, 3));
  if (!a || !b) {
    why = fmt::format("{} is no type of {} of kind {}", field(a ? 10 : 7, 3), a ? 'B' : 'A', name_of(kind));
    return std::nullopt;
  }
  shape.a = *a;
  shape.b = *b;
  const bool scaled = is_block_scaled(kind);
  const auto d = sum_format(shape, field(4, 2));
  if (!d) {
    why = fmt::format("{} is no type of D for {} and {}", field(4, 2), name_of(*a), name_of(*b));
    return std::nullopt;
  }
  shape.d = *d;
  shape.saturate = kind == TensorKind::i8 && field(3, 1) != 0;
  shape.negate_a = field(13, 1) != 0;
  shape.negate_b = field(14, 1) != 0;
  shape.transpose_a = field(15, 1) != 0;
  shape.transpose_b = field(16, 1) != 0;
  shape.n = static_cast<int>(field(17, 6)) * 8;
  shape.m = static_cast<int>(field(24, 5)) * 16;
  if (scaled) {
    shape.scales_are_ue8m0 = field(23, 1) != 0;
    shape.scale_a = static_cast<int>(field(29, 2));
    shape.scale_b = static_cast<int>(field(4, 2));
    if (kind != TensorKind::mxf4nvf4 && !shape.scales_are_ue8m0) why = "its scale factors must be ue8m0";
    if (shape.packed() && field(31, 1) != 0) why = "K of 96 is not modelled";
    if (!why.empty()) return std::nullopt;
  }
  why = wrong_size(shape);
  if (why.empty()) why = wrong_orders(shape);
  return why.empty() ? std::optional(shape) : std::nullopt;
}

}  // namespace evo::vgpu
