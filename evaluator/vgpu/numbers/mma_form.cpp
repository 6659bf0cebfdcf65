#include "evaluator/vgpu/numbers/mma_form.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "engine/record/enumerators.h"

namespace evo::vgpu {
namespace {

std::string_view name_of(MmaType type) {
  return enumerator_name(type);
}

std::string text_of(const MmaForm& form) {
  std::string text = std::string(form.sparse ? "mma.sp.sync.m" : "mma.sync.m") + std::to_string(form.m) + "n" +
                     std::to_string(form.n) + "k" + std::to_string(form.k);
  for (MmaType type : {form.accumulator, form.a, form.b}) text.append(".").append(name_of(type));
  return text;
}

/// The values of k that forms of given operand types have; empty when the types do not go together.
struct Shapes {
  std::array<int, 4> m16{};  ///< With m = 16.
  int m8 = 0;                ///< With m = 8; 0: none.
};

Shapes sparse_shapes_of(const MmaForm& form) {
  const bool to_float = form.accumulator == MmaType::f32 || form.accumulator == MmaType::f16;
  if (form.packed) return {};
  if (form.narrow_kind) return is_in_byte(form.a) && is_in_byte(form.b) && to_float ? Shapes{{64}} : Shapes{};
  if (is_fp8(form.a) && is_fp8(form.b) && to_float) return {{64}};
  if (is_int8(form.a) && is_int8(form.b) && form.accumulator == MmaType::s32) return {{32, 64}};
  if (is_int4(form.a) && is_int4(form.b) && form.accumulator == MmaType::s32) return {{64, 128}};
  if (form.a != form.b) return {};
  if (form.a == MmaType::f16 && to_float) return {{16, 32}};
  if (form.a == MmaType::bf16 && form.accumulator == MmaType::f32) return {{16, 32}};
  if (form.a == MmaType::tf32 && form.accumulator == MmaType::f32) return {{8, 16}};
  return {};
}

Shapes shapes_of(const MmaForm& form) {
  if (form.sparse) return sparse_shapes_of(form);
  const bool to_float = form.accumulator == MmaType::f32 || form.accumulator == MmaType::f16;
  if (form.packed) return form.a == MmaType::e2m1 && form.b == MmaType::e2m1 ? Shapes{{64}} : Shapes{};
  if (form.narrow_kind) return is_in_byte(form.a) && is_in_byte(form.b) && to_float ? Shapes{{32}} : Shapes{};
  if (is_fp8(form.a) && is_fp8(form.b) && to_float) return {{16, 32}};
  if (is_int8(form.a) && is_int8(form.b) && form.accumulator == MmaType::s32) return {{16, 32}, 16};
  if (is_int4(form.a) && is_int4(form.b) && form.accumulator == MmaType::s32) return {{32, 64}, 32};
  if (form.a != form.b) return {};
  if (form.a == MmaType::b1 && form.accumulator == MmaType::s32) return {{128, 256}, 128};
  if (form.a == MmaType::f16 && to_float) return {{8, 16}, 4};
  if (form.a == MmaType::bf16 && form.accumulator == MmaType::f32) return {{8, 16}};
  if (form.a == MmaType::tf32 && form.accumulator == MmaType::f32) return {{4, 8}};
  if (form.a == MmaType::f64 && form.accumulator == MmaType::f64) return {{4, 8, 16}, 4};
  return {};
}

}  // namespace

int width_of(MmaType type) {
  switch (type) {
    case MmaType::b1:
      return 1;
    case MmaType::s4:
    case MmaType::u4:
      return 4;
    case MmaType::e4m3:
    case MmaType::e5m2:
    case MmaType::s8:
    case MmaType::u8:
    case MmaType::e3m2:
    case MmaType::e2m3:
    case MmaType::e2m1:
      return 8;
    case MmaType::f16:
    case MmaType::bf16:
      return 16;
    case MmaType::f64:
      return 64;
    default:
      return 32;
  }
}

bool mma_supported(const MmaForm& form, std::string* why) {
  const Shapes shapes = shapes_of(form);
  const bool has_shape = form.n == 8 &&
                         ((form.m == 16 && form.k != 0 && std::ranges::count(shapes.m16, form.k) > 0) ||
                          (form.m == 8 && form.k != 0 && form.k == shapes.m8)) &&
                         (form.scale_blocks == 0 || form.accumulator == MmaType::f32);
  if (!has_shape && why) *why = text_of(form) + " is not modelled";
  return has_shape;
}

MmaRegisters mma_registers(const MmaForm& form) {
  const int register_bits = form.a == MmaType::f64 ? 64 : 32;
  const int products = form.of_quad_pairs() ? 4 : 1;
  const auto count = [&](int elements, int width) { return products * elements * width / (32 * register_bits); };
  const auto sums = [&](bool half) {
    return count(form.m * form.n, half || form.accumulator == MmaType::f16 ? 16 : register_bits);
  };
  const auto width = [&](MmaType type) { return form.packed ? 4 : width_of(type); };
  return {count(form.m * form.k / (form.sparse ? 2 : 1), width(form.a)), count(form.k * form.n, width(form.b)),
          sums(form.half_c), sums(form.half_d)};
}

}  // namespace evo::vgpu
