#pragma once
// The producer: brings tiles to shared memory ahead of the consumers. One thread does it.
__device__ __forceinline__ void produce(const SharedMemory& smem, const TensorMap& q_map, const TensorMap& k_map,
                                        const TensorMap& v_map, const Problem& problem) {
  RingPlace<stages> place;
  u32 query_parity = 1;  // of the phase in which the query tile was freed
  bool values_are_there = false;
  for_each_work(problem, [&](const Work& work) {
#include "include/attention/load_queries.cuh"

    if constexpr (q_operand != QueryOperand::global && !persistent) load_queries();
    for (int first = first_tile_of(work, 0); first < work.tiles; first += tile_step) {
#pragma unroll
      for (int group = 0; group < groups; ++group) {
        if (first + group < work.tiles) {
          load_keys(smem, k_map, group, place, first_key_of(first + group, work), work, problem);
          load_queries_once();
          if constexpr (v_path == ValuePath::prepass && pdl != DependentLaunch::none) {
            if (!values_are_there) wait_for_launch_ahead();
            values_are_there = true;
          }
          load_values(smem, v_map, group, place, first_key_of(first + group, work), work, problem);
        }
      }
      place.advance();
    }
    load_queries_once();
  });
}

// The same, and the warps prepare the values: of a round of tiles while the next ones are under way.
__device__ __forceinline__ void produce_and_prepare(const SharedMemory& smem, const TensorMap& q_map,
                                                    const TensorMap& k_map, const TensorMap& v_map,
                                                    const Problem& problem, int warp, int lane) {
  const bool loads = warp == 0 && lane == 0;
  RingPlace<stages> loaded;
  RingPlace<stages> place;
  u32 query_parity = 1;  // of the phase in which the query tile was freed
  for_each_work(problem, [&](const Work& work) {
#include "include/attention/load_queries.cuh"

    if constexpr (q_operand != QueryOperand::global && !persistent) {
      if (loads) load_queries();
    }
    const auto load_round = [&](int first) {
      if (first >= work.tiles) return;
#pragma unroll
      for (int group = 0; group < groups; ++group) {
        if (loads && first + group < work.tiles) {
          load_keys(smem, k_map, group, loaded, first_key_of(first + group, work), work, problem);
          load_queries_once();
          load_values(smem, v_map, group, loaded, first_key_of(first + group, work), work, problem);
        }
      }
      loaded.advance();
      __syncwarp();
    };
    const int first_tile = first_tile_of(work, 0);
    for (int stage = 0; stage < stages; ++stage) load_round(first_tile + stage * tile_step);
    if (loads) load_queries_once();
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
