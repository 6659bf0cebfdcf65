// run: --block 64 --arg out=int[32]:unset --arg in=int[768]:iota
// The first warp's copies complete on mbarriers, and the warp also waits for the last copies directly.
__device__ unsigned at(const void* p) { return static_cast<unsigned>(__cvta_generic_to_shared(p)); }
__device__ void wait(const unsigned long long* barrier, unsigned parity) {
  asm volatile("{ .reg .pred p; again: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1; @!p bra again; }" ::"r"(at(barrier)), "r"(parity) : "memory");
}
__global__ void stages(int* out, const int* in) {
  __shared__ alignas(16) int tile[2][128];
  __shared__ unsigned long long full[2], empty[2];
  if (threadIdx.x == 0) {
    for (int s = 0; s < 2; ++s) {
      asm volatile("mbarrier.init.shared.b64 [%0], 32;" ::"r"(at(full + s)) : "memory");
      asm volatile("mbarrier.init.shared.b64 [%0], 32;" ::"r"(at(empty + s)) : "memory");
    }
  }
  __syncthreads();
  if (threadIdx.x < 32) {
    for (int i = 0; i < 6; ++i) {
      const int s = i % 2;
      wait(empty + s, (i / 2 + 1) % 2);
      asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(at(&tile[s][threadIdx.x * 4])), "l"(in + i * 128 + threadIdx.x * 4) : "memory");
      asm volatile("cp.async.mbarrier.arrive.noinc.shared.b64 [%0];" ::"r"(at(full + s)) : "memory");
    }
    asm volatile("cp.async.wait_all;" ::: "memory");
    return;
  }
  int sum = 0;
  for (int i = 0; i < 6; ++i) {
    const int s = i % 2;
    wait(full + s, i / 2 % 2);
    sum = sum * 3 + tile[s][63 - threadIdx.x];
    asm volatile("mbarrier.arrive.shared.b64 _, [%0];" ::"r"(at(empty + s)) : "memory");
  }
  out[threadIdx.x - 32] = sum;
}
