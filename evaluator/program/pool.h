#pragma once

#include <cstddef>
#include <cstdint>

#include "evaluator/program/machine.h"

/// Memory pools of allocations in streams. Memory that is freed goes back to the device at once: a pool counts what is
/// taken from it, and keeps what the program sets.
namespace evo::program {

/// CUmemoryPool and cudaMemPool_t point to it.
struct Pool {
  int reuse[3] = {1, 1, 1};             ///< Whether three kinds of reuse are allowed.
  std::uint64_t release_threshold = 0;  ///< Bytes.
  std::uint64_t most_reserved = 0, most_used = 0;
  std::uint64_t limit = 0;  ///< Bytes; 0: what the device has.
  bool destroyed = false;
};

Pool& default_pool();
/// That of cudaMallocAsync.
Pool& current_pool();
void make_current(const void* handle);
/// Throws Refusal for what is none.
Pool& pool_of(const void* handle);
Pool* make_pool(std::uint64_t limit);
/// What is taken from it stays until it is freed.
void destroy_pool(const void* handle);

Address allocate_from(Pool& pool, std::size_t bytes);

/// A cudaMemPoolAttr, or the CUmemPool_attribute of that number.
void set_attribute(Pool& pool, int attribute, const void* value);
void get_attribute(const Pool& pool, int attribute, void* value);

}  // namespace evo::program
