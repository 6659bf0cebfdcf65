// run: --grid 2 --cluster 2 --block 64 --arg out=int[128]:unset
// The source is written again after both copies have completed.
#include <cooperative_groups.h>
__device__ unsigned at(const void* p) { return static_cast<unsigned>(__cvta_generic_to_shared(p)); }
__global__ void exchange(int* out) {
  __shared__ alignas(16) int from[64], to[64];
  __shared__ unsigned long long full;
  const auto cluster = cooperative_groups::this_cluster();
  const unsigned rank = cluster.block_rank();
  if (threadIdx.x == 0) {
    asm volatile("mbarrier.init.shared.b64 [%0], 1; fence.mbarrier_init.release.cluster;" ::"r"(at(&full)) : "memory");
    asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], 256;" ::"r"(at(&full)) : "memory");
  }
  from[threadIdx.x] = rank * 1000 + threadIdx.x;
  asm volatile("fence.proxy.async;" ::: "memory");
  cluster.sync();
  if (threadIdx.x == 0) {
    unsigned other_to, other_full;
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(other_to) : "r"(at(to)), "r"(rank ^ 1));
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(other_full) : "r"(at(&full)), "r"(rank ^ 1));
    asm volatile("cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%0], [%1], 256, [%2];" ::"r"(other_to), "r"(at(from)), "r"(other_full) : "memory");
  }
  asm volatile("{ .reg .pred p; again: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%0], 0; @!p bra again; }" ::"r"(at(&full)) : "memory");
  out[rank * 64 + threadIdx.x] = to[threadIdx.x];
  cluster.sync();
  from[threadIdx.x] = -1;
}
