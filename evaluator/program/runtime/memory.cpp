#include <algorithm>
#include <cstring>

#include "evaluator/program/pool.h"
#include "evaluator/program/runtime/entry.h"
#include "evaluator/program/stream.h"

using namespace evo::program;

namespace {

constexpr std::size_t kPitch = 512;

template <class Pointer>
Address address_of(Pointer pointer) {
  return reinterpret_cast<Address>(pointer);
}

void allocate(void** pointer, std::size_t bytes, MemoryKind kind, unsigned flags = 0) {
  require(pointer != nullptr);
  *pointer = bytes == 0 ? nullptr : reinterpret_cast<void*>(machine().allocate(bytes, kind, flags));
}

void allocate_in_stream(void** pointer, std::size_t bytes, Pool& pool, void* stream) {
  require(pointer != nullptr);
  Stream& on = stream_of(stream);
  *pointer = bytes == 0 ? nullptr : reinterpret_cast<void*>(allocate_from(pool, bytes));
  if (on.capture) submit(on, MemoryAllocation{address_of(*pointer), bytes});
}

/// What the program says where a copy goes, against where its addresses are.
void check_direction(const void* to, const void* from, cudaMemcpyKind kind) {
  require(kind >= cudaMemcpyHostToHost && kind <= cudaMemcpyDefault, Code::invalid_direction);
  if (kind == cudaMemcpyDefault) return;
  // Pinned and managed memory is both the host's and the device's.
  const auto fits = [](const void* pointer, bool device) {
    return on_device(address_of(pointer)) ? device : !device || machine().range_of(address_of(pointer)) != nullptr;
  };
  require(fits(to, kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice) &&
          fits(from, kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice));
}

cudaError_t copy_line(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind, void* stream) {
  return answer([&] {
    check_direction(to, from, kind);
    if (bytes == 0) return;
    require(to != nullptr && from != nullptr);
    submit(stream_of(stream), line_copy(address_of(to), address_of(from), bytes));
    machine().show_printed();
  });
}

cudaError_t copy_rows(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch, std::size_t width,
                      std::size_t height, cudaMemcpyKind kind, void* stream) {
  return answer([&] {
    check_direction(to, from, kind);
    if (width == 0 || height == 0) return;
    require(to != nullptr && from != nullptr);
    require(width <= to_pitch && width <= from_pitch, Code::invalid_pitch);
    submit(stream_of(stream), Copy{{address_of(to), to_pitch, 0}, {address_of(from), from_pitch, 0}, width, height, 1});
    machine().show_printed();
  });
}

cudaError_t fill_box(void* to, std::size_t pitch, int value, std::size_t width, std::size_t height, std::size_t depth,
                     std::size_t slice, void* stream) {
  return answer([&] {
    if (width == 0 || height == 0 || depth == 0) return;
    require(to != nullptr && (height == 1 || width <= pitch));
    submit(stream_of(stream),
           Fill{{address_of(to), pitch, slice}, static_cast<std::uint32_t>(value & 0xff), 1, width, height, depth});
  });
}

}  // namespace

EVO_ENTRY cudaError_t cudaMalloc(void** pointer, std::size_t bytes) {
  return answer([&] { allocate(pointer, bytes, MemoryKind::device); });
}

EVO_ENTRY cudaError_t cudaMallocManaged(void** pointer, std::size_t bytes, unsigned flags) {
  return answer([&] {
    require(bytes > 0);
    allocate(pointer, bytes, MemoryKind::managed, flags);
  });
}

EVO_ENTRY cudaError_t cudaMallocHost(void** pointer, std::size_t bytes) {
  return answer([&] { allocate(pointer, bytes, MemoryKind::pinned); });
}

EVO_ENTRY cudaError_t cudaHostAlloc(void** pointer, std::size_t bytes, unsigned flags) {
  return answer([&] { allocate(pointer, bytes, MemoryKind::pinned, flags); });
}

EVO_ENTRY cudaError_t cudaMallocPitch(void** pointer, std::size_t* pitch, std::size_t width, std::size_t height) {
  return answer([&] {
    require(pitch != nullptr);
    *pitch = (width + kPitch - 1) / kPitch * kPitch;
    allocate(pointer, *pitch * height, MemoryKind::device);
  });
}

EVO_ENTRY cudaError_t cudaMalloc3D(cudaPitchedPtr* pitched, cudaExtent extent) {
  return answer([&] {
    require(pitched != nullptr);
    pitched->pitch = (extent.width + kPitch - 1) / kPitch * kPitch;
    pitched->xsize = extent.width;
    pitched->ysize = extent.height;
    allocate(&pitched->ptr, pitched->pitch * extent.height * extent.depth, MemoryKind::device);
  });
}

EVO_ENTRY cudaError_t cudaFree(void* pointer) {
  return answer([&] {
    machine().show_printed();
    if (pointer != nullptr) machine().release(address_of(pointer), MemoryKind::device);
  });
}

EVO_ENTRY cudaError_t cudaFreeHost(void* pointer) {
  return answer([&] {
    if (pointer != nullptr) machine().release(address_of(pointer), MemoryKind::pinned);
  });
}

EVO_ENTRY cudaError_t cudaHostRegister(void* pointer, std::size_t bytes, unsigned flags) {
  return answer([&] { machine().register_host(pointer, bytes, flags); });
}

EVO_ENTRY cudaError_t cudaHostUnregister(void* pointer) {
  return answer([&] { machine().release(address_of(pointer), MemoryKind::registered); });
}

EVO_ENTRY cudaError_t cudaHostGetDevicePointer(void** device, void* host, unsigned) {
  return answer([&] {
    const Range* range = machine().range_of(address_of(host));
    require(device != nullptr && range != nullptr);
    *device = host;
  });
}

EVO_ENTRY cudaError_t cudaHostGetFlags(unsigned* flags, void* host) {
  return answer([&] {
    const Range* range = machine().range_of(address_of(host));
    require(flags != nullptr && range != nullptr && range->kind != MemoryKind::device);
    *flags = range->flags | cudaHostAllocMapped;
  });
}

EVO_ENTRY cudaError_t cudaMallocAsync(void** pointer, std::size_t bytes, void* stream) {
  return answer([&] { allocate_in_stream(pointer, bytes, current_pool(), stream); });
}

EVO_ENTRY cudaError_t cudaMallocFromPoolAsync(void** pointer, std::size_t bytes, void* pool, void* stream) {
  return answer([&] { allocate_in_stream(pointer, bytes, pool_of(pool), stream); });
}

EVO_ENTRY cudaError_t cudaFreeAsync(void* pointer, void* stream) {
  return answer([&] {
    if (pointer == nullptr) return;
    Stream& on = stream_of(stream);
    // A graph may be launched again: what it has allocated stays.
    if (!on.capture) submit(on, MemoryFree{address_of(pointer)});
  });
}

EVO_ENTRY cudaError_t cudaMemcpy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) {
  return copy_line(to, from, bytes, kind, nullptr);
}

EVO_ENTRY cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind,
                                      void* stream) {
  return copy_line(to, from, bytes, kind, stream);
}

EVO_ENTRY cudaError_t cudaMemcpyPeer(void* to, int, const void* from, int, std::size_t bytes) {
  return copy_line(to, from, bytes, cudaMemcpyDefault, nullptr);
}

EVO_ENTRY cudaError_t cudaMemcpyPeerAsync(void* to, int, const void* from, int, std::size_t bytes, void* stream) {
  return copy_line(to, from, bytes, cudaMemcpyDefault, stream);
}

EVO_ENTRY cudaError_t cudaMemcpy2D(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch,
                                   std::size_t width, std::size_t height, cudaMemcpyKind kind) {
  return copy_rows(to, to_pitch, from, from_pitch, width, height, kind, nullptr);
}

EVO_ENTRY cudaError_t cudaMemcpy2DAsync(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch,
                                        std::size_t width, std::size_t height, cudaMemcpyKind kind, void* stream) {
  return copy_rows(to, to_pitch, from, from_pitch, width, height, kind, stream);
}

EVO_ENTRY cudaError_t cudaMemset(void* to, int value, std::size_t bytes) {
  return fill_box(to, bytes, value, bytes, 1, 1, 0, nullptr);
}

EVO_ENTRY cudaError_t cudaMemsetAsync(void* to, int value, std::size_t bytes, void* stream) {
  return fill_box(to, bytes, value, bytes, 1, 1, 0, stream);
}

EVO_ENTRY cudaError_t cudaMemset2D(void* to, std::size_t pitch, int value, std::size_t width, std::size_t height) {
  return fill_box(to, pitch, value, width, height, 1, 0, nullptr);
}

EVO_ENTRY cudaError_t cudaMemset2DAsync(void* to, std::size_t pitch, int value, std::size_t width, std::size_t height,
                                        void* stream) {
  return fill_box(to, pitch, value, width, height, 1, 0, stream);
}

EVO_ENTRY cudaError_t cudaMemset3DAsync(cudaPitchedPtr to, int value, cudaExtent extent, void* stream) {
  return fill_box(to.ptr, to.pitch, value, extent.width, extent.height, extent.depth, to.pitch * to.ysize, stream);
}

EVO_ENTRY cudaError_t cudaMemset3D(cudaPitchedPtr to, int value, cudaExtent extent) {
  return cudaMemset3DAsync(to, value, extent, nullptr);
}

EVO_ENTRY cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* pointer) {
  return answer([&] {
    require(attributes != nullptr);
    *attributes = {};
    const Range* range = machine().range_of(address_of(pointer));
    if (range == nullptr && on_device(address_of(pointer))) {
      attributes->type = cudaMemoryTypeDevice;  // A variable.
      attributes->devicePointer = const_cast<void*>(pointer);
    } else if (range == nullptr) {
      attributes->type = cudaMemoryTypeUnregistered;
      attributes->device = -2;
      attributes->hostPointer = const_cast<void*>(pointer);
    } else {
      attributes->type = range->kind == MemoryKind::device    ? cudaMemoryTypeDevice
                         : range->kind == MemoryKind::managed ? cudaMemoryTypeManaged
                                                              : cudaMemoryTypeHost;
      attributes->devicePointer = const_cast<void*>(pointer);
      if (range->kind != MemoryKind::device) attributes->hostPointer = const_cast<void*>(pointer);
    }
  });
}

// Managed memory is in one place: advice and prefetches change nothing.
EVO_ENTRY cudaError_t cudaMemAdvise(const void*, std::size_t, int, long) {
  return answer([] {});
}

EVO_ENTRY cudaError_t cudaMemAdvise_v2(const void*, std::size_t, int, long) {
  return answer([] {});
}

EVO_ENTRY cudaError_t cudaMemPrefetchAsync(const void*, std::size_t, long, long, void*) {
  return answer([] {});
}

EVO_ENTRY cudaError_t cudaMemPrefetchAsync_v2(const void*, std::size_t, long, long, void*) {
  return answer([] {});
}
