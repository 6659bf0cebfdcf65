#pragma once
// Tiles copied by the tensor memory accelerator (PTX ISA, cp.async.bulk.tensor; sm_90). A tensor map holds the
// extents, the box that one copy moves and the swizzle of the tile in shared memory; what lies outside of the
// tensor is read as zero and not written.

struct __align__(64) TensorMap {
  unsigned long long words[16];
};

__device__ __forceinline__ void prefetch_tensor_map(const TensorMap& map) {
  asm volatile("prefetch.tensormap [%0];" ::"l"(&map) : "memory");
}

// The box at (x, y, z), innermost coordinate first; its bytes count for the barrier.
__device__ __forceinline__ void load_box(shared_address to, const TensorMap& map, shared_address barrier, int x,
                                         int y, int z) {
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %5}], [%2];" ::
          "r"(to),
      "l"(&map), "r"(barrier), "r"(x), "r"(y), "r"(z)
      : "memory");
}

__device__ __forceinline__ void load_box(shared_address to, const TensorMap& map, shared_address barrier, int x,
                                         int y, int z, int u, int v) {
  asm volatile(
      "cp.async.bulk.tensor.5d.shared::cluster.global.mbarrier::complete_tx::bytes "
      "[%0], [%1, {%3, %4, %5, %6, %7}], [%2];" ::"r"(to),
      "l"(&map), "r"(barrier), "r"(x), "r"(y), "r"(z), "r"(u), "r"(v)
      : "memory");
}

__device__ __forceinline__ void store_box(const TensorMap& map, shared_address from, int x, int y, int z) {
  asm volatile("cp.async.bulk.tensor.3d.global.shared::cta.bulk_group [%0, {%2, %3, %4}], [%1];" ::"l"(&map),
               "r"(from), "r"(x), "r"(y), "r"(z)
               : "memory");
}

__device__ __forceinline__ void commit_stores() { asm volatile("cp.async.bulk.commit_group;" ::: "memory"); }

// Until all boxes that this thread committed are in global memory.
__device__ __forceinline__ void wait_for_stores() { asm volatile("cp.async.bulk.wait_group 0;" ::: "memory"); }

// Until their shared memory has been read and may be written again.
__device__ __forceinline__ void wait_for_stores_to_leave() {
  asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
}

// What this thread has written to shared memory may be read by wgmma and the copy engine afterwards.
__device__ __forceinline__ void publish_to_async_proxy() {
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}
