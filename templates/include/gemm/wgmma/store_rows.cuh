// Straight from the accumulators: 64 rows from `first_row` on, those ahead of `end_row`. Row 0 is row `c_rows` of c. A
// thread has two neighbouring elements of each eight; even lanes take their neighbour's of the first eight of each 16,
// odd lanes those of the second, and store four.
__device__ __forceinline__ void store_rows(Result* c, const float (&acc)[across / 2], long long c_rows, int first_row,
                                           int end_row, int first_column, int N) {
  const int lane = threadIdx.x % 32;
  const bool odd = lane & 1;
  const int lane_column = first_column + (lane & 1) * 8 + (lane & 2) * 2;
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    const int row = first_row + threadIdx.x / 32 % 4 * 16 + 8 * r + lane / 4;
    Result* c_row = c + (c_rows + row) * N;
#pragma unroll
    for (int part = 0; part < tile_n / 16; ++part) {
      const float* first = acc + 8 * part + 2 * r;
      const float* second = first + 4;
      const float x = __shfl_xor_sync(0xffffffffu, odd ? first[0] : second[0], 1);
      const float y = __shfl_xor_sync(0xffffffffu, odd ? first[1] : second[1], 1);
      const float4 four = odd ? make_float4(x, y, second[0], second[1]) : make_float4(first[0], first[1], x, y);
      const int column = lane_column + 16 * part;
      if (row < end_row && column < N) store_four(c_row + column, four);
    }
  }
}
