#include "evaluator/program/arrays.h"

#include <algorithm>
#include <map>
#include <memory>

#include "evaluator/program/runtime/entry.h"
#include "evaluator/program/runtime/graph_nodes.h"
#include "evaluator/program/stream.h"

using namespace evo::program;

namespace {

std::size_t element_bytes(const cudaChannelFormatDesc& format) {
  return static_cast<std::size_t>(format.x + format.y + format.z + format.w) / 8;
}

/// One end of a 3D copy, and its offset in it. Offsets and widths count elements where an array takes part.
Place place_of(const void* array, const cudaPitchedPtr& pitched, const cudaPos& at, std::size_t element) {
  if (array != nullptr) {
    const Array& held = array_of(array);
    return held.at(at.x * held.element, at.y, at.z);
  }
  const std::size_t slice = pitched.pitch * pitched.ysize;
  return {reinterpret_cast<Address>(pitched.ptr) + at.x * element + at.y * pitched.pitch + at.z * slice, pitched.pitch,
          slice};
}

}  // namespace

namespace evo::program {

Copy copy_of(const cudaMemcpy3DParms& asked) {
  const void* array = asked.srcArray != nullptr ? asked.srcArray : asked.dstArray;
  // An array's extent counts elements, that of memory bytes; positions in memory always count bytes.
  const std::size_t element = array == nullptr ? 1 : array_of(array).element;
  Copy copy;
  copy.to = place_of(asked.dstArray, asked.dstPtr, asked.dstPos, 1);
  copy.from = place_of(asked.srcArray, asked.srcPtr, asked.srcPos, 1);
  copy.width = asked.extent.width * element;
  copy.height = asked.extent.height;
  copy.depth = asked.extent.depth;
  require(copy.to.address != 0 && copy.from.address != 0);
  return copy;
}

}  // namespace evo::program

namespace {

cudaError_t copy_3d(const cudaMemcpy3DParms* asked, void* stream) {
  return answer([&] {
    require(asked != nullptr);
    submit(stream_of(stream), copy_of(*asked));
    machine().show_printed();
  });
}

cudaError_t copy_array(const void* array, std::size_t x, std::size_t y, const void* memory, std::size_t pitch,
                       std::size_t width, std::size_t height, bool to_array, void* stream) {
  return answer([&] {
    const Place inside = array_of(array).at(x, y, 0);
    const Place outside{reinterpret_cast<Address>(memory), pitch, 0};
    submit(stream_of(stream),
           to_array ? Copy{inside, outside, width, height, 1} : Copy{outside, inside, width, height, 1});
    machine().show_printed();
  });
}

}  // namespace

EVO_ENTRY cudaError_t cudaMalloc3DArray(void** array, const cudaChannelFormatDesc* format, cudaExtent extent,
                                        unsigned flags) {
  return answer([&] {
    require(array != nullptr && format != nullptr);
    *array = make_array({.width = extent.width,
                         .height = extent.height,
                         .depth = extent.depth,
                         .element = element_bytes(*format),
                         .flags = flags,
                         .format = *format});
  });
}

EVO_ENTRY cudaError_t cudaMallocArray(void** array, const cudaChannelFormatDesc* format, std::size_t width,
                                      std::size_t height, unsigned flags) {
  return cudaMalloc3DArray(array, format, {width, height, 0}, flags);
}

EVO_ENTRY cudaError_t cudaFreeArray(void* array) {
  return answer([&] {
    if (array != nullptr) destroy_array(array);
  });
}

EVO_ENTRY cudaError_t cudaArrayGetInfo(cudaChannelFormatDesc* format, cudaExtent* extent, unsigned* flags,
                                       void* array) {
  return answer([&] {
    const Array& held = array_of(array);
    if (format != nullptr) *format = held.format;
    if (extent != nullptr) *extent = {held.width, held.height, held.depth};
    if (flags != nullptr) *flags = held.flags;
  });
}

EVO_ENTRY cudaError_t cudaGetChannelDesc(cudaChannelFormatDesc* format, const void* array) {
  return answer([&] {
    require(format != nullptr);
    *format = array_of(array).format;
  });
}

EVO_ENTRY cudaChannelFormatDesc cudaCreateChannelDesc(int x, int y, int z, int w, cudaChannelFormatKind kind) {
  return {x, y, z, w, kind};
}

EVO_ENTRY cudaError_t cudaMemcpy3D(const cudaMemcpy3DParms* asked) {
  return copy_3d(asked, nullptr);
}

EVO_ENTRY cudaError_t cudaMemcpy3DAsync(const cudaMemcpy3DParms* asked, void* stream) {
  return copy_3d(asked, stream);
}

EVO_ENTRY cudaError_t cudaMemcpy2DToArray(void* array, std::size_t x, std::size_t y, const void* from,
                                          std::size_t pitch, std::size_t width, std::size_t height, int) {
  return copy_array(array, x, y, from, pitch, width, height, true, nullptr);
}

EVO_ENTRY cudaError_t cudaMemcpy2DToArrayAsync(void* array, std::size_t x, std::size_t y, const void* from,
                                               std::size_t pitch, std::size_t width, std::size_t height, int,
                                               void* stream) {
  return copy_array(array, x, y, from, pitch, width, height, true, stream);
}

EVO_ENTRY cudaError_t cudaMemcpy2DFromArray(void* to, std::size_t pitch, const void* array, std::size_t x,
                                            std::size_t y, std::size_t width, std::size_t height, int) {
  return copy_array(array, x, y, to, pitch, width, height, false, nullptr);
}

EVO_ENTRY cudaError_t cudaMemcpy2DFromArrayAsync(void* to, std::size_t pitch, const void* array, std::size_t x,
                                                 std::size_t y, std::size_t width, std::size_t height, int,
                                                 void* stream) {
  return copy_array(array, x, y, to, pitch, width, height, false, stream);
}

EVO_ENTRY cudaError_t cudaMemcpyToArray(void* array, std::size_t x, std::size_t y, const void* from, std::size_t bytes,
                                        int) {
  return answer([&] {
    const Place inside = array_of(array).at(x, y, 0);
    submit(stream_of(nullptr), line_copy(inside.address, reinterpret_cast<Address>(from), bytes));
  });
}

EVO_ENTRY cudaError_t cudaMemcpyFromArray(void* to, const void* array, std::size_t x, std::size_t y, std::size_t bytes,
                                          int) {
  return answer([&] {
    const Place inside = array_of(array).at(x, y, 0);
    submit(stream_of(nullptr), line_copy(reinterpret_cast<Address>(to), inside.address, bytes));
  });
}
