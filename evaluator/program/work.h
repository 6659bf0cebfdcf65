#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <variant>
#include <vector>

#include "evaluator/program/code.h"

/// What a stream or a node of a graph does. It is done at once when a stream is given it, unless the stream is
/// captured.
namespace evo::program {

struct Event;
struct Graph;

/// A launch with the bytes of its arguments.
struct KernelLaunch {
  Function* function = nullptr;
  Dim3 grid{1, 1, 1}, block{1, 1, 1}, cluster{1, 1, 1};
  std::uint32_t dynamic_smem_bytes = 0;
  bool cooperative = false;
  bool programmatic = false;
  std::vector<std::vector<std::byte>> arguments;
};

/// As the virtual GPU takes it.
evo::Launch planned(const KernelLaunch& launch);

/// The arguments of a launch: `values` has a pointer to each, or else `packed` holds them as the kernel's parameters
/// lie.
std::vector<std::vector<std::byte>> arguments_of(const Function& function, void* const* values,
                                                 const std::vector<std::byte>* packed = nullptr);

/// Where a copy begins, and how far its rows and slices lie from each other, in bytes.
struct Place {
  Address address = 0;
  std::size_t pitch = 0;
  std::size_t slice = 0;
};

/// A box of bytes from one place to another.
struct Copy {
  Place to, from;
  std::size_t width = 0, height = 1, depth = 1;
};
inline Copy line_copy(Address to, Address from, std::size_t bytes) {
  return {{to, bytes, bytes}, {from, bytes, bytes}, bytes, 1, 1};
}

/// A box of elements that get one value.
struct Fill {
  Place to;
  std::uint32_t value = 0;
  std::size_t element = 1;                       ///< 1, 2 or 4 bytes.
  std::size_t width = 0, height = 1, depth = 1;  ///< Width in elements.
};

struct HostCall {
  void (*function)(void*) = nullptr;
  void* data = nullptr;
};

struct ChildGraph {
  std::shared_ptr<Graph> graph;
};
struct EventRecord {
  Event* event = nullptr;
};
struct EventWait {
  Event* event = nullptr;
};
struct MemoryAllocation {
  Address address = 0;
  std::size_t bytes = 0;
};
struct MemoryFree {
  Address address = 0;
};
struct Empty {};

using Work = std::variant<Empty, KernelLaunch, Copy, Fill, HostCall, ChildGraph, EventRecord, EventWait,
                          MemoryAllocation, MemoryFree>;

/// Refuses a launch that a GPU would refuse.
void check(const KernelLaunch& launch);

/// Blocks of the function that are resident on one SM together.
int resident_blocks(const Function& function, int threads, std::size_t dynamic_smem_bytes);
/// Clusters of the launch that are resident on the GPU together.
int resident_clusters(const KernelLaunch& launch);
/// The most dynamic shared memory with which so many blocks are resident on an SM; 0: they are not.
std::size_t available_smem(const Function& function, int blocks, int threads);

/// A cudaGraphNodeType, or the CUgraphNodeType of that number.
int type_of(const Work& work);

}  // namespace evo::program
