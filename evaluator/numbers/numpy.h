#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/dtype.h"

/// Files of one array as NumPy's save writes them (NEP 1): magic, version, length of the header, header, data.
namespace evo {

struct NumpyArray {
  DType element = DType::f32;
  std::vector<std::uint64_t> dims;
  std::string_view data;
};

/// `data` points into `file`. Throws usage_error naming `path` for what is no such file, Fortran's order, and element
/// types that are not of bool, int, uint and float, little-endian.
NumpyArray parse_numpy(const std::string& path, std::string_view file);

/// What stands before the data. Formats that NumPy does not know are stored as their bits.
std::string numpy_header(DType dtype, const std::vector<std::uint64_t>& dims);

}  // namespace evo
