#pragma once
//% include "include/attention/f32_softmax.cuh" with weight_dtype = dtype

// Keys at `keys` (of either row) and beyond cannot win and get weight 0: their score is minus infinity.
__device__ __forceinline__ void mask_scores(float (&scores)[score_registers], const int (&keys)[2], int lane) {
#pragma unroll
  for (int i = 0; i < score_registers; ++i) {
    const int key = i / 4 * 8 + lane % 4 * 2 + i % 2;
    if (key >= keys[i / 2 % 2]) scores[i] = __int_as_float(0xff800000);
  }
}

// Masks what rows from `first_row` on (`row` is this thread's first) must not see of a tile.
__device__ __forceinline__ void mask_tile(float (&scores)[score_registers], int first_key, int first_row, int row, int S,
                                          int lane) {
  if constexpr (causal) {
    if (first_key + tile_k > min(S, first_row + 1)) {
      const int keys[2] = {min(S, row + 1) - first_key, min(S, row + 9) - first_key};
      mask_scores(scores, keys, lane);
    }
  } else {
    if (first_key + tile_k > S) {
      const int keys[2] = {S - first_key, S - first_key};
      mask_scores(scores, keys, lane);
    }
  }
}
