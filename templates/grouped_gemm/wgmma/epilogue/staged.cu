// Through shared memory: 64 rows from row `block_row` of the tile on, in pieces of ${128 / result_bytes} columns, 128 bytes a row and
// swizzled. A warp has 16 rows of a piece, and stores those that are the expert's by itself, eight lanes a row. (TMA
// would store them all: it knows the end of c alone.)
constexpr int panel_columns = ${128 / result_bytes};

//% let panel_dtype = result_bytes == 2 ? 'bf16' : 'f32'
#include "include/staged_panel.cuh"

__device__ __forceinline__ void store_block(const SharedMemory& smem, Output* c, const float (&acc)[across / 2],
                                            const Tile& tile, int block_row, int N) {
  const shared_address panel = smem.staging() + threadIdx.x / 128 * 8192;
  const int lane = threadIdx.x % 32;
  const int warp_row = threadIdx.x / 32 % 4 * 16;
#pragma unroll
  for (int p = 0; p < tile_n / panel_columns; ++p) {
    __syncwarp();  // all lanes are done with the piece before
    stage_panel(panel, acc + p * (panel_columns / 2), 1.0f);
    __syncwarp();
    const int column = tile.first_column + p * panel_columns + lane % 8 * (16 / (int)sizeof(Output));
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int panel_row = warp_row + 4 * i + lane / 8;
      const int row = tile.first_row + block_row + panel_row;
      if (row < tile.end_row && column < N) {
        store_global(c + (long long)row * N + column, load_shared(panel + xor_offset<128>(panel_row, lane % 8)));
      }
    }
  }
}
