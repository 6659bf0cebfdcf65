#include "include/gemm/wgmma/store_rows.cuh"

__device__ __forceinline__ void store_results(const SharedMemory&, const TensorMap&, Result* c,
                                              const float (&acc)[m_blocks][tile_n / 2], const Tile& tile, int own_row,
                                              int M, int N) {
#pragma unroll
  for (int block = 0; block < m_blocks; ++block) {
    const int first_row = tile.first_row + own_row + 64 * block;
    store_rows(c, acc[block], (long long)tile.split * M, first_row, M, tile.first_column, N);
  }
}
