#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

/// What `evo vgpu --arg` describes: the arguments of somebody's kernel, as text.
namespace evo::cli {

/// Element types of arguments. f8: e4m3 and e5m2.
enum class Element { boolean, s8, u8, s16, u16, s32, u32, s64, u64, f16, bf16, f32, f64, e4m3, e5m2 };

std::size_t size_of(Element element);
bool is_floating(Element element);
/// As CUDA C++ calls it: "float", "unsigned short", "half".
std::string_view name_of(Element element);

/// One value. Integers from 2^63 on are unsigned.
using Number = std::variant<std::int64_t, std::uint64_t, double>;
double as_double(Number number);
/// A long double holds integers of 64 bits, too.
long double exact(Number number);
/// Why an element cannot be this number: "char holds whole numbers from -128 to 127, not 300". Empty when it can, if
/// rounded.
std::string why_not_held(Element element, Number number);
/// Rounded to nearest, or saturated where the format has no infinity; an integer must be held as it is.
void store(Element element, Number value, std::byte* to);
Number load(Element element, const std::byte* from);
/// "3.25", "-7", "nan".
std::string text_of(Element element, const std::byte* from);

/// A type as written: an element, perhaps a vector of them ("float4").
struct ValueType {
  Element element = Element::f32;
  std::size_t components = 1;
  std::size_t bytes() const { return size_of(element) * components; }
  std::string name() const;
};

/// Where a buffer's first content comes from.
struct Filling {
  enum class Kind {
    unset,     ///< As allocated: every byte 0xcb.
    constant,  ///< numbers[0]
    list,      ///< numbers, then zeros
    iota,      ///< numbers[0] + i * numbers[1]
    uniform,   ///< From numbers[0] up to, without it, numbers[1].
    normal,    ///< Mean numbers[0], standard deviation numbers[1].
    shuffle,   ///< 0 ... n-1 in random order.
    bits,      ///< Every byte random.
    file,      ///< `path`: .npy, or the bytes themselves.
  };
  Kind kind = Kind::constant;
  std::vector<Number> numbers;
  std::string path;
};

/// A scalar or struct by value.
struct ByValue {
  std::string text;  ///< The kernel argument as it was described.
  std::vector<std::byte> bytes;
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
using ArgumentSpec = std::variant<ByValue, BufferSpec, BufferReference>;

/// Parses `--arg`:
///   TYPE:VALUE            a scalar; float4:1,2,3,4 a vector; null a null pointer
///   {SCALAR;SCALAR...}    a struct with C's layout; bytes:HEX and bytes:@FILE its bytes
///   [NAME=]TYPE[DIMS]:FILLING   a buffer; FILLING is zeros, ones, unset, a number, {list}, iota, uniform(a,b),
///                               normal(mean,sd), shuffle, bits or @FILE
///   NAME                  a buffer that an earlier argument described
/// `number` is the argument's, for a buffer without a name. Throws usage_error.
ArgumentSpec parse_argument(std::string_view text, std::size_t number);

/// The bytes of a buffer; `dims` is filled from the file where the text left it open. Throws usage_error for a file
/// that does not fit, and for numbers that the type does not hold.
std::vector<std::byte> content_of(BufferSpec& spec, std::uint64_t seed);

/// Writes .npy when the path ends so, else the bytes alone. Throws machine_error.
void write_buffer(const std::string& path, const BufferSpec& spec, std::span<const std::byte> bytes);

/// A whole file. Throws usage_error when it cannot be read or has more than `most` bytes.
std::string read_whole_file(const std::string& path, std::uint64_t most);

}  // namespace evo::cli
