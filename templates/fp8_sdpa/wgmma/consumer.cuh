// A consumer: one warpgroup, 64 query rows, every groups-th key tile.
__device__ __forceinline__ void consume(const SharedMemory& smem, const e4m3* q, float qk_scale,
                                        float v_scale, half_bits* o, int head, int S, int tiles) {
  const int lane = threadIdx.x % 32;
  const int warp = threadIdx.x / 32 % 4;
  const int warpgroup = __shfl_sync(0xffffffffu, threadIdx.x / 128, 0);  // the compiler sees that a warp has one only
  const int group = groups == 1 ? 0 : warpgroup / row_warpgroups;
  const int row_part = row_warpgroups == 1 ? 0 : warpgroup % row_warpgroups;

  typedef Score TileScores[score_registers];
  TileScores scores;
  e4m3x4 weights[weight_registers];
  float acc_o[o_registers];
#pragma unroll
  for (int i = 0; i < o_registers; ++i) acc_o[i] = 0.0f;
  float tile_o[o_registers];  // of the last ${promote_tiles} tile(s), in the tensor cores' precision
  float acc_shrink[2] = {1.0f, 1.0f};  // what acc_o has to shrink by to meet it
//% if promote_tiles > 1
  int tiles_in = 0;
#pragma unroll
  for (int i = 0; i < o_registers; ++i) tile_o[i] = 0.0f;
//% end
  float row_max[2] = {lowest_score, lowest_score};
  float shrink[2];

//% if q_operand == 'global'
  e4m3x4 query[head_dim / 8];
  load_query(query, q + (long long)head * S * head_dim, blockIdx.x * tile_q + row_part * 64 + warp * 16, S, lane);
//% else
  const shared_address query_rows = smem.query() + row_part * 64 * head_dim;
  wait_for(smem.query_full(), 0);
//%   if q_operand == 'registers'
  e4m3x4 query[head_dim / 8];
  load_query(query, query_rows + warp * 16 * head_dim, lane);
//%   else
//%     if score_type == 'f16'
  if (group == 0) shrink_query_rows(query_rows);
  sync_at(consumers_barrier, consumer_threads);
//%     end
  const matrix_descriptor query = describe_matrix<head_dim>(query_rows);
//%   end
//% end

  const auto start_scores = [&](TileScores& scores, const RingPlace<stages>& place) {
    wait_for(smem.barrier(keys_full, group, place.stage), place.full_parity());
    const matrix_descriptor keys = describe_matrix<head_dim>(smem.keys(group, place.stage));
    start_products();
//% for step in 0..D / 32
//%   if q_operand == 'smem'
    multiply_qk<${step > 0}>(scores, along_rows(query, ${32 * step}), along_rows(keys, ${32 * step}));
//%   else
    multiply_qk<${step > 0}>(scores, query + ${4 * step}, along_rows(keys, ${32 * step}));
//%   end
//% end
    commit_products();
  };
  const auto start_output = [&](const RingPlace<stages>& place) {
    wait_for(smem.barrier(transposed_full, group, place.stage), place.full_parity());
    const shared_address values = smem.transposed(group, place.stage);
    start_products();
//% for step in 0..tile_k / 32
//%   let key = 32 * step
    multiply_pv<${promote_tiles != 1 || step > 0}>(tile_o, weights + ${4 * step},
                      describe_matrix<panel>(values + ${key / panel * (v_rows * panel) + key % panel}));
//% end
    commit_products();
  };
  const auto scores_to_weights = [&](TileScores& scores, const RingPlace<stages>& place, int i) {
    take_result(scores);
    if (lane == 0) arrive(smem.barrier(keys_free, group, place.stage));
    const int keys = S - first_key_of(i, tiles);
    if (keys < tile_k) mask_scores(scores, keys, lane);
    float tile_max[2];
    find_tile_max(tile_max, scores, qk_scale);
//% if promote_tiles == 1
    follow_tile_max(row_max, shrink, tile_max);
//% else
    raise_row_max(row_max, shrink, tile_max);
//% end
    weigh(scores, qk_scale, row_max);
  };
  const auto promote = [&] {
    shrink_rows(acc_o, acc_shrink);
#pragma unroll
    for (int i = 0; i < o_registers; ++i) acc_o[i] += tile_o[i];
  };
  // Once the output product of the tile at `place` is done.
  const auto finish_output = [&](const RingPlace<stages>& place) {
    take_result(tile_o);
    if (lane == 0) arrive(smem.barrier(transposed_free, group, place.stage));
//% if promote_tiles == 1
    promote();
//% end
  };
  // Between two tiles: what is accumulated follows the new tile's maximum.
  const auto follow = [&] {
//% if promote_tiles == 1
    acc_shrink[0] = shrink[0];
    acc_shrink[1] = shrink[1];
//% else
    if (++tiles_in > ${promote_tiles}) {
      promote();
      tiles_in = 1;
#pragma unroll
      for (int i = 0; i < o_registers; ++i) tile_o[i] = 0.0f;
      acc_shrink[0] = acc_shrink[1] = 1.0f;
    }
    acc_shrink[0] *= shrink[0];
    acc_shrink[1] *= shrink[1];
    rescale(tile_o, shrink);
//% end
  };
//% if v_transpose == 'consumers'
  const int group_warp = row_part * 4 + warp;
//% end

  RingPlace<stages> place;
//% slot schedule
//% if promote_tiles > 1
  promote();
//% end
//% if pdl == 'late'
  start_launch_behind();
//% end

  const float row_sum[2] = {acc_o[${D / 2}], acc_o[${D / 2 + 2}]};  // the columns of ones
  const int first_row = row_part * 64 + warp * 16 + lane / 4;
//% if warpgroups_k > 1
  sync_at(1 + group, 128 * row_warpgroups);  // the group is done with its tiles: their room serves its partial rows
  leave_partial_rows(smem, group, first_row, acc_o, row_max, row_sum, lane);
  sync_at(consumers_barrier, consumer_threads);
  merge_rows(smem, o, head, S, v_scale);
//% else
  store_rows(o, head, S, first_row, acc_o, row_sum, v_scale, lane);
//% end
}
