#pragma once
// Boxes of a work's tensors, brought by TMA. Maps have the coordinates column, row and head.

// Rows of a head, a panel of their columns after the other.
__device__ __forceinline__ void load_rows(shared_address to, const TensorMap& map, shared_address full, int rows,
                                          int first_row, int head) {
#pragma unroll
  for (int p = 0; p < row_panels; ++p) {
    load_box(to + p * rows * row_bytes, map, full, p * row_bytes, first_row, head);
  }
}

__device__ __forceinline__ void load_query_box(shared_address to, const TensorMap& map, shared_address full, int column,
                                               int row, const Work& work, const Problem&) {
  load_box(to, map, full, column, row, work.head);
}

// Of each 16 keys row 8 h + 2 q + e is key 4 q + 2 h + e: the scores of a thread are then those of the keys
// 4 quad .. 4 quad + 3, as the caller's values want them.
__device__ __forceinline__ void load_permuted_keys(shared_address to, const TensorMap& map, shared_address full,
                                                   int first_key, const Work& work) {
#pragma unroll
  for (int p = 0; p < row_panels; ++p) {
#pragma unroll
    for (int sixteen = 0; sixteen < tile_k / 16; ++sixteen) {
      load_box(to + (p * tile_k + sixteen * 16) * row_bytes, map, full, p * row_bytes, 0, first_key / 4 + 4 * sixteen, 0,
               work.head);
    }
  }
}

// Rows of keys or values from `first_key` on.
__device__ __forceinline__ void load_tile(shared_address to, const TensorMap& map, shared_address full, int first_key,
                                          const Work& work, const Problem&) {
  if constexpr (v_path == ValuePath::given) {
    load_permuted_keys(to, map, full, first_key, work);
  } else {
    load_rows(to, map, full, tile_k, first_key, work.head);
  }
}
