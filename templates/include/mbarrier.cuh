#pragma once
// Barriers in shared memory that also count bytes (PTX ISA, mbarrier; sm_90). A barrier turns over to its next
// phase when the arrivals and the bytes that it waits for have all come. Phases are told apart by their parity.

__device__ __forceinline__ void init_barrier(shared_address barrier, int arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals) : "memory");
}

// Makes freshly initialised barriers known to the copy engine; a __syncthreads has to follow.
__device__ __forceinline__ void publish_barriers() {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

__device__ __forceinline__ void arrive(shared_address barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}

// Arrives and makes the phase wait for as many bytes as the copies bring that are to follow.
__device__ __forceinline__ void arrive_expecting(shared_address barrier, int bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory");
}

// Until the phase of this parity is over. A fresh barrier takes the phase before its first, whose parity is 1,
// as over.
__device__ __forceinline__ void wait_for(shared_address barrier, u32 parity) {
  asm volatile(
      "{\n"
      ".reg .pred over;\n"
      "again:\n"
      "mbarrier.try_wait.parity.shared::cta.b64 over, [%0], %1;\n"
      "@over bra done;\n"
      "bra again;\n"
      "done:\n"
      "}" ::"r"(barrier),
      "r"(parity)
      : "memory");
}

// A place in a ring of `length` stages. The one who fills a stage waits until it is free, the others until it
// is full.
template <int length>
struct RingPlace {
  int stage = 0;
  u32 turn = 0;  // parity of the rounds made

  __device__ __forceinline__ u32 full_parity() const { return turn; }
  __device__ __forceinline__ u32 free_parity() const { return turn ^ 1; }
  __device__ __forceinline__ void advance() {
    if (length == 1 || ++stage == length) {
      stage = 0;
      turn ^= 1;
    }
  }
};
