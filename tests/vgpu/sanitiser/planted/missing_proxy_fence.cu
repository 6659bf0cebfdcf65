// run: --block 32 --arg out=float[32]:unset
// finds: race line 10: without a fence.proxy.async
// The copy engine sees threads' writes only after a proxy fence.
__global__ void store(float* out) {
  __shared__ alignas(128) float tile[32];
  tile[threadIdx.x] = threadIdx.x;
  __syncthreads();
  if (threadIdx.x == 0) {
    const unsigned from = static_cast<unsigned>(__cvta_generic_to_shared(tile));
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(out), "r"(from), "r"(128) : "memory");
    asm volatile("cp.async.bulk.commit_group;" ::: "memory");
    asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
  }
}
