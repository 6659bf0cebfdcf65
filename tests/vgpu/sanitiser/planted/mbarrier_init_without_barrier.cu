// run: --block 64 --arg out=float[64]:unset
// finds: race line 10: line 8
// The other warp may use the mbarrier before it is initialised.
#include <cstdint>
__device__ unsigned at(const void* p) { return static_cast<unsigned>(__cvta_generic_to_shared(p)); }
__global__ void meet(float* out) {
  __shared__ uint64_t all;
  if (threadIdx.x == 0) asm volatile("mbarrier.init.shared::cta.b64 [%0], 64;" ::"r"(at(&all)) : "memory");
  __syncwarp();
  asm volatile("{ .reg .b64 s; mbarrier.arrive.shared::cta.b64 s, [%0]; }" ::"r"(at(&all)) : "memory");
  out[threadIdx.x] = 1;
}
