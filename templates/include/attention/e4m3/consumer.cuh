// A consumer: one warpgroup, 64 query rows of each work, its group's share of the key tiles.
__device__ __forceinline__ void consume(const SharedMemory& smem, const Arguments& arguments) {
//% include "include/attention/warpgroup_place.cuh"
  const Problem& problem = arguments;

  RingPlace<stages> place;
//% if q_operand != 'global'
  u32 query_parity = 0;
//% end
  for_each_work(problem, [&](const Work& work) {
    typedef Score TileScores[score_registers];
    TileScores scores;
    u32 weights[weight_registers];
    float acc_o[o_registers];
#pragma unroll
    for (int i = 0; i < o_registers; ++i) acc_o[i] = 0.0f;
//% if promote_tiles > 0
    // Of the last ${promote_tiles} tile(s)${output_parts > 1 ? ', a part of the columns,' : ''} in the tensor cores' precision.
    float tile_o[${(part_columns + sum_columns) / 2}];
    float acc_shrink[2] = {1.0f, 1.0f};  // what acc_o has to shrink by to meet it
//%   if promote_tiles > 1
    int tiles_in = 0;
//%   end
#pragma unroll
    for (int i = 0; i < ${(part_columns + sum_columns) / 2}; ++i) tile_o[i] = 0.0f;
//% end
    float row_max[2] = {lowest_max, lowest_max};
    float shrink[2];
//% if row_sum == 'adds'
    float row_sum[2] = {0.0f, 0.0f};  // this thread's share
//% end

    const int first_row = work.first_row + row_part * 64;

    constexpr float log2_e = 1.4426950408889634f;
    const float score_unit = problem.softmax_scale * log2_e * units_per_octave;
    const float code_scale =
        arguments.q_scale[problem.q_scale_index(work)] * arguments.k_scale[problem.kv_scale_index(work)];
//% if weigh_type == 'f32'
    const float qk_scale = fmaxf(code_scale * score_unit, smallest_scale);
//% end

//% if q_operand == 'global'
    e4m3x4 query[head_dim / 8];
    load_query(query, arguments.q, problem, work, first_row + warp * 16, lane);
//%   if weigh_type == 'f16'
    int shifts[2];
    find_query_shifts(shifts, query);
    shrink_query(query, shifts);
//%   end
//% else
    const shared_address query_rows = smem.query() + row_part * 64 * row_bytes;
    wait_for(smem.query_full(row_part), query_parity);
    query_parity ^= 1;
//%   if q_operand == 'registers'
    e4m3x4 query[head_dim / 8];
    load_query(query, query_rows + warp * 16 * row_bytes, lane);
//%     if weigh_type == 'f16'
    int shifts[2];
    find_query_shifts(shifts, query);
    shrink_query(query, shifts);
//%     end
//%     if persistent
    if (lane == 0) arrive(smem.query_free(row_part));
//%     end
//%   else
//%     if weigh_type == 'f16'
    int shifts[2];
    e4m3x4 rows[head_dim / 8];
    load_query_rows(rows, query_rows, warp, lane);
    find_query_shifts(shifts, rows);
//%       if warpgroups_k > 1
    sync_at(query_barrier + row_part, 128 * groups);  // all groups have read them
//%       end
    shrink_query(rows, shifts);
    if (group == 0) store_query_rows(query_rows, rows, warp, lane);
    sync_at(query_barrier + row_part, 128 * groups);
//%     end
    const matrix_descriptor query = describe_matrix<row_bytes>(query_rows);
//%   end
//% end
//% if weigh_type == 'f16'
    // Packed arithmetic takes the scale in f16: so does the search for the maximum.
    float qk_scale[2];
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      qk_scale[r] = rounded_to_f16(fmaxf(code_scale * score_unit * power_of_two(shifts[r]), smallest_scale));
    }
//% end

//% let sizes = 'problem'
//% include "include/attention/begin_tiles.cuh"

    const auto start_scores = [&](TileScores& scores, const RingPlace<stages>& place) {
      wait_for(smem.barrier(keys_full, group, place.stage), place.full_parity());
      const matrix_descriptor keys = describe_matrix<row_bytes>(smem.keys(group, place.stage));
      start_products();
//% for step in 0..D / 32
//%   let panel_number = 32 * step / row_bytes
//%   let byte = 32 * step % row_bytes
//%   if q_operand == 'smem'
      multiply_qk<${step > 0}>(scores, along_rows(query, ${panel_number * tile_q * row_bytes + byte}),
                        along_rows(keys, ${panel_number * tile_k * row_bytes + byte}));
//%   else
      multiply_qk<${step > 0}>(scores, query + ${4 * step},
                        along_rows(keys, ${panel_number * tile_k * row_bytes + byte}));
//%   end
//% end
      commit_products();
    };
    const auto raise_maximum = [&](TileScores& scores, const RingPlace<stages>& place, int i) {
      pin_registers(scores);
      if (lane == 0) arrive(smem.barrier(keys_free, group, place.stage));
//% if persistent && q_operand == 'smem'
      if (lane == 0 && i + tile_step >= end_tile) arrive(smem.query_free(row_part));
//% end
      const int first_key = first_key_of(i, work);
      const int rows[2] = {first_row + warp * 16 + lane / 4, first_row + warp * 16 + lane / 4 + 8};
      if (first_key + tile_k > problem.key_end(work, problem.position(first_row))) {
        const int keys[2] = {problem.key_end(work, problem.position(rows[0])) - first_key,
                             problem.key_end(work, problem.position(rows[1])) - first_key};
        mask_scores<Hidden::from>(scores, lane, keys);
      }
//% if window > 0
      if (first_key < problem.key_begin(work, problem.position(first_row + 63))) {
        const int keys[2] = {problem.key_begin(work, problem.position(rows[0])) - first_key,
                             problem.key_begin(work, problem.position(rows[1])) - first_key};
        mask_scores<Hidden::before>(scores, lane, keys);
      }
//% end
//% probe
//%   if weigh_type == 'f32'
#pragma unroll
      for (int n = 0; n < tile_k / 8; ++n) {
#pragma unroll
        for (int e = 0; e < 4; ++e) {
          const int probed_row = rows[e / 2];
          const int probed_key = first_key + key_of(n) + lane_key(lane) + e % 2;
          if (probed_row >= problem.rows(work) || probed_key >= problem.key_end(work, probed_row)) continue;
          probed_scores[problem.row_number(work, probed_row) * problem.keys(work) + probed_key] =
              scores[4 * n + e] * qk_scale / (log2_e * units_per_octave);
        }
      }
//%   end
//% end
//% if weigh_type != score_type
      narrow(scores);
//% end
      float tile_max[2];
      find_tile_max(tile_max, scores, qk_scale);
//% if promote_tiles == 1
      follow_tile_max(row_max, shrink, tile_max);
//% else
      raise_row_max(row_max, shrink, tile_max);
//% end
    };
//% if schedule == 'early_output'
    const auto weigh_early_keys = [&] {
      weigh<0, early_keys>(scores, qk_scale, row_max);
      pack_weights<0, early_keys>(weights, scores);
    };
    const auto weigh_late_keys = [&] {
      weigh<early_keys>(scores, qk_scale, row_max);
      pack_weights<early_keys>(weights, scores);
    };
//% else
    const auto weigh_scores = [&](TileScores& scores) {
      weigh(scores, qk_scale, row_max);
//% if row_sum == 'adds'
#pragma unroll
      for (int r = 0; r < 2; ++r) row_sum[r] *= shrink[r];
      add_weights(row_sum, scores);
//% end
    };
//% end
//% include "accumulate.cuh"
//% if consumers_prepare
    const int preparing_warp = row_part * 4 + warp${v_path == 'all' ? ' + 4' : ''};
//% end

//% slot schedule
//% if promote_tiles > 1
    promote();
//% end
//% include "include/attention/end_tiles.cuh"
//% if pdl == 'late'
    start_launch_behind();
//% end

//% if row_sum == 'adds'
    row_sum[0] = quad_sum(row_sum[0]);
    row_sum[1] = quad_sum(row_sum[1]);
//% else
//%   if row_sum == 'eighths'
    const float row_sum[2] = {quad_sum(acc_o[${D / 2}] + acc_o[${D / 2 + 1}]),
                              quad_sum(acc_o[${D / 2 + 2}] + acc_o[${D / 2 + 3}])};  // the columns of ones
//%   else
    const float row_sum[2] = {acc_o[${D / 2}], acc_o[${D / 2 + 2}]};  // the columns of ones
//%   end
//% end
//% let output = 'arguments'
//% include "include/attention/finish_rows.cuh"
  });
//% if epilogue == 'tma'
  if (threadIdx.x % 128 == 0) wait_for_stores();
//% end
}
