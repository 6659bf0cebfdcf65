// Straight from the accumulators: 64 rows from row `block_row` of the tile on, those that are the expert's. A thread
// has two neighbouring elements of each eight; even lanes take their neighbour's of the first eight of each 16, odd
// lanes those of the second, and store four.
__device__ __forceinline__ void store_block(const SharedMemory&, Output* c, const float (&acc)[across / 2],
                                            const Tile& tile, int block_row, int N) {
  const int lane = threadIdx.x % 32;
  const bool odd = lane & 1;
  const int lane_column = tile.first_column + (lane & 1) * 8 + (lane & 2) * 2;
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    const int row = tile.first_row + block_row + threadIdx.x / 32 % 4 * 16 + 8 * r + lane / 4;
    Output* c_row = c + (long long)row * N;
#pragma unroll
    for (int part = 0; part < tile_n / 16; ++part) {
      const float* first = acc + 8 * part + 2 * r;
      const float* second = first + 4;
      const float x = __shfl_xor_sync(0xffffffffu, odd ? first[0] : second[0], 1);
      const float y = __shfl_xor_sync(0xffffffffu, odd ? first[1] : second[1], 1);
      const float4 four = odd ? make_float4(x, y, second[0], second[1]) : make_float4(first[0], first[1], x, y);
      const int column = lane_column + 16 * part;
      if (row < tile.end_row && column < N) store_four(c_row + column, four);
    }
  }
}
