// Several sums over the threads of a row at once; needs row_reduction.cuh.
template <int count>
struct RowSums {
  float of_warp[2][count][cta_rows * row_warps];        // two sets take turns, as those of Partials
};

// All threads of a row get the sums. All rows of a warp take part.
template <int count>
__device__ __forceinline__ void sum_row(float (&values)[count], RowSums<count>& sums, int& turn) {
#pragma unroll
  for (int i = 0; i < count; ++i) values[i] = combine_lanes<Sum, row_threads < 32 ? row_threads : 32>(values[i]);
  if constexpr (row_threads > 32) {
    const int warp = threadIdx.x / 32;
    const int first_warp = warp / row_warps * row_warps;
    float(*set)[cta_rows * row_warps] = sums.of_warp[turn];
    turn ^= 1;
    if (threadIdx.x % 32 == 0) {
#pragma unroll
      for (int i = 0; i < count; ++i) set[i][warp] = values[i];
    }
    sync_row();
#pragma unroll
    for (int i = 0; i < count; ++i) {
//% if reduction == 'serial'
      values[i] = set[i][first_warp];
#pragma unroll
      for (int j = 1; j < row_warps; ++j) values[i] += set[i][first_warp + j];
//% else
      values[i] = combine_lanes<Sum, row_warps>(set[i][first_warp + threadIdx.x % row_warps]);
//% end
    }
  }
}
