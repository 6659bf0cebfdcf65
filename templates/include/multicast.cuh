#pragma once
// What the CTAs of a cluster share: one TMA load that fills the shared memory of several, and barriers that consumers
// of other CTAs arrive at (PTX ISA, cp.async.bulk.tensor with .multicast::cluster; sm_90).

// The box at (x, y, z) goes to address `to` of every CTA whose rank is set in `ranks`; its bytes count for the barrier
// at the same address in each.
__device__ __forceinline__ void load_box_for(unsigned short ranks, shared_address to, const TensorMap& map,
                                             shared_address barrier, int x, int y, int z) {
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster "
      "[%0], [%1, {%3, %4, %5}], [%2], %6;" ::"r"(to),
      "l"(&map), "r"(barrier), "r"(x), "r"(y), "r"(z), "h"(ranks)
      : "memory");
}

// Arrives at a barrier of any CTA of the cluster; the address is one that address_in gave.
__device__ __forceinline__ void arrive_in_cluster(shared_address barrier) {
  asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" ::"r"(barrier) : "memory");
}
