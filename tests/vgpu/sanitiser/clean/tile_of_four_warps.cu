// run: --block 256 --arg out=int[256]:unset --arg in=int[256]:iota
// Cooperative groups: one lane acquires what other warps have released, and a shuffle orders its warp after it.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>

namespace cg = cooperative_groups;

__global__ void sums(int* out, const int* in) {
  __shared__ cg::block_tile_memory<256> memory;
  const auto block = cg::this_thread_block(memory);
  const auto tile = cg::tiled_partition<128>(block);
  int value = in[block.thread_rank()];
  for (int round = 0; round < 3; ++round) {
    value = cg::reduce(tile, value % 7, cg::plus<int>());
    tile.sync();
    value += cg::inclusive_scan(tile, value % 5);
  }
  out[block.thread_rank()] = value;
}
