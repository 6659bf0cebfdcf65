// acc_o += p v for a warp's query rows and one value tile.

constexpr int key_step = f16_weights ? 16 : 32;  // depth of a product
constexpr int column_blocks = head_dim / 16;

// Operands of two products, those of acc_o[2 b] and acc_o[2 b + 1]: {first 0, first 1, second 0, second 1}.
typedef u32 ValueBlock[4];

// One column of each product: 16 keys for f16 products, or 32 as they are.
__device__ __forceinline__ void set_block(ValueBlock& block, e4m3x4 first, e4m3x4 second) {
  block[0] = first_pair(first);
  block[1] = second_pair(first);
  block[2] = first_pair(second);
  block[3] = second_pair(second);
}
__device__ __forceinline__ void set_block(ValueBlock& block, e4m3x4 first0, e4m3x4 first1, e4m3x4 second0,
                                          e4m3x4 second1) {
  block[0] = first0;
  block[1] = first1;
  block[2] = second0;
  block[3] = second1;
}

//% if v_layout == 'transposed'
#include "transposed_values.cuh"
//% else
#include "values.cuh"
//% end
typedef ${copy == 'direct' ? 'RegisterValues' : 'shared_address'} ValueTile;

// The weights of one key step as the product's operand; `s` are the step's scores of the warp's 16 rows. A template: an
// exponential that makes codes has no f16 weights.
template <typename ScoreTile>
__device__ __forceinline__ void make_weights(u32 (&p)[4], const ScoreTile* s, float scale, const float (&offset)[2],
                                             float (&row_sum)[2]) {
  if constexpr (f16_weights) {
    p[0] = weights(s[0][0], s[0][1], scale, offset[0], row_sum[0]);
    p[1] = weights(s[0][2], s[0][3], scale, offset[1], row_sum[1]);
    p[2] = weights(s[1][0], s[1][1], scale, offset[0], row_sum[0]);
    p[3] = weights(s[1][2], s[1][3], scale, offset[1], row_sum[1]);
  } else {
    p[0] = weights(s[0][0], s[0][1], s[1][0], s[1][1], scale, offset[0], row_sum[0]);
    p[1] = weights(s[0][2], s[0][3], s[1][2], s[1][3], scale, offset[1], row_sum[1]);
    p[2] = weights(s[2][0], s[2][1], s[3][0], s[3][1], scale, offset[0], row_sum[0]);
    p[3] = weights(s[2][2], s[2][3], s[3][2], s[3][3], scale, offset[1], row_sum[1]);
  }
}

// A product with a column of ones sums the weights just as the output's products see them; every lane of the
// quad gets it.
__device__ __forceinline__ void add_row_sum(float (&row_sum)[2], const u32 (&p)[4]) {
  constexpr u32 ones = f16_weights ? 0x3c003c00u : 0x38383838u;
  float sum[4] = {row_sum[0], 0.0f, row_sum[1], 0.0f};
  mma_${pv_math}(sum, p, ones, ones);
  row_sum[0] = sum[0];
  row_sum[1] = sum[2];
}

__device__ __forceinline__ void multiply_pv(float (&acc_o)[m_tiles][o_tiles][4], float (&row_sum)[m_tiles][2],
                                            const float (&scores)[m_tiles][key_tiles][4],
                                            const float (&row_max)[m_tiles][2], const ValueTile& value_tile,
                                            float scale, int lane) {
  float offset[m_tiles][2];
#pragma unroll
  for (int m = 0; m < m_tiles; ++m) {
    offset[m][0] = weight_offset(row_max[m][0]);
    offset[m][1] = weight_offset(row_max[m][1]);
  }
#pragma unroll
  for (int key = 0; key < tile_k; key += key_step) {
    u32 p[m_tiles][4];
#pragma unroll
    for (int m = 0; m < m_tiles; ++m) {
      make_weights(p[m], scores[m] + key / 8, scale, offset[m], row_sum[m]);
      if constexpr (sum_by == RowSum::ones) add_row_sum(row_sum[m], p[m]);
    }
#pragma unroll
    for (int block = 0; block < column_blocks; block += load_blocks) {
      ValueBlock values[load_blocks];
      load_values(values, value_tile, key, block, lane);
#pragma unroll
      for (int b = 0; b < load_blocks; ++b) {
#pragma unroll
        for (int m = 0; m < m_tiles; ++m) {
          mma_${pv_math}(acc_o[m][2 * (block + b)], p[m], values[b][0], values[b][1]);
          mma_${pv_math}(acc_o[m][2 * (block + b) + 1], p[m], values[b][2], values[b][3]);
        }
      }
    }
  }
}
