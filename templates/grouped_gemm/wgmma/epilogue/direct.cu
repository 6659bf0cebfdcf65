#include "include/gemm/wgmma/store_rows.cuh"

__device__ __forceinline__ void store_block(const SharedMemory&, Output* c, const float (&acc)[across / 2],
                                            const Tile& tile, int block_row, int N) {
  store_rows(c, acc, 0, tile.first_row + block_row, tile.end_row, tile.first_column, N);
}
