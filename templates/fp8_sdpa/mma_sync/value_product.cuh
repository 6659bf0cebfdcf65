// acc_o += p v for a warp's query rows and one value tile.

//% let depth = pv_math == 'f16' ? 16 : 32
constexpr int key_step = ${depth};  // depth of a product
constexpr int column_blocks = head_dim / 16;

//% if v_layout == 'transposed'
#include "transposed_values.cuh"
//% else
#include "values.cuh"
//% end

// The weights of one key step as the product's operand; `s` are the step's scores of the warp's 16 rows.
__device__ __forceinline__ void make_weights(u32 (&p)[4], const float (*s)[4], float scale,
                                             const float (&offset)[2], float (&row_sum)[2]) {
//% if pv_math == 'f16'
  p[0] = weights(s[0][0], s[0][1], scale, offset[0], row_sum[0]);
  p[1] = weights(s[0][2], s[0][3], scale, offset[1], row_sum[1]);
  p[2] = weights(s[1][0], s[1][1], scale, offset[0], row_sum[0]);
  p[3] = weights(s[1][2], s[1][3], scale, offset[1], row_sum[1]);
//% else
  p[0] = weights(s[0][0], s[0][1], s[1][0], s[1][1], scale, offset[0], row_sum[0]);
  p[1] = weights(s[0][2], s[0][3], s[1][2], s[1][3], scale, offset[1], row_sum[1]);
  p[2] = weights(s[2][0], s[2][1], s[3][0], s[3][1], scale, offset[0], row_sum[0]);
  p[3] = weights(s[2][2], s[2][3], s[3][2], s[3][3], scale, offset[1], row_sum[1]);
//% end
}
//% if sum_by == 'ones'

// A product with a column of ones sums the weights just as the output's products see them; every lane of the
// quad gets it.
__device__ __forceinline__ void add_row_sum(float (&row_sum)[2], const u32 (&p)[4]) {
  float sum[4] = {row_sum[0], 0.0f, row_sum[1], 0.0f};
//%   if pv_math == 'f16'
  mma_f16(sum, p, 0x3c003c00u, 0x3c003c00u);
//%   else
  mma_e4m3(sum, p, 0x38383838u, 0x38383838u);
//%   end
  row_sum[0] = sum[0];
  row_sum[1] = sum[2];
}
//% end

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
//% if sum_by == 'ones'
      add_row_sum(row_sum[m], p[m]);
//% end
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
