    // What a warpgroup keeps of a work: 64 query rows, two of them in part by this thread, `row` and `row + 8` of its warp.
    TileScores scores;
    u32 weights[weight_registers];
    float acc_o[o_registers];
#pragma unroll
    for (int i = 0; i < o_registers; ++i) acc_o[i] = 0.0f;
//% if promote_tiles > 0
    // Of the last promote_tiles tiles, a part of the columns, in the tensor cores' precision.
    float tile_o[part_registers + sum_columns / 2];
    float acc_shrink[2] = {1.0f, 1.0f};  // what acc_o has to shrink by to meet it
    int tiles_in = 0;
#pragma unroll
    for (int i = 0; i < part_registers + sum_columns / 2; ++i) tile_o[i] = 0.0f;
//% end
    float row_max[2] = {lowest_max, lowest_max};
    float row_sum[2] = {0.0f, 0.0f};  // this thread's share
    bool large[2];                    // whether the rows' scores are beyond what the first product resolves
    f16x2 usual = 0;                  // up to which, from 0 on, maxima of the rows need nothing further
    float shrink[2];                  // what the rows have to shrink by to follow their maxima
    float offset[2];                  // what their scores are moved by to be weighed
    const int first_row = work.first_row + row_part * 64;

    // The query, where the first product reads it, and what makes units of the weights' exponent of its scores. With f16
    // scores its codes are shrunk, which the scale makes up for.
    constexpr float log2_e = 1.4426950408889634f;
    const float score_unit = problem.softmax_scale * log2_e * units_per_octave;
    const float code_scale =
        arguments.q_scale[problem.q_scale_index(work)] * arguments.k_scale[problem.kv_scale_index(work)];
    Scale qk_scale;
    if constexpr (weighs_f32) qk_scale.set(code_scale * score_unit);

    Query query;
    int shifts[2];
//% if q_operand == 'global'
    load_query(query.codes, arguments.q, problem, work, first_row + warp * 16, 0, lane);
    if constexpr (!weighs_f32) shrink_query(query.codes, shifts);
//% else
    take_query(query, shifts, smem, query_parity, warp, lane, group, row_part);
//% end
    if constexpr (!weighs_f32) qk_scale.set(code_scale * score_unit, shifts);
    if constexpr (scales_at_once) {
      usual = f16x2_from_f32(resolved_octaves * reciprocal(qk_scale[0]), resolved_octaves * reciprocal(qk_scale[1]));
    }

#include "include/attention/begin_tiles.cuh"
