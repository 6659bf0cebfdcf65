// Of each 16 columns (eight accumulators, `acc`) a thread gets four next to each other, from column_of(lane) on: of row
// `row` (r = 0) or `row + 8` (r = 1). Accumulators are columns 2 quad + 0..1 of each eight: even lanes take their
// neighbour's of the first eight, odd lanes of the second.
__device__ __forceinline__ int column_of(int lane) { return (lane & 1) * 8 + (lane & 2) * 2; }

__device__ __forceinline__ float4 columns_of(const float* acc, int r, int lane) {
  const float* first = acc + 2 * r;
  const float* second = first + 4;
  const bool odd = lane & 1;
  const float x = __shfl_xor_sync(0xffffffffu, odd ? first[0] : second[0], 1);
  const float y = __shfl_xor_sync(0xffffffffu, odd ? first[1] : second[1], 1);
  return odd ? make_float4(x, y, second[0], second[1]) : make_float4(first[0], first[1], x, y);
}
