// run: --block 160 --arg out=float[512]:unset --arg in=uint16[6912]:zeros
// A producer brings operands of products by bulk copies; one lane of each warp of the warpgroup frees their stage.
#include <cstdint>
constexpr int kStages = 2, kTiles = 6, kA = 64 * 16, kB = 8 * 16;
__device__ unsigned at(const void* p) { return static_cast<unsigned>(__cvta_generic_to_shared(p)); }
__device__ uint64_t descriptor(const void* matrix) { return (at(matrix) & 0x3ffff) >> 4 | 8ull << 16 | 16ull << 32; }
__device__ void wait(const uint64_t* barrier, unsigned parity) {
  asm volatile(
      "{\n.reg .pred p;\nagain:\nmbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1;\n@!p bra again;\n}" ::"r"(at(barrier)),
      "r"(parity)
      : "memory");
}
__device__ void arrive(const uint64_t* barrier) {
  asm volatile("{ .reg .b64 s; mbarrier.arrive.shared::cta.b64 s, [%0]; }" ::"r"(at(barrier)) : "memory");
}
__device__ void bring(void* to, const void* from, int bytes, const uint64_t* full) {
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(at(to)),
               "l"(from), "r"(bytes), "r"(at(full))
               : "memory");
}
__global__ void product(float* out, const unsigned short* in) {
  __shared__ alignas(128) unsigned short a[kStages][kA], b[kStages][kB];
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
      asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(at(&full[s])), "r"(2 * (kA + kB)) : "memory");
      bring(a[s], in + t * (kA + kB), 2 * kA, &full[s]);
      bring(b[s], in + t * (kA + kB) + kA, 2 * kB, &full[s]);
    }
    return;
  }
  float d[4] = {};
  for (int t = 0; t < kTiles; ++t) {
    const int s = t % kStages;
    wait(&full[s], t / kStages % 2);
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
    asm volatile("{ .reg .pred p; setp.ne.b32 p, 1, 0; wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%0, %1, %2, %3}, %4, %5, p, 1, 1, 0, 0; }" : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "l"(descriptor(a[s])), "l"(descriptor(b[s])));
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
    if (threadIdx.x % 32 == 0) arrive(&empty[s]);
  }
  for (int i = 0; i < 4; ++i) out[4 * threadIdx.x + i] = d[i];
}
