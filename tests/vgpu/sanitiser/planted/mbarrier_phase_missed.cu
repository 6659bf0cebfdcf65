// run: --block 96 --arg out=float[96]:unset
// finds: race line 17: nothing orders the wait before the end of the next phase
// Where the second warp is fast, two phases are over before the first warp looks, and it waits for a third.
#include <cstdint>
__device__ unsigned at(const void* p) { return static_cast<unsigned>(__cvta_generic_to_shared(p)); }
__device__ void arrive(uint64_t* barrier) {
  if (threadIdx.x % 32 == 0) asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(at(barrier)) : "memory");
}
__device__ void wait(uint64_t* barrier, unsigned parity) {
  unsigned over = 0;
  while (over == 0)
    asm volatile(
        "{ .reg .pred p;\n"
        "mbarrier.test_wait.parity.shared::cta.b64 p, [%1], %2;\n"
        "selp.u32 %0, 1, 0, p; }"
        : "=r"(over)
        : "r"(at(barrier)), "r"(parity)
        : "memory");
}
__global__ void twice(float* out) {
  __shared__ uint64_t ready;
  if (threadIdx.x == 0) asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(at(&ready)) : "memory");
  __syncthreads();
  if (threadIdx.x / 32 == 0) {
    wait(&ready, 0);
#ifdef ANSWERED
    asm volatile("bar.arrive 2, 64;" ::: "memory");
#endif
  } else {
    if (threadIdx.x / 32 == 1) arrive(&ready);
    for (int i = 0; i < 4; ++i) asm volatile("bar.sync 1, 64;" ::: "memory");  // the first warp looks meanwhile
#ifdef ANSWERED
    if (threadIdx.x / 32 == 1) asm volatile("bar.sync 2, 64;" ::: "memory");
#endif
    if (threadIdx.x / 32 == 1) arrive(&ready);
  }
  out[threadIdx.x] = 1;
}
