#pragma once
// Warpgroups (four warps, aligned) that play different parts in a CTA.

// A barrier among `threads` threads; 0 is the one of __syncthreads.
__device__ __forceinline__ void sync_at(int barrier, int threads) {
  asm volatile("bar.sync %0, %1;" ::"r"(barrier), "r"(threads) : "memory");
}

// Counts as come, without waiting.
__device__ __forceinline__ void pass_at(int barrier, int threads) {
  asm volatile("bar.arrive %0, %1;" ::"r"(barrier), "r"(threads) : "memory");
}

// Every warp of the warpgroup gives registers back or takes more (PTX ISA, setmaxnreg): `count` a thread from here on.
template <int count>
__device__ __forceinline__ void shrink_registers_to() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(count));
}

template <int count>
__device__ __forceinline__ void grow_registers_to() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(count));
}
