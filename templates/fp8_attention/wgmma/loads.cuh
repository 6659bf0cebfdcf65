// Tiles brought by TMA. Maps have the coordinates column, row, head, batch and one that is always 0.

// Rows of a head, a panel of their columns after the other.
__device__ __forceinline__ void load_rows(shared_address to, const TensorMap& map, shared_address full, int rows,
                                          int first_row, int head, int batch) {
#pragma unroll
  for (int p = 0; p < row_panels; ++p) {
    load_box(to + p * rows * row_bytes, map, full, p * row_bytes, first_row, head, batch, 0);
  }
}
//% if q_operand != 'global'

__device__ __forceinline__ void load_queries(const SharedMemory& smem, const TensorMap& q_map, const Work& work,
                                             const Problem& problem) {
  arrive_expecting(smem.query_full(), tile_q * head_dim);
  load_rows(smem.query(), q_map, smem.query_full(), tile_q, problem.first_query(work) + work.first_row, problem.query_head(work, 0), problem.tensor_batch(work));
}
//% end

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

__device__ __forceinline__ void load_keys(const SharedMemory& smem, const TensorMap& k_map, int group,
                                          const RingPlace<stages>& place, int first_key, const Work& work,
                                          const Problem& problem) {
  wait_for(smem.barrier(keys_free, group, place.stage), place.free_parity());
  const shared_address full = smem.barrier(keys_full, group, place.stage);
  arrive_expecting(full, tile_k * head_dim);
  load_tile(smem.keys(group, place.stage), k_map, full, first_key, work, problem);
}

//% if v_path == 'prepass'
__device__ __forceinline__ void load_values(const SharedMemory& smem, const TensorMap& v_map, int group,
                                            const RingPlace<stages>& place, int first_key, const Work& work,
                                            const Problem& problem) {
  wait_for(smem.barrier(operand_free, group, place.stage), place.free_parity());
  const shared_address full = smem.barrier(operand_full, group, place.stage);
  arrive_expecting(full, tile_k * head_dim);
#pragma unroll
  for (int p = 0; p < tile_k / panel; ++p) {
    load_box(smem.value_operand(group, place.stage) + p * panel_bytes, v_map, full, first_key + p * panel, 0,
             work.batch * problem.kv_heads + work.kv_head);
  }
}
//% else
__device__ __forceinline__ void load_values(const SharedMemory& smem, const TensorMap& v_map, int group,
                                            const RingPlace<stages>& place, int first_key, const Work& work,
                                            const Problem& problem) {
  wait_for(smem.barrier(values_free, group, place.stage), place.free_parity());
  const shared_address full = smem.barrier(values_full, group, place.stage);
  arrive_expecting(full, tile_k * head_dim);
  load_tile(smem.values(group, place.stage), v_map, full, first_key, work, problem);
}

// The part of one of the preparing warps: the values of a tile become an operand of the second product.
__device__ __forceinline__ void prepare_values(const SharedMemory& smem, int group, const RingPlace<stages>& place,
                                               int warp, int lane) {
  wait_for(smem.barrier(values_full, group, place.stage), place.full_parity());
  wait_for(smem.barrier(operand_free, group, place.stage), place.free_parity());
  prepare_tile<preparing_warps>(smem.value_operand(group, place.stage), smem.values(group, place.stage), warp, lane);
  publish_to_async_proxy();
  __syncwarp();
  if (lane == 0) {
    arrive(smem.barrier(operand_full, group, place.stage));
    arrive(smem.barrier(values_free, group, place.stage));
  }
}
//% end
