#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

/// What tcgen05.mma multiplies: its kind, and the instruction descriptor that says the rest (PTX ISA 9.0, 9.7.16.4.2).
namespace evo::vgpu {

enum class TensorKind : std::uint8_t { f16, tf32, f8f6f4, i8, mxf8f6f4, mxf4, mxf4nvf4 };
std::string_view name_of(TensorKind kind);
/// Nothing for a word that names no kind.
std::optional<TensorKind> tensor_kind(std::string_view name);
/// Whether blocks of A and B have scale factors.
constexpr bool is_block_scaled(TensorKind kind) {
  return kind >= TensorKind::mxf8f6f4;
}

enum class TensorFormat : std::uint8_t { f16, bf16, tf32, e4m3, e5m2, e2m3, e3m2, e2m1, u8, s8, f32, s32 };
std::string_view name_of(TensorFormat format);
/// Bytes that an element takes along k. Two of e2m1 share one where `kind` packs them.
int container_bytes(TensorFormat format);

struct TensorShape {
  TensorKind kind = TensorKind::f16;
  int blocks = 1;  ///< 2: of a pair.
  int m = 128;
  int n = 8;
  TensorFormat a = TensorFormat::f16;
  TensorFormat b = TensorFormat::f16;
  TensorFormat d = TensorFormat::f32;
  bool negate_a = false;
  bool negate_b = false;
  bool transpose_a = false;  ///< M-major.
  bool transpose_b = false;  ///< N-major.
  bool saturate = false;
  bool scales_are_ue8m0 = false;  ///< Else ue4m3.
  int scale_a = 0;                ///< Byte of the word that holds the first scale factor.
  int scale_b = 0;

  int k() const;
  /// Two elements of e2m1 in each byte.
  bool packed() const { return kind == TensorKind::mxf4 || kind == TensorKind::mxf4nvf4; }
  /// The rows that a block has in its tensor memory and shared memory.
  int block_rows() const { return m / blocks; }
};

/// Nothing where a descriptor is not one of the kind. `why` then says what is wrong with it.
std::optional<TensorShape> decode_instruction_descriptor(std::uint32_t bits, TensorKind kind, int blocks,
                                                         std::string& why);

}  // namespace evo::vgpu
