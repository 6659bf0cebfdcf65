// run: --grid 2 --cluster 2 --block 32 --arg out=float[64]:unset
// finds: bad_access line 11: of shared memory of block (0, 0, 0), which has 128 bytes
// Reaches beyond the other block's shared memory.
#include <cooperative_groups.h>
__global__ void neighbour(float* out) {
  __shared__ float tile[32];
  const auto cluster = cooperative_groups::this_cluster();
  tile[threadIdx.x] = threadIdx.x;
  cluster.sync();
  const float* other = cluster.map_shared_rank(tile, cluster.block_rank() ^ 1);
  out[blockIdx.x * 32 + threadIdx.x] = other[threadIdx.x + 1];
  cluster.sync();
}
