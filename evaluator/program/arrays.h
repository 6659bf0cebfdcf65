#pragma once

#include <driver_types.h>

#include <cstddef>

#include "evaluator/program/work.h"

namespace evo::program {

/// A CUDA array: rows of elements, one behind the other. CUarray and cudaArray_t point to it.
struct Array {
  std::size_t width = 0, height = 0, depth = 0;  ///< In elements; 0: it has no such dimension.
  std::size_t element = 4;                       ///< Bytes.
  unsigned flags = 0;
  cudaChannelFormatDesc format{};
  Address address = 0;

  Place at(std::size_t x_bytes, std::size_t y, std::size_t z) const;
};

Array* make_array(Array described);
/// Throws Refusal for what is none.
Array& array_of(const void* handle);
void destroy_array(const void* handle);

}  // namespace evo::program
