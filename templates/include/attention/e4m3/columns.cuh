#pragma once
// Of each 16 columns (eight accumulators, `acc`) a thread has four next to each other, from column_of(lane) on: of row
// `row` (r = 0) or `row + 8` (r = 1). Even columns were rows 0-7 of the transposed values, odd ones rows 8-15.
struct ColumnsInTurns {
  __device__ __forceinline__ static int column_of(int lane) { return lane % 4 * 4; }

  __device__ __forceinline__ static float4 columns_of(const float* acc, int r, int) {
    const float* even = acc + 2 * r;
    const float* odd = even + 4;
    return make_float4(even[0], odd[0], even[1], odd[1]);
  }

  // Sixteen columns of the warp's 16 rows, the `part`-th of a swizzled panel of 64; factors: of rows 0-7 and 8-15. A
  // thread has four columns next to each other, half a chunk, where stmatrix would take two.
  __device__ __forceinline__ static void stage(shared_address panel, int part, const float* acc,
                                               const float (&factors)[2], int lane) {
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      const int row = threadIdx.x / 32 % 4 * 16 + lane / 4 + 8 * r;
      store_shared(panel + xor_offset<128>(row, 2 * part + lane % 4 / 2) + lane % 2 * 8,
                   rounded_columns(columns_of(acc, r, lane), factors[r]));
    }
  }
};
