#pragma once
#include "include/stmatrix.cuh"
#include "include/swizzle.cuh"

// Of each 16 columns (eight accumulators, `acc`) a thread gets four next to each other, from column_of(lane) on: of row
// `row` (r = 0) or `row + 8` (r = 1). Accumulators are columns 2 quad + 0..1 of each eight: even lanes take their
// neighbour's of the first eight, odd lanes of the second.
struct ColumnsInOrder {
  __device__ __forceinline__ static int column_of(int lane) { return (lane & 1) * 8 + (lane & 2) * 2; }

  __device__ __forceinline__ static float4 columns_of(const float* acc, int r, int lane) {
    const float* first = acc + 2 * r;
    const float* second = first + 4;
    const bool odd = lane & 1;
    const float x = __shfl_xor_sync(0xffffffffu, odd ? first[0] : second[0], 1);
    const float y = __shfl_xor_sync(0xffffffffu, odd ? first[1] : second[1], 1);
    return odd ? make_float4(x, y, second[0], second[1]) : make_float4(first[0], first[1], x, y);
  }

  // Sixteen columns of the warp's 16 rows, the `part`-th of a swizzled panel of 64; factors: of rows 0-7 and 8-15.
  // Accumulators lie as stmatrix takes them: matrix 2 half + r is eight columns of eight rows.
  __device__ __forceinline__ static void stage(shared_address panel, int part, const float* acc,
                                               const float (&factors)[2], int lane) {
    const int row = threadIdx.x / 32 % 4 * 16 + lane % 16;
    store_matrices(panel + xor_offset<128>(row, 2 * part + lane / 16),
                   rounded_pair(acc[0] * factors[0], acc[1] * factors[0]),
                   rounded_pair(acc[2] * factors[1], acc[3] * factors[1]),
                   rounded_pair(acc[4] * factors[0], acc[5] * factors[0]),
                   rounded_pair(acc[6] * factors[1], acc[7] * factors[1]));
  }
};
