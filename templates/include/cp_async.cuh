#pragma once
// Copies from global to shared memory that run beside the threads (PTX ISA, cp.async; sm_80 and newer).

// 16 bytes; zeros where `there` is false, and then nothing is read: `from` need only be a valid address.
__device__ __forceinline__ void copy_async(shared_address to, const void* from, bool there) {
  const int bytes = there ? 16 : 0;
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(bytes) : "memory");
}

// Closes a group of the copies that this thread has started. Groups retire in order.
__device__ __forceinline__ void commit_copies() { asm volatile("cp.async.commit_group;" ::: "memory"); }

// Waits until at most `pending` groups of this thread are under way. Other threads' copies need a barrier
// after it.
template <int pending>
__device__ __forceinline__ void wait_for_copies() {
  asm volatile("cp.async.wait_group %0;" ::"n"(pending) : "memory");
}
