// Of each 16 columns (eight accumulators, `acc`) a thread has four next to each other, from column_of(lane) on: of row
// `row` (r = 0) or `row + 8` (r = 1). Even columns were rows 0-7 of the transposed values, odd ones rows 8-15.
__device__ __forceinline__ int column_of(int lane) { return lane % 4 * 4; }

__device__ __forceinline__ float4 columns_of(const float* acc, int r, int) {
  const float* even = acc + 2 * r;
  const float* odd = even + 4;
  return make_float4(even[0], odd[0], even[1], odd[1]);
}
