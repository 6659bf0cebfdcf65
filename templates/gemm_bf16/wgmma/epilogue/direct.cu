// Straight from the accumulators. A thread has two neighbouring elements of each eight; even lanes take their
// neighbour's of the first eight of each 16, odd lanes those of the second, and store four.
__device__ __forceinline__ void store_results(const SharedMemory&, const TensorMap&, Result* c,
                                              const float (&acc)[m_blocks][tile_n / 2], const Tile& tile, int own_row,
                                              int M, int N) {
  const int lane = threadIdx.x % 32;
  const bool odd = lane & 1;
  const int lane_column = tile.first_column + (lane & 1) * 8 + (lane & 2) * 2;
#pragma unroll
  for (int block = 0; block < m_blocks; ++block) {
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      const int row = tile.first_row + own_row + 64 * block + threadIdx.x / 32 % 4 * 16 + 8 * r + lane / 4;
      Result* result_row = c + ((long long)tile.split * M + row) * N;
#pragma unroll
      for (int part = 0; part < tile_n / 16; ++part) {
        const float* first = acc[block] + 8 * part + 2 * r;
        const float* second = first + 4;
        const float x = __shfl_xor_sync(0xffffffffu, odd ? first[0] : second[0], 1);
        const float y = __shfl_xor_sync(0xffffffffu, odd ? first[1] : second[1], 1);
        const float4 four = odd ? make_float4(x, y, second[0], second[1]) : make_float4(first[0], first[1], x, y);
        const int column = lane_column + 16 * part;
        if (row < M && column < N) store_four(result_row + column, four);
      }
    }
  }
}
