#pragma once
// Tiles of a work, brought by TMA once their room is free.
// The 64 rows of a row warpgroup.
__device__ __forceinline__ void load_query_rows(const SharedMemory& smem, const TensorMap& map, int row_part,
                                                const Work& work, const Problem& problem) {
  const shared_address full = smem.query_full(row_part);
  arrive_expecting(full, 64 * head_dim);
#pragma unroll
  for (int p = 0; p < row_panels; ++p) {
    load_query_box(smem.query() + (p * tile_q + row_part * 64) * row_bytes, map, full, p * row_bytes,
                   work.first_row + row_part * 64, work, problem);
  }
}

__device__ __forceinline__ void load_keys(const SharedMemory& smem, const TensorMap& k_map, int group,
                                          const RingPlace<stages>& place, int first_key, const Work& work,
                                          const Problem& problem) {
  wait_for(smem.barrier(keys_free, group, place.stage), place.free_parity());
  const shared_address full = smem.barrier(keys_full, group, place.stage);
  arrive_expecting(full, tile_k * head_dim);
  load_tile(smem.keys(group, place.stage), k_map, full, first_key, work, problem);
}

__device__ __forceinline__ void load_values(const SharedMemory& smem, const TensorMap& v_map, int group,
                                            const RingPlace<stages>& place, int first_key, const Work& work,
                                            const Problem& problem) {
  const Event free_event = values_arrive_as_operand ? operand_free : values_free;
  const Event full_event = values_arrive_as_operand ? operand_full : values_full;
  wait_for(smem.barrier(free_event, group, place.stage), place.free_parity());
  const shared_address full = smem.barrier(full_event, group, place.stage);
  arrive_expecting(full, tile_k * head_dim);
  if constexpr (values_arrive_as_operand) {
#pragma unroll
    for (int p = 0; p < tile_k / panel; ++p) {
      load_box(smem.value_operand(group, place.stage) + p * panel_bytes, v_map, full, first_key + p * panel, 0,
               problem.values_head(work));
    }
  } else {
    load_tile(smem.values(group, place.stage), v_map, full, first_key, work, problem);
  }
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
