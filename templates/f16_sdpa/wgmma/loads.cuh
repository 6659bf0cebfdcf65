#pragma once
// The producer, one thread: brings tiles to shared memory by TMA, ahead of the consumers and across query tiles.

// Rows of a head, a panel of their columns after the other.
__device__ __forceinline__ void load_rows(shared_address to, const TensorMap& map, shared_address full, int rows,
                                          int first_row, int head) {
  arrive_expecting(full, rows * head_dim * 2);
#pragma unroll
  for (int p = 0; p < row_panels; ++p) load_box(to + p * rows * 128, map, full, p * 64, first_row, head);
}

// The 64 rows of a row warpgroup.
__device__ __forceinline__ void load_query_rows(const SharedMemory& smem, const TensorMap& map, int row_part,
                                                const Work& work, int) {
  const shared_address full = smem.query_full(row_part);
  arrive_expecting(full, 64 * head_dim * 2);
#pragma unroll
  for (int p = 0; p < row_panels; ++p) {
    load_box(smem.query() + (p * tile_q + row_part * 64) * 128, map, full, p * 64, work.first_row + row_part * 64,
             work.head);
  }
}

__device__ __forceinline__ void produce(const SharedMemory& smem, const TensorMap& q_map, const TensorMap& k_map,
                                        const TensorMap& v_map, u32* next_work, int S, int heads) {
  RingPlace<stages> place;
  u32 query_parity = 1;  // of the phase in which the query tile was freed
  const int problem = S;
  ${takes_works ? 'take_works(smem, next_work, S, heads' : 'for_each_work(S, heads'}, [&](const Work& work) {
#include "include/attention/load_queries.cuh"

    if constexpr (q_operand != QueryOperand::global && !persistent) load_queries();
    for (int first = first_tile_of(work, 0); first < work.tiles; first += tile_step) {
#pragma unroll
      for (int group = 0; group < groups; ++group) {
        if (first + group < work.tiles) {
          const int first_key = first_key_of(first + group, work);
          wait_for(smem.barrier(keys_free, group, place.stage), place.free_parity());
          load_rows(smem.keys(group, place.stage), k_map, smem.barrier(keys_full, group, place.stage), tile_k,
                    first_key, work.head);
          load_queries_once();
          wait_for(smem.barrier(values_free, group, place.stage), place.free_parity());
          load_rows(smem.values(group, place.stage), v_map, smem.barrier(values_full, group, place.stage), tile_k,
                    first_key, work.head);
        }
      }
      place.advance();
    }
  });
}
