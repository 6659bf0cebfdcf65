#include "evaluator/numbers/numpy.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "engine/base/error.h"
#include "engine/base/text.h"

namespace evo {
namespace {

constexpr std::uint64_t kMostBufferBytes = std::uint64_t{8} << 30;

// ---- NumPy's format: magic, version, length of the header, header, data (NEP 1).

constexpr std::string_view kMagic{"\x93NUMPY", 6};

/// The type of a NumPy descriptor such as "<f4".
struct NumpyType {
  std::string_view code;
  DType element;
};
constexpr NumpyType kNumpyTypes[] = {
    {"b1", DType::boolean}, {"i1", DType::s8},  {"u1", DType::u8},  {"i2", DType::s16},
    {"u2", DType::u16},     {"i4", DType::s32}, {"u4", DType::u32}, {"i8", DType::s64},
    {"u8", DType::u64},     {"f2", DType::f16}, {"f4", DType::f32}, {"f8", DType::f64},
};

/// The text between `begin` and `end` behind `key`; empty when there is none.
std::string_view between(std::string_view text, std::string_view key, char begin, char end) {
  const std::size_t at = text.find(key);
  if (at == std::string_view::npos) return {};
  const std::size_t from = text.find(begin, at + key.size());
  const std::size_t to = from == std::string_view::npos ? from : text.find(end, from + 1);
  return to == std::string_view::npos ? std::string_view{} : text.substr(from + 1, to - from - 1);
}

}  // namespace

NumpyArray parse_numpy(const std::string& path, std::string_view file) {
  const auto refuse = [&](const char* why) { throw usage_error(fmt::format("{}: {}", path, why)); };
  if (!file.starts_with(kMagic) || file.size() < 12) refuse("not a .npy file");
  const auto byte = [&](std::size_t i) { return static_cast<std::size_t>(static_cast<unsigned char>(file[i])); };
  const bool first = byte(6) == 1;
  const std::size_t begin = first ? 10 : 12;
  const std::size_t length = first ? byte(8) | byte(9) << 8 : byte(8) | byte(9) << 8 | byte(10) << 16 | byte(11) << 24;
  if (length > file.size() - begin) refuse("the file ends in its header");
  const std::string_view header = file.substr(begin, length);
  if (header.find("'fortran_order': True") != std::string_view::npos)
    refuse("stored in Fortran's order; save numpy.ascontiguousarray(array)");
  NumpyArray array;
  const std::string_view code = between(header, "'descr':", '\'', '\'');
  const auto* found = std::find_if(std::begin(kNumpyTypes), std::end(kNumpyTypes), [&](const NumpyType& type) {
    return code.size() == 3 && code[0] != '>' && code.substr(1) == type.code;
  });
  if (found == std::end(kNumpyTypes)) refuse("its element type is not one of bool, int, uint and float, little-endian");
  array.element = found->element;
  const std::string_view shape = between(header, "'shape':", '(', ')');
  constexpr std::string_view kDigits = "0123456789";
  std::uint64_t product = 1;
  for (std::size_t at = 0; at < shape.size();) {
    const std::size_t begin_of_dim = shape.find_first_of(kDigits, at);
    if (begin_of_dim == std::string_view::npos) break;
    at = std::min(shape.find_first_not_of(kDigits, begin_of_dim), shape.size());
    const auto dim = number_in<std::uint64_t>(shape.substr(begin_of_dim, at - begin_of_dim));
    if (!dim || *dim > kMostBufferBytes) refuse("its shape is too large");
    array.dims.push_back(*dim);
    const std::uint64_t factor = std::max<std::uint64_t>(*dim, 1);
    if (factor > kMostBufferBytes / product) refuse("its shape is too large");
    product *= factor;
  }
  if (array.dims.empty()) array.dims = {1};
  array.data = file.substr(begin + length);
  return array;
}

std::string numpy_header(DType dtype, const std::vector<std::uint64_t>& dims) {
  std::string_view code = bits_of(dtype) == 16 ? "u2" : "u1";
  for (const NumpyType& type : kNumpyTypes) {
    if (type.element == dtype) code = type.code;
  }
  std::string header = fmt::format("{{'descr': '{}{}', 'fortran_order': False, 'shape': ({},), }}",
                                   code[1] == '1' ? "|" : "<", code, fmt::join(dims, ", "));
  while ((10 + header.size() + 1) % 64 != 0) header += ' ';
  header += '\n';
  std::string text = std::string(kMagic) + std::string("\x01\x00", 2);
  text += static_cast<char>(header.size() & 0xff);
  text += static_cast<char>(header.size() >> 8);
  return text + header;
}

}  // namespace evo
