#pragma once
// The queries of a warpgroup as operands: in shared memory, where each product reads them,
struct SharedQueries {
  matrix_descriptor rows;

  __device__ __forceinline__ void load(shared_address tile, int block_row, int, int) {
    rows = describe_matrix<head_dim>(tile + block_row * head_dim);
  }
  __device__ __forceinline__ matrix_descriptor operand(int block, int step) const {
    return along_rows(rows, block * 64 * head_dim + 32 * step);
  }
};

// or in registers.
struct OwnQueries {
  e4m3x4 codes[m_tiles][head_dim / 32][4];

  __device__ __forceinline__ void load(shared_address tile, int, int warp_row, int lane) {
#pragma unroll
    for (int block = 0; block < m_tiles; ++block) {
#pragma unroll
      for (int step = 0; step < head_dim / 32; ++step) {
        load_matrices(codes[block][step],
                      tile + xor_offset<head_dim>(warp_row + 64 * block + lane % 16, 2 * step + lane / 16));
      }
    }
  }
  __device__ __forceinline__ const e4m3x4* operand(int block, int step) const { return codes[block][step]; }
};
typedef ${q_operand == 'smem' ? 'SharedQueries' : 'OwnQueries'} Queries;

// Scores of all rows over the depths from 32 `step` on.
template <int step = 0>
__device__ __forceinline__ void multiply_qk(float (&scores)[m_tiles][n_tiles][4], const Queries& queries,
                                            matrix_descriptor keys) {
#pragma unroll
  for (int block = 0; block < m_tiles; ++block) {
    multiply<(step > 0)>(scores[block][0], queries.operand(block, step), along_rows(keys, 32 * step));
  }
  if constexpr (step + 1 < head_dim / 32) multiply_qk<step + 1>(scores, queries, keys);
}
