#pragma once
// The warp's 16 rows from `first_row` on as operands, four registers for each 16 values; rows past the end are zero.
__device__ __forceinline__ void load_query(u32 (&query)[head_dim / 4], const half_bits* q_head, int first_row, int S,
                                           int lane) {
#pragma unroll
  for (int i = 0; i < head_dim / 4; ++i) {
    const int row = first_row + lane / 4 + i % 2 * 8;
    query[i] = row < S ? load_global_u32(q_head + (long long)row * head_dim + i / 2 * 8 + lane % 4 * 2) : 0;
  }
}

// The warp's 16 rows, from `rows` on, as operands: four registers for each 16 values.
__device__ __forceinline__ void load_query(u32 (&query)[head_dim / 4], shared_address rows, int lane) {
#pragma unroll
  for (int step = 0; step < head_dim / 16; ++step) {
    u32 matrices[4];
    load_matrices(matrices,
                  rows + step / 4 * (tile_q * 128) + xor_offset<128>(lane % 16, step % 4 * 2 + lane / 16));
#pragma unroll
    for (int i = 0; i < 4; ++i) query[4 * step + i] = matrices[i];
  }
}

// What multiplies the keys: the warp's rows in registers, or the warpgroup's rows in shared memory.
struct RegisterQuery {
  u32 values[head_dim / 4];

  // Of the 16 columns of a step of the first product.
  __device__ __forceinline__ const u32* operand(int step) const { return values + 4 * step; }
};

struct SharedQuery {
  matrix_descriptor rows;

  __device__ __forceinline__ matrix_descriptor operand(int step) const {
    return along_rows(rows, step / 4 * tile_q * 128 + step % 4 * 32);
  }
};
typedef ${q_operand == 'smem' ? 'SharedQuery' : 'RegisterQuery'} Query;

__device__ __forceinline__ void take_query(RegisterQuery& query, const SharedMemory& smem, shared_address query_rows,
                                           int warp, int lane, int row_part) {
  load_query(query.values, query_rows + warp * 16 * 128, lane);
  if constexpr (persistent) {
    __syncwarp();
    if (lane == 0) arrive(smem.query_free(row_part));
  }
}
__device__ __forceinline__ void take_query(SharedQuery& query, const SharedMemory&, shared_address query_rows, int, int,
                                           int) {
  query.rows = describe_matrix<128>(query_rows);
}

// The first product of a whole tile, and of its early keys.
template <int step = 0>
__device__ __forceinline__ void multiply_scores(TileScores& scores, const Query& query, matrix_descriptor keys) {
  multiply_qk<(step > 0)>(scores, query.operand(step), along_rows(keys, step / 4 * tile_k * 128 + step % 4 * 32));
  if constexpr (16 * (step + 1) < head_dim) multiply_scores<step + 1>(scores, query, keys);
}
template <int step = 0>
__device__ __forceinline__ void multiply_early_scores(TileScores& scores, const Query& query, matrix_descriptor keys) {
  multiply_early_qk<(step > 0)>(scores, query.operand(step), along_rows(keys, step / 4 * tile_k * 128 + step % 4 * 32));
  if constexpr (16 * (step + 1) < head_dim) multiply_early_scores<step + 1>(scores, query, keys);
}

// A consumer: one warpgroup, 64 query rows of each work, its group's share of the key tiles. `scale` makes octaves of
// scores.
__device__ __forceinline__ void consume(const SharedMemory& smem, const TensorMap& o_map, const half_bits* q,
                                        const Output& output, float scale) {
#include "include/attention/warpgroup_place.cuh"

  const int S = output.S;

  RingPlace<stages> place;
  u32 query_parity = 0;
  ${takes_works ? 'follow_works(smem, S' : 'for_each_work(S, output.heads'}, [&](const Work& work) {
    TileScores scores;
    u32 weights[score_registers / 2];
    float acc_o[o_registers];
#pragma unroll
    for (int i = 0; i < o_registers; ++i) acc_o[i] = 0.0f;
    float row_max[2] = {lowest_max, lowest_max};
    float row_sum[2] = {0.0f, 0.0f};  // this thread's share
    float shrink[2];
    const int first_row = work.first_row + row_part * 64;

    Query query;
//% if q_operand == 'global'
    load_query(query.values, q + (long long)work.head * S * head_dim, first_row + warp * 16, S, lane);
//% else
    const shared_address query_rows = smem.query() + row_part * 64 * 128;
    wait_for(smem.query_full(row_part), query_parity);
    query_parity ^= 1;
    take_query(query, smem, query_rows, warp, lane, row_part);
//% end

    const int problem = S;
#include "include/attention/begin_tiles.cuh"

    const auto start_scores = [&](TileScores& scores, const RingPlace<stages>& place) {
      wait_for(smem.barrier(keys_full, group, place.stage), place.full_parity());
      const matrix_descriptor keys = describe_matrix<128>(smem.keys(group, place.stage));
      start_products();
      multiply_scores(scores, query, keys);
      commit_products();
    };
    // Once the product of tile `i` is done.
    const auto raise_maximum = [&](TileScores& scores, const RingPlace<stages>& place, int i) {
      pin_registers(scores);
      if (lane == 0) arrive(smem.barrier(keys_free, group, place.stage));
      if constexpr (persistent && q_operand == QueryOperand::smem) {
        if (lane == 0 && i + tile_step >= end_tile) arrive(smem.query_free(row_part));
      }
      mask_tile(scores, first_key_of(i, work), first_row, first_row + warp * 16 + lane / 4, S, lane);
      float tile_max[2];
      find_tile_max(tile_max, scores, scale);
      raise_row_max(row_max, shrink, tile_max);
    };
    const auto weigh_late_keys = [&] {
      weigh<early_scores>(scores, scale, row_max);
      add_weights<early_scores>(row_sum, scores);
      pack_weights<early_scores>(weights, scores);
    };
    const auto weigh_early_keys = [&] {
      weigh<0, early_scores>(scores, scale, row_max);
#pragma unroll
      for (int r = 0; r < 2; ++r) row_sum[r] *= shrink[r];
      add_weights<0, early_scores>(row_sum, scores);
      pack_weights<0, early_scores>(weights, scores);
    };
    const auto weigh_scores = [&](TileScores& scores) {
      weigh(scores, scale, row_max);
#pragma unroll
      for (int r = 0; r < 2; ++r) row_sum[r] *= shrink[r];
      add_weights(row_sum, scores);
    };
    const auto start_output = [&](const RingPlace<stages>& place) {
      wait_for(smem.barrier(values_full, group, place.stage), place.full_parity());
      const matrix_descriptor values = describe_columns<tile_k * 128>(smem.values(group, place.stage));
      pin_registers(acc_o);  // rescaled: before the fence, not behind it
      pin_registers<0, early_scores / 2>(weights);
      start_products();
//% for step in 0..tile_k / 16
      if constexpr (schedule == Schedule::early_output && 16 * ${step} == early_keys) {
        commit_products();
        weigh_late_keys();
        pin_registers<early_scores / 2, score_registers / 2>(weights);
        start_products();
      }
      multiply_pv<true>(acc_o, weights + ${4 * step}, along_rows(values, ${step * 16 * 128}));
//% end
      commit_products();
    };
    // Once the product is done.
    const auto finish_output = [&](const RingPlace<stages>& place) {
      pin_registers(acc_o);
      if (lane == 0) arrive(smem.barrier(values_free, group, place.stage));
    };
    // Between two tiles: what is accumulated follows the new tile's maximum.
    const auto follow = [&] { rescale(acc_o, shrink); };

//% slot schedule
#include "include/attention/end_tiles.cuh"

    if constexpr (pdl == DependentLaunch::late) start_launch_behind();
    row_sum[0] = quad_sum(row_sum[0]);
    row_sum[1] = quad_sum(row_sum[1]);
#include "include/attention/finish_rows.cuh"
  });
  if constexpr (epilogue == Epilogue::tma) {
    if (threadIdx.x % 128 == 0) wait_for_stores();
  }
}
