#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "engine/base/number.h"
#include "engine/task/draw.h"

/// The arguments of a user's kernel, as `evo vgpu --arg` describes them.
namespace evo::cli {

/// Where a buffer's first content comes from.
struct Filling {
  DrawKind kind = DrawKind::constant;
  std::vector<Number> numbers;
  std::string path;  ///< Of a file.
};

struct BufferSpec {
  std::string name;
  ValueType type;
  std::vector<std::uint64_t> dims;  ///< Empty: from the file.
  Filling filling;
};
/// A buffer named before, or null when the name is empty.
struct BufferReference {
  std::string name;
};
using Pointer = std::variant<BufferSpec, BufferReference>;
/// A scalar or struct by value.
struct ByValue {
  std::string text;  ///< As typed.
  std::vector<std::byte> bytes;
  std::vector<std::pair<std::size_t, Pointer>> pointers = {};  ///< Fields of a struct, by the byte where each begins.
};
using ArgumentSpec = std::variant<ByValue, BufferSpec, BufferReference>;
/// The buffers that an argument describes.
std::vector<BufferSpec> buffers_of(const ArgumentSpec& argument);

/// Parses `--arg`:
///   TYPE:VALUE            a scalar; float4:1,2,3,4 a vector; null a null pointer
///   {FIELD;FIELD...}      a struct with C's layout, of scalars, buffers and null; bytes:HEX and bytes:@FILE its bytes
///   [NAME=]TYPE[DIMS]:FILLING   a buffer; FILLING is zeros, ones, unset, a number, {list}, iota, uniform(a,b),
///                               normal(mean,sd), shuffle, bits, @FILE, or a draw of tasks:
///                               integers(a,b), indices(n), permutation, offsets(n), page_table(n), non_negative
///   NAME                  a buffer that an earlier argument described
/// `number` is the argument's, for a buffer without a name. Throws usage_error.
ArgumentSpec parse_argument(std::string_view text, std::size_t number);

}  // namespace evo::cli
