#include "evaluator/program/pool.h"
#include "evaluator/program/runtime/entry.h"

using namespace evo::program;

namespace {

bool is_of_device(const cudaMemLocation& location) {
  return location.type == cudaMemLocationTypeDevice && location.id == 0;
}

}  // namespace

EVO_ENTRY cudaError_t cudaDeviceGetDefaultMemPool(void** pool, int device) {
  return answer([&] {
    require(pool != nullptr);
    require(device == 0, Code::invalid_device);
    *pool = &default_pool();
  });
}

EVO_ENTRY cudaError_t cudaDeviceGetMemPool(void** pool, int device) {
  return answer([&] {
    require(pool != nullptr);
    require(device == 0, Code::invalid_device);
    *pool = &current_pool();
  });
}

EVO_ENTRY cudaError_t cudaDeviceSetMemPool(int device, void* pool) {
  return answer([&] {
    require(device == 0, Code::invalid_device);
    make_current(pool);
  });
}

EVO_ENTRY cudaError_t cudaMemPoolCreate(void** pool, const cudaMemPoolProps* properties) {
  return answer([&] {
    require(pool != nullptr && properties != nullptr && is_of_device(properties->location));
    *pool = make_pool(properties->maxSize);
  });
}

EVO_ENTRY cudaError_t cudaMemPoolDestroy(void* pool) {
  return answer([&] { destroy_pool(pool); });
}

EVO_ENTRY cudaError_t cudaMemPoolSetAttribute(void* pool, int attribute, void* value) {
  return answer([&] { set_attribute(pool_of(pool), attribute, value); });
}

EVO_ENTRY cudaError_t cudaMemPoolGetAttribute(void* pool, int attribute, void* value) {
  return answer([&] { get_attribute(pool_of(pool), attribute, value); });
}

EVO_ENTRY cudaError_t cudaMemPoolTrimTo(void* pool, std::size_t) {
  return answer([&] { pool_of(pool); });
}

/// The one device always has access.
EVO_ENTRY cudaError_t cudaMemPoolSetAccess(void* pool, const cudaMemAccessDesc* accesses, std::size_t count) {
  return answer([&] {
    pool_of(pool);
    require(accesses != nullptr || count == 0);
    for (std::size_t i = 0; i < count; ++i)
      require(is_of_device(accesses[i].location) && accesses[i].flags == cudaMemAccessFlagsProtReadWrite,
              Code::invalid_device);
  });
}

EVO_ENTRY cudaError_t cudaMemPoolGetAccess(int* access, void* pool, const cudaMemLocation* location) {
  return answer([&] {
    pool_of(pool);
    require(access != nullptr && location != nullptr && is_of_device(*location));
    *access = cudaMemAccessFlagsProtReadWrite;
  });
}
