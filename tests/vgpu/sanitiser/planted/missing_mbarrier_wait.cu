// run: --block 64 --arg out=float[64]:unset --arg in=float[64]:iota
// finds: unwaited_copy line 24: is under way there
// The bytes are ordered, but nobody waits for their arrival.
#include <cstdint>
__device__ unsigned at(const void* p) { return static_cast<unsigned>(__cvta_generic_to_shared(p)); }
__global__ void stage(float* out, const float* in) {
  __shared__ alignas(128) float tile[64];
  __shared__ uint64_t full;
  if (threadIdx.x == 0) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(at(&full)) : "memory");
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(at(&full)), "r"(256) : "memory");
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(at(tile)),
                 "l"(in), "r"(256), "r"(at(&full))
                 : "memory");
  }


  __syncthreads();

  out[threadIdx.x] = tile[threadIdx.x];
}
