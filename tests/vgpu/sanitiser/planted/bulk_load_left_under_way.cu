// run: --block 64 --arg out=int[64]:unset --arg in=int[64]:iota
// finds: unwaited_copy line 14: the block that it goes to has ended, and nobody has waited for this copy
// The bytes may arrive when the shared memory belongs to another block.
__device__ unsigned at(const void* p) { return static_cast<unsigned>(__cvta_generic_to_shared(p)); }
__global__ void load(int* out, const int* in) {
  __shared__ alignas(128) int tile[64];
  __shared__ unsigned long long full;
  if (threadIdx.x == 0) {
    asm volatile("mbarrier.init.shared.b64 [%0], 1; fence.mbarrier_init.release.cluster;" ::"r"(at(&full)) : "memory");
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], 256;" ::"r"(at(&full)) : "memory");
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], 256, [%2];" ::"r"(at(tile)), "l"(in), "r"(at(&full)) : "memory");
  }
  out[threadIdx.x] = 1;
}
