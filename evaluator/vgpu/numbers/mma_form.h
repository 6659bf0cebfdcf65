#pragma once

#include <string>

#include "evaluator/numbers/float_formats.h"

/// The forms of mma.sync (PTX ISA 9.0, 9.7.14.5): operand types, shapes and registers.
namespace evo::vgpu {

enum class MmaType { f16, bf16, tf32, e4m3, e5m2, f64, s8, u8, s4, u4, f32, s32, b1, e3m2, e2m3, e2m1 };

inline bool is_fp8(MmaType type) {
  return type == MmaType::e4m3 || type == MmaType::e5m2;
}
/// The types of .kind::f8f6f4, an element in each byte: six bits are the lower ones, four bits the middle ones.
inline bool is_in_byte(MmaType type) {
  return is_fp8(type) || type == MmaType::e3m2 || type == MmaType::e2m3 || type == MmaType::e2m1;
}
inline bool is_int8(MmaType type) {
  return type == MmaType::s8 || type == MmaType::u8;
}
inline bool is_int4(MmaType type) {
  return type == MmaType::s4 || type == MmaType::u4;
}
/// Bits of an element in memory and registers: tf32 takes 32, and e2m1 8 (MmaForm::packed apart).
int width_of(MmaType type);

/// The scales of .block_scale: one for each row of A and column of B, or for each of `blocks` parts along k.
enum class ScaleType { ue8m0, ue4m3 };

/// One form of mma.sync: D (m x n) = A (m x k) . B (k x n) + C.
struct MmaForm {
  int m = 16;
  int n = 8;
  int k = 16;
  MmaType a = MmaType::f16;
  MmaType b = MmaType::f16;
  MmaType accumulator =
      MmaType::f32;           ///< Type of the sums (f32, f16, f64 or s32), and of C and D unless they are halves.
  bool saturate = false;      ///< .satfinite: integer overflow saturates.
  bool sparse = false;        ///< mma.sp: half of A is stored, and metadata says which half.
  int selector = 0;           ///< The threads that hold the metadata of a sparse A.
  bool half_c = false;        ///< C is f16 where the accumulator is f32.
  bool half_d = false;        ///< D is f16 where the accumulator is f32; it is rounded to nearest at the end.
  bool exclusive_or = false;  ///< b1: counts the bits that differ instead of those that both have.
  Rounding rounding = Rounding::rn;  ///< f64 only.
  bool a_by_columns = false;         ///< Layout of A; only m8n8k4 of f16 can choose it.
  bool b_by_rows = false;            ///< Layout of B likewise.
  bool by_fours = false;             ///< tf32: ptxas splits a wmma into instructions with k = 4.
  bool narrow_kind = false;          ///< .kind::f8f6f4 or .kind::mxf8f6f4, of elements in bytes.
  bool packed = false;               ///< .kind::mxf4 and .kind::mxf4nvf4: e2m1, eight in a word.
  int scale_blocks = 0;              ///< .scale_vec: 1, 2 or 4; 0: no scales.
  ScaleType scale_type = ScaleType::ue8m0;

  /// m8n8k4 of f16 is four products, one for each quad pair: lanes 4 i to 4 i + 3 and 16 + 4 i to 16 + 4 i + 3.
  bool of_quad_pairs() const { return m == 8 && a == MmaType::f16; }
};

/// How many 32-bit registers (64-bit for f64) each thread holds of each matrix.
struct MmaRegisters {
  int a = 0;
  int b = 0;
  int c = 0;
  int d = 0;
};

/// False for a form that mma.sync does not have or that is not modelled; then `why`, when given, names the form.
/// Covered: f16 m8n8k4, m16n8k8/k16 (f16 or f32 accumulator), bf16 m16n8k8/k16, tf32 m16n8k4/k8, e4m3/e5m2 in any mix
/// m16n8k16/k32 (f32 or f16), f64 m8n8k4 and m16n8k4/k8/k16, s8/u8 in any mix m8n8k16 and m16n8k16/k32,
/// s4/u4 in any mix m8n8k32 and m16n8k32/k64, b1 m8n8k128 and m16n8k128/k256. Sparse, with twice the k: f16, bf16
/// k16/k32, tf32 k8/k16, e4m3/e5m2 k64, s8/u8 k32/k64, s4/u4 k64/k128. Of kind f8f6f4 and mxf8f6f4: e4m3, e5m2, e3m2,
/// e2m3, e2m1 in any mix, m16n8k32, sparse k64. Of kind mxf4 and mxf4nvf4: e2m1, m16n8k64.
bool mma_supported(const MmaForm& form, std::string* why = nullptr);
MmaRegisters mma_registers(const MmaForm& form);

}  // namespace evo::vgpu
