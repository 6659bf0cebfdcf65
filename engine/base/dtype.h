#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace evo {

/// Element types of tensors and scalars. e2m1, e4m3, e5m2 and e8m0 are the OCP formats of 4 and 8 bits (OCP 8-bit
/// Floating Point 1.0; OCP Microscaling Formats 1.0). Two e2m1 share a byte, the first in its low half.
enum class DType { boolean, u8, s8, u16, s16, u32, s32, u64, s64, e2m1, e8m0, e4m3, e5m2, f16, bf16, f32, f64 };

struct DTypeInfo {
  DType dtype;
  std::string_view name;         ///< As files have it: "bf16".
  std::string_view cuda_name;    ///< As CUDA C++ calls it: "unsigned short", "half".
  std::string_view other_names;  ///< Further names that users write, between blanks.
  int bits;
  bool floating;
  double least, greatest;  ///< Of finite numbers. Those of 64-bit integers are rounded.
  /// Of normal numbers of a format with a sign and more than 4 bits: bits of the significand, with the leading one, and
  /// the smallest exponent. 0: it is none.
  int digits = 0, least_exponent = 0;
};

const DTypeInfo& info_of(DType dtype);

int bits_of(DType dtype);
/// Bytes of one element. Throws std::logic_error for e2m1: two of them share a byte.
std::size_t size_of(DType dtype);
/// Bytes of a dense array.
std::uint64_t bytes_for(DType dtype, std::uint64_t elements);
bool is_floating(DType dtype);
bool is_integer(DType dtype);  ///< Booleans, too.
std::string_view name_of(DType dtype);
std::string_view cuda_name_of(DType dtype);
/// Throws usage_error for an unknown name.
DType parse_dtype(std::string_view name);

/// A type as users write it: an element, perhaps a vector of them ("float4").
struct ValueType {
  DType element = DType::f32;
  std::size_t components = 1;
  std::size_t bytes() const { return size_of(element) * components; }
  /// CUDA aligns vectors of 2 and 4 to their size, at most 16 bytes; those of 3 to an element.
  std::size_t alignment() const;
  std::string name() const;
  bool operator==(const ValueType&) const = default;
};

/// By any of the names of its element ("float", "f32", "unsigned short", "half2"). Empty for a name that is no type.
std::optional<ValueType> type_named(std::string_view name);
/// The names that type_named takes, for messages: one for each element.
std::vector<std::string> type_names();

}  // namespace evo
