#include "evaluator/program/arrays.h"

#include <algorithm>
#include <map>
#include <memory>

#include "evaluator/program/runtime/entry.h"
#include "evaluator/program/runtime/graph_nodes.h"
#include "evaluator/program/stream.h"

using namespace evo::program;

namespace {

/// One end of a 3D copy, whose extent is in bytes. Offsets count elements in an array, bytes in memory.
Place place_of(const void* array, const cudaPitchedPtr& pitched, const cudaPos& at, const cudaExtent& extent) {
  if (array != nullptr) return array_of(array).box({at.x * array_of(array).element, at.y, at.z}, extent);
  const std::size_t slice = pitched.pitch * pitched.ysize;
  return {reinterpret_cast<Address>(pitched.ptr) + at.x + at.y * pitched.pitch + at.z * slice, pitched.pitch, slice};
}

}  // namespace

namespace evo::program {

Copy copy_of(const cudaMemcpy3DParms& asked) {
  const void* array = asked.srcArray != nullptr ? asked.srcArray : asked.dstArray;
  if (asked.srcArray != nullptr && asked.dstArray != nullptr)
    require(array_of(asked.srcArray).element == array_of(asked.dstArray).element);
  // An array's extent counts elements, that of memory bytes; positions in memory always count bytes.
  cudaExtent extent = asked.extent;
  if (array != nullptr) extent.width *= array_of(array).element;
  const Copy copy{place_of(asked.dstArray, asked.dstPtr, asked.dstPos, extent),
                  place_of(asked.srcArray, asked.srcPtr, asked.srcPos, extent), extent.width, extent.height,
                  extent.depth};
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

/// A box of rows in an array, by bytes.
Place rows_of(const void* handle, std::size_t x, std::size_t y, std::size_t width, std::size_t height) {
  return array_of(handle).box({x, y, 0}, {width, height, 1});
}

cudaError_t copy_array(const void* array, std::size_t x, std::size_t y, const void* memory, std::size_t pitch,
                       std::size_t width, std::size_t height, bool to_array, void* stream) {
  return answer([&] {
    const Place inside = rows_of(array, x, y, width, height);
    const Place outside{reinterpret_cast<Address>(memory), pitch, 0};
    require(memory != nullptr && width <= pitch, memory != nullptr ? Code::invalid_pitch : Code::invalid_value);
    submit(stream_of(stream),
           to_array ? Copy{inside, outside, width, height, 1} : Copy{outside, inside, width, height, 1});
    machine().show_printed();
  });
}

cudaError_t copy_array_line(const void* array, std::size_t x, std::size_t y, const void* memory, std::size_t bytes,
                            bool to_array, void* stream) {
  return answer([&] {
    const Address inside = array_of(array).line(x, y, bytes), outside = reinterpret_cast<Address>(memory);
    require(memory != nullptr);
    submit(stream_of(stream), to_array ? line_copy(inside, outside, bytes) : line_copy(outside, inside, bytes));
    machine().show_printed();
  });
}

}  // namespace

EVO_ENTRY cudaError_t cudaMalloc3DArray(void** array, const cudaChannelFormatDesc* format, cudaExtent extent,
                                        unsigned flags) {
  return answer([&] {
    require(array != nullptr && format != nullptr);
    *array = make_array(
        {.width = extent.width, .height = extent.height, .depth = extent.depth, .flags = flags, .format = *format});
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

EVO_ENTRY cudaError_t cudaMemcpy2DArrayToArray(void* to, std::size_t to_x, std::size_t to_y, const void* from,
                                               std::size_t x, std::size_t y, std::size_t width, std::size_t height,
                                               int) {
  return answer([&] {
    submit(stream_of(nullptr),
           Copy{rows_of(to, to_x, to_y, width, height), rows_of(from, x, y, width, height), width, height, 1});
  });
}

EVO_ENTRY cudaError_t cudaMemcpyToArray(void* array, std::size_t x, std::size_t y, const void* from, std::size_t bytes,
                                        int) {
  return copy_array_line(array, x, y, from, bytes, true, nullptr);
}

EVO_ENTRY cudaError_t cudaMemcpyToArrayAsync(void* array, std::size_t x, std::size_t y, const void* from,
                                             std::size_t bytes, int, void* stream) {
  return copy_array_line(array, x, y, from, bytes, true, stream);
}

EVO_ENTRY cudaError_t cudaMemcpyFromArray(void* to, const void* array, std::size_t x, std::size_t y, std::size_t bytes,
                                          int) {
  return copy_array_line(array, x, y, to, bytes, false, nullptr);
}

EVO_ENTRY cudaError_t cudaMemcpyFromArrayAsync(void* to, const void* array, std::size_t x, std::size_t y,
                                               std::size_t bytes, int, void* stream) {
  return copy_array_line(array, x, y, to, bytes, false, stream);
}

EVO_ENTRY cudaError_t cudaMemcpyArrayToArray(void* to, std::size_t to_x, std::size_t to_y, const void* from,
                                             std::size_t x, std::size_t y, std::size_t bytes, int) {
  return answer([&] {
    submit(stream_of(nullptr),
           line_copy(array_of(to).line(to_x, to_y, bytes), array_of(from).line(x, y, bytes), bytes));
  });
}
