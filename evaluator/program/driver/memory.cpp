#include <cstdint>

#include "evaluator/program/driver/structs.h"
#include "evaluator/program/entry.h"
#include "evaluator/program/pool.h"
#include "evaluator/program/stream.h"

using namespace evo::program;

namespace {

constexpr std::size_t kPitch = 512;

Address address_of(const void* pointer) {
  return reinterpret_cast<Address>(pointer);
}

int copy(Address to, Address from, std::size_t bytes, void* stream = nullptr) {
  return coded([&] {
    if (bytes == 0) return;
    require(to != 0 && from != 0);
    submit(stream_of(stream), line_copy(to, from, bytes));
    machine().show_printed();
  });
}

int fill(Address to, std::size_t pitch, std::uint32_t value, std::size_t element, std::size_t width, std::size_t height,
         void* stream = nullptr) {
  return coded([&] { submit(stream_of(stream), Fill{{to, pitch, 0}, value, element, width, height, 1}); });
}

void allocate_in_stream(Address* address, std::size_t bytes, Pool& pool, void* stream) {
  require(address != nullptr && bytes > 0);
  Stream& on = stream_of(stream);
  *address = allocate_from(pool, bytes);
  if (on.capture) submit(on, MemoryAllocation{*address, bytes});
}

}  // namespace

EVO_ENTRY int cuMemGetInfo_v2(std::size_t* free, std::size_t* total) {
  return coded([&] {
    require(free != nullptr && total != nullptr);
    *free = machine().free_bytes();
    *total = static_cast<std::size_t>(machine().info().memory_bytes);
  });
}

EVO_ENTRY int cuMemAlloc_v2(Address* address, std::size_t bytes) {
  return coded([&] {
    require(address != nullptr && bytes > 0);
    *address = machine().allocate(bytes, MemoryKind::device);
  });
}

EVO_ENTRY int cuMemAllocPitch_v2(Address* address, std::size_t* pitch, std::size_t width, std::size_t height,
                                 unsigned) {
  return coded([&] {
    require(address != nullptr && pitch != nullptr && width > 0 && height > 0);
    *pitch = (width + kPitch - 1) / kPitch * kPitch;
    *address = machine().allocate(*pitch * height, MemoryKind::device);
  });
}

EVO_ENTRY int cuMemAllocManaged(Address* address, std::size_t bytes, unsigned flags) {
  return coded([&] {
    require(address != nullptr && bytes > 0);
    *address = machine().allocate(bytes, MemoryKind::managed, flags);
  });
}

EVO_ENTRY int cuMemFree_v2(Address address) {
  return coded([&] {
    machine().show_printed();
    if (address != 0) machine().release(address, MemoryKind::device);
  });
}

EVO_ENTRY int cuMemHostAlloc(void** pointer, std::size_t bytes, unsigned flags) {
  return coded([&] {
    require(pointer != nullptr && bytes > 0);
    *pointer = reinterpret_cast<void*>(machine().allocate(bytes, MemoryKind::pinned, flags));
  });
}

EVO_ENTRY int cuMemAllocHost_v2(void** pointer, std::size_t bytes) {
  return cuMemHostAlloc(pointer, bytes, 0);
}

EVO_ENTRY int cuMemFreeHost(void* pointer) {
  return coded([&] { machine().release(address_of(pointer), MemoryKind::pinned); });
}

EVO_ENTRY int cuMemHostRegister_v2(void* pointer, std::size_t bytes, unsigned flags) {
  return coded([&] { machine().register_host(pointer, bytes, flags); });
}

EVO_ENTRY int cuMemHostUnregister(void* pointer) {
  return coded([&] { machine().release(address_of(pointer), MemoryKind::registered); });
}

EVO_ENTRY int cuMemHostGetDevicePointer_v2(Address* address, void* pointer, unsigned) {
  return coded([&] {
    require(address != nullptr && machine().range_of(address_of(pointer)) != nullptr);
    *address = address_of(pointer);
  });
}

EVO_ENTRY int cuMemHostGetFlags(unsigned* flags, void* pointer) {
  return coded([&] {
    const Range* range = machine().range_of(address_of(pointer));
    require(flags != nullptr && range != nullptr && range->kind != MemoryKind::device);
    *flags = range->flags;
  });
}

EVO_ENTRY int cuMemGetAddressRange_v2(Address* begin, std::size_t* bytes, Address address) {
  return coded([&] {
    const Range* range = machine().range_of(address);
    require(range != nullptr, Code::not_found);
    if (begin != nullptr) *begin = range->begin;
    if (bytes != nullptr) *bytes = range->bytes;
  });
}

EVO_ENTRY int cuPointerGetAttribute(void* value, int attribute, Address address) {
  return coded([&] { give_pointer_attribute(value, attribute, address); });
}

EVO_ENTRY int cuPointerGetAttributes(unsigned count, const int* attributes, void** values, Address address) {
  return coded([&] {
    require(attributes != nullptr && values != nullptr);
    for (unsigned i = 0; i < count; ++i) {
      try {
        give_pointer_attribute(values[i], attributes[i], address);
      } catch (const Refusal&) {
        clear_pointer_attribute(values[i], attributes[i]);
      }
    }
  });
}

EVO_ENTRY int cuMemAllocAsync(Address* address, std::size_t bytes, void* stream) {
  return coded([&] { allocate_in_stream(address, bytes, current_pool(), stream); });
}

EVO_ENTRY int cuMemAllocFromPoolAsync(Address* address, std::size_t bytes, void* pool, void* stream) {
  return coded([&] { allocate_in_stream(address, bytes, pool_of(pool), stream); });
}

EVO_ENTRY int cuMemFreeAsync(Address address, void* stream) {
  return coded([&] {
    Stream& on = stream_of(stream);
    if (!on.capture) submit(on, MemoryFree{address});
  });
}

EVO_ENTRY int cuMemcpy(Address to, Address from, std::size_t bytes) {
  return copy(to, from, bytes);
}
EVO_ENTRY int cuMemcpyAsync(Address to, Address from, std::size_t bytes, void* stream) {
  return copy(to, from, bytes, stream);
}
EVO_ENTRY int cuMemcpyHtoD_v2(Address to, const void* from, std::size_t bytes) {
  return copy(to, address_of(from), bytes);
}
EVO_ENTRY int cuMemcpyHtoDAsync_v2(Address to, const void* from, std::size_t bytes, void* stream) {
  return copy(to, address_of(from), bytes, stream);
}
EVO_ENTRY int cuMemcpyDtoH_v2(void* to, Address from, std::size_t bytes) {
  return copy(address_of(to), from, bytes);
}
EVO_ENTRY int cuMemcpyDtoHAsync_v2(void* to, Address from, std::size_t bytes, void* stream) {
  return copy(address_of(to), from, bytes, stream);
}
EVO_ENTRY int cuMemcpyDtoD_v2(Address to, Address from, std::size_t bytes) {
  return copy(to, from, bytes);
}
EVO_ENTRY int cuMemcpyDtoDAsync_v2(Address to, Address from, std::size_t bytes, void* stream) {
  return copy(to, from, bytes, stream);
}

EVO_ENTRY int cuMemcpy2DAsync_v2(const void* asked, void* stream) {
  return coded([&] {
    submit(stream_of(stream), copy_of_2d(asked));
    machine().show_printed();
  });
}
EVO_ENTRY int cuMemcpy2D_v2(const void* asked) {
  return cuMemcpy2DAsync_v2(asked, nullptr);
}
EVO_ENTRY int cuMemcpy2DUnaligned_v2(const void* asked) {
  return cuMemcpy2DAsync_v2(asked, nullptr);
}
EVO_ENTRY int cuMemcpy3DAsync_v2(const void* asked, void* stream) {
  return coded([&] {
    submit(stream_of(stream), copy_of_3d(asked));
    machine().show_printed();
  });
}
EVO_ENTRY int cuMemcpy3D_v2(const void* asked) {
  return cuMemcpy3DAsync_v2(asked, nullptr);
}

EVO_ENTRY int cuMemsetD8_v2(Address to, unsigned char value, std::size_t count) {
  return fill(to, count, value, 1, count, 1);
}
EVO_ENTRY int cuMemsetD16_v2(Address to, unsigned short value, std::size_t count) {
  return fill(to, count * 2, value, 2, count, 1);
}
EVO_ENTRY int cuMemsetD32_v2(Address to, unsigned value, std::size_t count) {
  return fill(to, count * 4, value, 4, count, 1);
}
EVO_ENTRY int cuMemsetD8Async(Address to, unsigned char value, std::size_t count, void* stream) {
  return fill(to, count, value, 1, count, 1, stream);
}
EVO_ENTRY int cuMemsetD16Async(Address to, unsigned short value, std::size_t count, void* stream) {
  return fill(to, count * 2, value, 2, count, 1, stream);
}
EVO_ENTRY int cuMemsetD32Async(Address to, unsigned value, std::size_t count, void* stream) {
  return fill(to, count * 4, value, 4, count, 1, stream);
}
EVO_ENTRY int cuMemsetD2D8_v2(Address to, std::size_t pitch, unsigned char value, std::size_t width,
                              std::size_t height) {
  return fill(to, pitch, value, 1, width, height);
}
EVO_ENTRY int cuMemsetD2D32_v2(Address to, std::size_t pitch, unsigned value, std::size_t width, std::size_t height) {
  return fill(to, pitch, value, 4, width, height);
}
EVO_ENTRY int cuMemsetD2D8Async(Address to, std::size_t pitch, unsigned char value, std::size_t width,
                                std::size_t height, void* stream) {
  return fill(to, pitch, value, 1, width, height, stream);
}
EVO_ENTRY int cuMemsetD2D32Async(Address to, std::size_t pitch, unsigned value, std::size_t width, std::size_t height,
                                 void* stream) {
  return fill(to, pitch, value, 4, width, height, stream);
}

// Managed memory is in one place: advice and prefetches change nothing.
EVO_ENTRY int cuMemAdvise(Address, std::size_t, int, long) {
  return coded([] {});
}
EVO_ENTRY int cuMemAdvise_v2(Address, std::size_t, int, long) {
  return coded([] {});
}
EVO_ENTRY int cuMemPrefetchAsync(Address, std::size_t, long, void*) {
  return coded([] {});
}
EVO_ENTRY int cuMemPrefetchAsync_v2(Address, std::size_t, long, unsigned, void*) {
  return coded([] {});
}
