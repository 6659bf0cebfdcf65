// run: --grid 2 --block 64 --arg out=int[128]:unset
// A thread may end when the source of its bulk store has been read; the writes complete without it.
__global__ void store(int* out) {
  __shared__ alignas(128) int tile[64];
  tile[threadIdx.x] = threadIdx.x;
  asm volatile("fence.proxy.async;" ::: "memory");
  __syncthreads();
  if (threadIdx.x != 0) return;
  asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], 256;" ::"l"(out + 64 * blockIdx.x), "r"(static_cast<unsigned>(__cvta_generic_to_shared(tile))) : "memory");
  asm volatile("cp.async.bulk.commit_group;" ::: "memory");
  asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
}
