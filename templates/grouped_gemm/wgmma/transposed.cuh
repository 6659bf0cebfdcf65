// Straight from the accumulators of a product whose rows are columns of the result: 64 of them, from `block_column` of
// the tile on. A thread has two neighbouring tokens of a column in each eight; lanes of neighbouring columns exchange
// one, so that each stores two neighbouring columns of one token.
__device__ __forceinline__ void store_block(const SharedMemory&, Output* c, const float (&acc)[across / 2],
                                            const Tile& tile, int block_column, int N) {
  const int lane = threadIdx.x % 32;
  const bool odd = lane / 4 % 2;
  const int warp_column = tile.first_column + block_column + threadIdx.x / 32 % 4 * 16 + lane / 8 * 2;
#pragma unroll
  for (int eight = 0; eight < across / 8; ++eight) {
    const int row = tile.first_row + 8 * eight + lane % 4 * 2 + odd;
    Output* c_row = c + (long long)row * N;
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      const float* two = acc + 4 * eight + 2 * r;
      const float other = __shfl_xor_sync(0xffffffffu, odd ? two[0] : two[1], 4);
      const int column = warp_column + 8 * r;
      if (row < tile.end_row && column < N) {
        store_pair(c_row + column, odd ? other : two[0], odd ? two[1] : other);
      }
    }
  }
}
