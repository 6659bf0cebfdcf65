// run: --grid 4 --cluster 2 --block 64 --arg out=float[256]:unset
// Blocks of a cluster read each other's shared memory.
#include <cooperative_groups.h>
__global__ void exchange(float* out) {
  __shared__ float tile[64];
  const auto cluster = cooperative_groups::this_cluster();
  tile[threadIdx.x] = blockIdx.x * 64 + threadIdx.x;
  cluster.sync();
  const float* other = cluster.map_shared_rank(tile, cluster.block_rank() ^ 1);
  out[blockIdx.x * 64 + threadIdx.x] = other[63 - threadIdx.x];
  cluster.sync();
}
