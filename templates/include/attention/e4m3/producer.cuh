// The producer: brings tiles to shared memory ahead of the consumers${producer_prepares ? ' and prepares the values' : ''}.

//% if !producer_prepares
__device__ __forceinline__ void produce(const SharedMemory& smem, const TensorMap& q_map, const TensorMap& k_map,
                                        const TensorMap& v_map, const Problem& problem) {
  RingPlace<stages> place;
//%   if q_operand != 'global' && persistent
  u32 query_parity = 1;  // of the phase in which the query tile was freed
//%   end
//%   if v_path == 'prepass' && pdl != 'none'
  bool values_are_there = false;
//%   end
  for_each_work(problem, [&](const Work& work) {
//%   if q_operand != 'global'
//%     let query_place = 'work, problem'
//%     include "include/attention/load_queries.cuh"
//%     if !persistent
    load_queries();
//%     end
//%   end
    for (int first = first_tile_of(work, 0); first < work.tiles; first += tile_step) {
#pragma unroll
      for (int group = 0; group < groups; ++group) {
        if (first + group < work.tiles) {
          load_keys(smem, k_map, group, place, first_key_of(first + group, work), work, problem);
//%   if q_operand != 'global' && persistent
          load_queries_once();
//%   end
//%   if v_path == 'prepass' && pdl != 'none'
          if (!values_are_there) wait_for_launch_ahead();
          values_are_there = true;
//%   end
          load_values(smem, v_map, group, place, first_key_of(first + group, work), work, problem);
        }
      }
      place.advance();
    }
//%   if q_operand != 'global' && persistent
    load_queries_once();
//%   end
  });
}
//% else
__device__ __forceinline__ void produce(const SharedMemory& smem, const TensorMap& q_map, const TensorMap& k_map,
                                        const TensorMap& v_map, const Problem& problem, int warp, int lane) {
  const bool loads = warp == 0 && lane == 0;
  RingPlace<stages> loaded;
  RingPlace<stages> place;
//%   if q_operand != 'global' && persistent
  u32 query_parity = 1;  // of the phase in which the query tile was freed
//%   end
  for_each_work(problem, [&](const Work& work) {
//%   if q_operand != 'global'
//%     let query_place = 'work, problem'
//%     include "include/attention/load_queries.cuh"
//%     if !persistent
    if (loads) load_queries();
//%     end
//%   end
    const auto load_round = [&](int first) {
      if (first >= work.tiles) return;
#pragma unroll
      for (int group = 0; group < groups; ++group) {
        if (loads && first + group < work.tiles) {
          load_keys(smem, k_map, group, loaded, first_key_of(first + group, work), work, problem);
//%   if q_operand != 'global' && persistent
          load_queries_once();
//%   end
          load_values(smem, v_map, group, loaded, first_key_of(first + group, work), work, problem);
        }
      }
      loaded.advance();
      __syncwarp();
    };
    const int first_tile = first_tile_of(work, 0);
    for (int stage = 0; stage < stages; ++stage) load_round(first_tile + stage * tile_step);
//%   if q_operand != 'global' && persistent
    if (loads) load_queries_once();
//%   end
    for (int first = first_tile; first < work.tiles; first += tile_step) {
#pragma unroll
      for (int group = 0; group < groups; ++group) {
        if (first + group < work.tiles) prepare_values(smem, group, place, warp, lane);
      }
      place.advance();
      load_round(first + stages * tile_step);
    }
  });
}
//% end
