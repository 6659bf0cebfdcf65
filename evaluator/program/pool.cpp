#include "evaluator/program/pool.h"

#include <cuda.h>

#include <algorithm>
#include <map>
#include <memory>

namespace evo::program {
namespace {

std::map<const void*, std::unique_ptr<Pool>>& pools() {
  static auto& all = *new std::map<const void*, std::unique_ptr<Pool>>;
  return all;
}

Pool*& current() {
  static Pool* pool = &default_pool();
  return pool;
}

}  // namespace

Pool& default_pool() {
  static Pool* const only = make_pool(0);
  return *only;
}

Pool& current_pool() {
  return *current();
}

void make_current(const void* handle) {
  current() = &pool_of(handle);
}

Pool& pool_of(const void* handle) {
  const auto found = pools().find(handle);
  require(found != pools().end() && !found->second->destroyed);
  return *found->second;
}

Pool* make_pool(std::uint64_t limit) {
  auto pool = std::make_unique<Pool>();
  pool->limit = limit;
  Pool* const handle = pool.get();
  pools()[handle] = std::move(pool);
  return handle;
}

void destroy_pool(const void* handle) {
  Pool& pool = pool_of(handle);
  require(&pool != &default_pool());
  pool.destroyed = true;
  if (current() == &pool) current() = &default_pool();
}

Address allocate_from(Pool& pool, std::size_t bytes) {
  const std::uint64_t used = machine().bytes_in(pool) + bytes;
  require(pool.limit == 0 || used <= pool.limit, Code::out_of_memory);
  const Address address = machine().allocate(bytes, MemoryKind::device, 0, &pool);
  pool.most_used = std::max(pool.most_used, used);
  pool.most_reserved = std::max(pool.most_reserved, used);
  return address;
}

void set_attribute(Pool& pool, int attribute, const void* value) {
  require(value != nullptr);
  if (attribute >= CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES &&
      attribute <= CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES) {
    pool.reuse[attribute - 1] = *static_cast<const int*>(value) != 0 ? 1 : 0;
    return;
  }
  const std::uint64_t number = *static_cast<const std::uint64_t*>(value);
  if (attribute == CU_MEMPOOL_ATTR_RELEASE_THRESHOLD) {
    pool.release_threshold = number;
    return;
  }
  // The most that there was can only be forgotten.
  require((attribute == CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH || attribute == CU_MEMPOOL_ATTR_USED_MEM_HIGH) &&
          number == 0);
  (attribute == CU_MEMPOOL_ATTR_USED_MEM_HIGH ? pool.most_used : pool.most_reserved) = machine().bytes_in(pool);
}

void get_attribute(const Pool& pool, int attribute, void* value) {
  require(value != nullptr);
  if (attribute >= CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES &&
      attribute <= CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES) {
    *static_cast<int*>(value) = pool.reuse[attribute - 1];
    return;
  }
  auto& number = *static_cast<std::uint64_t*>(value);
  if (attribute == CU_MEMPOOL_ATTR_RELEASE_THRESHOLD) {
    number = pool.release_threshold;
  } else if (attribute == CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT || attribute == CU_MEMPOOL_ATTR_USED_MEM_CURRENT) {
    number = machine().bytes_in(pool);
  } else if (attribute == CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH) {
    number = pool.most_reserved;
  } else {
    require(attribute == CU_MEMPOOL_ATTR_USED_MEM_HIGH);
    number = pool.most_used;
  }
}

}  // namespace evo::program
