// run: --block 64 --arg out=int[64]:unset
// finds: unwaited_copy line 10: its thread ends without having waited until this has read shared memory
// The store may find another block's bytes when it reads.
__global__ void store(int* out) {
  __shared__ alignas(128) int tile[64];
  tile[threadIdx.x] = threadIdx.x;
  asm volatile("fence.proxy.async;" ::: "memory");
  __syncthreads();
  if (threadIdx.x == 0) {
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], 256;" ::"l"(out), "r"(static_cast<unsigned>(__cvta_generic_to_shared(tile))) : "memory");
    asm volatile("cp.async.bulk.commit_group;" ::: "memory");
  }
}
