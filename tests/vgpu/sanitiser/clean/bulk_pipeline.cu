// run: --block 160 --arg out=float[128]:unset --arg in=float[1024]:iota
// A producer warp and four consumer warps: a ring of stages with full and empty mbarriers.
#include <cstdint>
constexpr int kStages = 3, kTiles = 8, kTile = 128;
__device__ unsigned at(const void* p) { return static_cast<unsigned>(__cvta_generic_to_shared(p)); }
__device__ void wait(const uint64_t* barrier, unsigned parity) {
  asm volatile(
      "{\n.reg .pred p;\nagain:\nmbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1;\n@!p bra again;\n}" ::"r"(at(barrier)),
      "r"(parity)
      : "memory");
}
__device__ void arrive(const uint64_t* barrier) {
  asm volatile("{ .reg .b64 s; mbarrier.arrive.shared::cta.b64 s, [%0]; }" ::"r"(at(barrier)) : "memory");
}
__global__ void sums(float* out, const float* in) {
  __shared__ alignas(128) float tile[kStages][kTile];
  __shared__ uint64_t full[kStages], empty[kStages];
  if (threadIdx.x == 0) {
    for (int s = 0; s < kStages; ++s) {
      asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(at(&full[s])) : "memory");
      asm volatile("mbarrier.init.shared::cta.b64 [%0], 4;" ::"r"(at(&empty[s])) : "memory");
    }
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  __syncthreads();
  if (threadIdx.x >= 128) {
    if (threadIdx.x != 128) return;
    for (int t = 0; t < kTiles; ++t) {
      const int s = t % kStages;
      if (t >= kStages) wait(&empty[s], (t / kStages - 1) % 2);
      asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(at(&full[s])), "r"(kTile * 4) : "memory");
      asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(at(tile[s])),
                   "l"(in + t * kTile), "r"(kTile * 4), "r"(at(&full[s]))
                   : "memory");
    }
    return;
  }
  float sum = 0;
  for (int t = 0; t < kTiles; ++t) {
    const int s = t % kStages;
    wait(&full[s], t / kStages % 2);
    for (int k = 0; k < kTile; ++k) sum += tile[s][k];
    __syncwarp();
    if (threadIdx.x % 32 == 0) arrive(&empty[s]);
  }
  out[threadIdx.x] = sum;
}
