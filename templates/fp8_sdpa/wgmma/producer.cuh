// The producer: brings tiles to shared memory ahead of the consumers${v_transpose == 'producer' ? ' and transposes the values' : ''}.

//% if v_transpose != 'producer'
__device__ __forceinline__ void produce(const SharedMemory& smem, const TensorMap& q_map, const TensorMap& k_map,
                                        const TensorMap& v_map, int head, int tiles) {
//%   if q_operand != 'global'
  arrive_expecting(smem.query_full(), ${q_bytes});
  load_box(smem.query(), q_map, smem.query_full(), 0, blockIdx.x * tile_q, head);
//%   end
  RingPlace<stages> place;
  for (int first = 0; first < tiles; first += groups) {
#pragma unroll
    for (int group = 0; group < groups; ++group) {
      if (first + group < tiles) {
        load_keys(smem, k_map, group, place, first_key_of(first + group, tiles), head);
//%   if v_transpose == 'prepass' && pdl != 'none'
        if (first + group == 0) wait_for_launch_ahead();  // the transposed values
//%   end
        load_values(smem, v_map, group, place, first_key_of(first + group, tiles), head);
      }
    }
    place.advance();
  }
}
//% else
__device__ __forceinline__ void produce(const SharedMemory& smem, const TensorMap& q_map, const TensorMap& k_map,
                                        const TensorMap& v_map, int head, int tiles, int warp, int lane) {
  const bool loads = warp == 0 && lane == 0;
  RingPlace<stages> loaded;
  const auto load_round = [&](int first) {
#pragma unroll
    for (int group = 0; group < groups; ++group) {
      if (loads && first + group < tiles) {
        load_keys(smem, k_map, group, loaded, first_key_of(first + group, tiles), head);
        load_values(smem, v_map, group, loaded, first_key_of(first + group, tiles), head);
      }
    }
    loaded.advance();
    __syncwarp();
  };
//%   if q_operand != 'global'
  if (loads) {
    arrive_expecting(smem.query_full(), ${q_bytes});
    load_box(smem.query(), q_map, smem.query_full(), 0, blockIdx.x * tile_q, head);
  }
//%   end
  for (int stage = 0; stage < stages; ++stage) load_round(stage * groups);

  RingPlace<stages> place;
  for (int first = 0; first < tiles; first += groups) {
#pragma unroll
    for (int group = 0; group < groups; ++group) {
      if (first + group < tiles) transpose_values(smem, group, place, warp, lane);
    }
    place.advance();
    load_round(first + stages * groups);
  }
}
//% end
