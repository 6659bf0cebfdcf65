#pragma once
//% if cp_async
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
//% else
// Copies from global to shared memory through registers, where none run beside the threads. They are done when the
// thread goes on, so that groups are of no meaning.

// 16 bytes; zeros where `there` is false, and then nothing is read.
__device__ __forceinline__ void copy_async(shared_address to, const void* from, bool there) {
  u32 word[4] = {0, 0, 0, 0};
  if (there) {
    asm volatile("ld.global.v4.b32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(word[0]), "=r"(word[1]), "=r"(word[2]), "=r"(word[3])
                 : "l"(from));
  }
  asm volatile("st.shared.v4.b32 [%0], {%1, %2, %3, %4};" ::"r"(to), "r"(word[0]), "r"(word[1]), "r"(word[2]),
               "r"(word[3])
               : "memory");
}

__device__ __forceinline__ void commit_copies() {}

template <int pending>
__device__ __forceinline__ void wait_for_copies() {}
//% end
