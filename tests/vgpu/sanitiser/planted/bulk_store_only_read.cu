// run: --block 64 --arg out=int[64]:unset --arg copy=int[1]:unset
// finds: unwaited_copy line 13: while its own cp.async.bulk.global.shared::cta.bulk_group in line 10 is under way there
// The wait covers the store's reads of shared memory, not its writes.
__global__ void store(int* out, int* copy) {
  __shared__ alignas(128) int tile[64];
  tile[threadIdx.x] = threadIdx.x;
  asm volatile("fence.proxy.async;" ::: "memory");
  __syncthreads();
  if (threadIdx.x != 0) return;
  asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], 256;" ::"l"(out), "r"(static_cast<unsigned>(__cvta_generic_to_shared(tile))) : "memory");
  asm volatile("cp.async.bulk.commit_group;" ::: "memory");
  asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
  *copy = static_cast<volatile int*>(out)[5];
}
