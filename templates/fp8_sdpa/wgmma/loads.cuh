// Tiles brought by TMA.

// Rows of a head, a panel of their columns after the other.
__device__ __forceinline__ void load_rows(shared_address to, const TensorMap& map, shared_address full, int rows,
                                          int first_row, int head) {
#pragma unroll
  for (int p = 0; p < row_panels; ++p) {
    load_box(to + p * rows * row_bytes, map, full, p * row_bytes, first_row, head);
  }
}

__device__ __forceinline__ void load_queries(const SharedMemory& smem, const TensorMap& q_map, const Work& work) {
  arrive_expecting(smem.query_full(), tile_q * head_dim);
  load_rows(smem.query(), q_map, smem.query_full(), tile_q, work.first_row, work.head);
}

__device__ __forceinline__ void load_keys(const SharedMemory& smem, const TensorMap& k_map, int group,
                                          const RingPlace<stages>& place, int first_key, int head) {
  wait_for(smem.barrier(keys_free, group, place.stage), place.free_parity());
  const shared_address full = smem.barrier(keys_full, group, place.stage);
  arrive_expecting(full, tile_k * head_dim);
//% if v_path == 'given'
  // Of each 16 keys row 8 h + 2 q + e is key 4 q + 2 h + e: the scores of a thread are then those of the keys
  // 4 quad .. 4 quad + 3, as the caller's values want them.
#pragma unroll
  for (int p = 0; p < row_panels; ++p) {
    const shared_address rows = smem.keys(group, place.stage) + p * tile_k * row_bytes;
#pragma unroll
    for (int sixteen = 0; sixteen < tile_k / 16; ++sixteen) {
      load_box(rows + sixteen * 16 * row_bytes, k_map, full, p * row_bytes, 0, first_key / 4 + 4 * sixteen, 0, head);
    }
  }
//% else
  load_rows(smem.keys(group, place.stage), k_map, full, tile_k, first_key, head);
//% end
}

//% if v_path == 'prepass' || v_path == 'given'
__device__ __forceinline__ void load_values(const SharedMemory& smem, const TensorMap& v_map, int group,
                                            const RingPlace<stages>& place, int first_key, int head) {
  wait_for(smem.barrier(operand_free, group, place.stage), place.free_parity());
  const shared_address full = smem.barrier(operand_full, group, place.stage);
  arrive_expecting(full, tile_k * head_dim);
#pragma unroll
  for (int p = 0; p < tile_k / panel; ++p) {
    load_box(smem.value_operand(group, place.stage) + p * panel_bytes, v_map, full, first_key + p * panel, 0, head);
  }
}
//% else
__device__ __forceinline__ void load_values(const SharedMemory& smem, const TensorMap& v_map, int group,
                                            const RingPlace<stages>& place, int first_key, int head) {
  wait_for(smem.barrier(values_free, group, place.stage), place.free_parity());
  const shared_address full = smem.barrier(values_full, group, place.stage);
  arrive_expecting(full, tile_k * head_dim);
  load_rows(smem.values(group, place.stage), v_map, full, tile_k, first_key, head);
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
