#include <driver_types.h>

#include "evaluator/program/entry.h"
#include "evaluator/program/pool.h"

// The driver's structs of pools lie as the runtime's, and their values are the same.
using namespace evo::program;

namespace {

bool is_of_device(const cudaMemLocation& location) {
  return location.type == cudaMemLocationTypeDevice && location.id == 0;
}

}  // namespace

EVO_ENTRY int cuDeviceGetDefaultMemPool(void** pool, int device) {
  return coded([&] {
    require(pool != nullptr);
    require(device == 0, Code::invalid_device);
    *pool = &default_pool();
  });
}

EVO_ENTRY int cuDeviceGetMemPool(void** pool, int device) {
  return coded([&] {
    require(pool != nullptr);
    require(device == 0, Code::invalid_device);
    *pool = &current_pool();
  });
}

EVO_ENTRY int cuDeviceSetMemPool(int device, void* pool) {
  return coded([&] {
    require(device == 0, Code::invalid_device);
    make_current(pool);
  });
}

EVO_ENTRY int cuMemPoolCreate(void** pool, const cudaMemPoolProps* properties) {
  return coded([&] {
    require(pool != nullptr && properties != nullptr && is_of_device(properties->location));
    *pool = make_pool(properties->maxSize);
  });
}

EVO_ENTRY int cuMemPoolDestroy(void* pool) {
  return coded([&] { destroy_pool(pool); });
}

EVO_ENTRY int cuMemPoolSetAttribute(void* pool, int attribute, void* value) {
  return coded([&] { set_attribute(pool_of(pool), attribute, value); });
}

EVO_ENTRY int cuMemPoolGetAttribute(void* pool, int attribute, void* value) {
  return coded([&] { get_attribute(pool_of(pool), attribute, value); });
}

EVO_ENTRY int cuMemPoolTrimTo(void* pool, std::size_t) {
  return coded([&] { pool_of(pool); });
}

/// The one device always has access.
EVO_ENTRY int cuMemPoolSetAccess(void* pool, const cudaMemAccessDesc* accesses, std::size_t count) {
  return coded([&] {
    pool_of(pool);
    require(accesses != nullptr || count == 0);
    for (std::size_t i = 0; i < count; ++i)
      require(is_of_device(accesses[i].location) && accesses[i].flags == cudaMemAccessFlagsProtReadWrite,
              Code::invalid_device);
  });
}

EVO_ENTRY int cuMemPoolGetAccess(int* access, void* pool, const cudaMemLocation* location) {
  return coded([&] {
    pool_of(pool);
    require(access != nullptr && location != nullptr && is_of_device(*location));
    *access = cudaMemAccessFlagsProtReadWrite;
  });
}
