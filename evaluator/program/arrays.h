#pragma once

#include <driver_types.h>

#include <cstddef>

#include "evaluator/program/work.h"
#include "evaluator/vgpu/textures/texture.h"

namespace evo::program {

/// A CUDA array: rows of elements, one behind the other. CUarray and cudaArray_t point to it.
struct Array {
  std::size_t width = 0, height = 0, depth = 0;  ///< In elements; 0: it has no such dimension. Layers are its depth.
  unsigned flags = 0;                            ///< cudaArrayLayered and so on; those of the driver are the same.
  cudaChannelFormatDesc format{};
  std::size_t element = 0;  ///< Bytes.
  Address address = 0;

  std::size_t pitch() const { return width * element; }
  std::size_t slice() const;
  std::size_t bytes() const;
  /// Where a box begins; x and width are in bytes. Throws Refusal for one that leaves the array.
  Place box(const cudaPos& at, const cudaExtent& extent) const;
  /// Where so many bytes begin, row after row.
  Address line(std::size_t x_bytes, std::size_t y, std::size_t bytes) const;
  vgpu::Texels texels() const;
};

/// Refuses formats other than 1, 2 or 4 channels of 8, 16 or 32 bits.
vgpu::TexelFormat texel_format(const cudaChannelFormatDesc& format);

/// Refuses sizes that no array can have.
Array* make_array(Array described);
/// Throws Refusal for what is none.
Array& array_of(const void* handle);
void destroy_array(const void* handle);

}  // namespace evo::program
