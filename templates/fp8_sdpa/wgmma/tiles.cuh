// Key tiles in the order in which they are worked on; every groups-th belongs to the same group.
__device__ __forceinline__ int first_key_of(int i, int tiles) {
//% if kv_order == 'forward'
  return i * tile_k;
//% else
  return (tiles - 1 - i) * tile_k;
//% end
}

__device__ __forceinline__ void load_keys(const SharedMemory& smem, const TensorMap& k_map, int group,
                                          const RingPlace<stages>& place, int first_key, int head) {
  wait_for(smem.barrier(keys_free, group, place.stage), place.free_parity());
  const shared_address full = smem.barrier(keys_full, group, place.stage);
  arrive_expecting(full, tile_k * head_dim);
  load_box(smem.keys(group, place.stage), k_map, full, 0, first_key, head);
}

__device__ __forceinline__ void load_values(const SharedMemory& smem, const TensorMap& v_map, int group,
                                            const RingPlace<stages>& place, int first_key, int head) {
//% if v_transpose == 'prepass'
  wait_for(smem.barrier(transposed_free, group, place.stage), place.free_parity());
  const shared_address full = smem.barrier(transposed_full, group, place.stage);
  arrive_expecting(full, tile_k * head_dim);
#pragma unroll
  for (int p = 0; p < tile_k / panel; ++p) {
    load_box(smem.transposed(group, place.stage) + p * panel_bytes, v_map, full, first_key + p * panel, 0, head);
  }
//% else
  wait_for(smem.barrier(values_free, group, place.stage), place.free_parity());
  const shared_address full = smem.barrier(values_full, group, place.stage);
  arrive_expecting(full, tile_k * head_dim);
  load_box(smem.values(group, place.stage), v_map, full, 0, first_key, head);
//% end
}
//% if v_transpose != 'prepass'

// The part of one of the transposing warps.
__device__ __forceinline__ void transpose_values(const SharedMemory& smem, int group, const RingPlace<stages>& place,
                                                 int warp, int lane) {
  wait_for(smem.barrier(values_full, group, place.stage), place.full_parity());
  wait_for(smem.barrier(transposed_free, group, place.stage), place.free_parity());
  transpose_tile<transposing_warps>(smem.transposed(group, place.stage), smem.values(group, place.stage), warp, lane);
  publish_to_async_proxy();
  __syncwarp();
  if (lane == 0) {
    arrive(smem.barrier(transposed_full, group, place.stage));
    arrive(smem.barrier(values_free, group, place.stage));
  }
}
//% end
