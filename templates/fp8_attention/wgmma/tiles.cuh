// Boxes of a work's tensors, brought by TMA. Maps have the coordinates column, row, head, batch and one that is always 0.

// Rows of a head, a panel of their columns after the other.
__device__ __forceinline__ void load_rows(shared_address to, const TensorMap& map, shared_address full, int rows,
                                          int first_row, int head, int batch) {
#pragma unroll
  for (int p = 0; p < row_panels; ++p) {
    load_box(to + p * rows * row_bytes, map, full, p * row_bytes, first_row, head, batch, 0);
  }
}

__device__ __forceinline__ void load_query_box(shared_address to, const TensorMap& map, shared_address full, int column,
                                               int row, const Work& work, const Problem& problem) {
  load_box(to, map, full, column, problem.first_query(work) + row, problem.query_head(work, 0),
           problem.tensor_batch(work), 0);
}

// Rows of keys or values from `first_key` of the batch on.
__device__ __forceinline__ void load_tile(shared_address to, const TensorMap& map, shared_address full, int first_key,
                                          const Work& work, const Problem& problem) {
//% if page > 0
  // In boxes that lie in one page each. Keys behind the last one are of its page: they are masked, but not any bytes.
  const int* pages = problem.page_table + work.batch * ((problem.S_kv + ${page - 1}) / ${page});
#pragma unroll
  for (int box = 0; box < tile_k / ${box_rows}; ++box) {
    const int key = first_key + box * ${box_rows};
    const int there = key < work.keys ? key : (work.keys - 1) / ${box_rows} * ${box_rows};
    const int page = pages[there / ${page}];
#pragma unroll
    for (int p = 0; p < row_panels; ++p) {
      load_box(to + (p * tile_k + box * ${box_rows}) * row_bytes, map, full, p * row_bytes, there % ${page}, work.kv_head,
               page, 0);
    }
  }
//% elif cu_seqlens
  load_rows(to, map, full, tile_k, work.first_key + first_key, work.kv_head, 0);
//% else
  load_rows(to, map, full, tile_k, first_key, work.kv_head, work.batch);
//% end
}
