//% include "include/attention/combine.cuh"

extern "C" __global__ void __launch_bounds__(128)
    fp8_attention_combine(const float* __restrict__ partial_o, const float2* __restrict__ partial_statistics,
                          const float* __restrict__ v_scale, half_bits* __restrict__ o, float* __restrict__ lse,
                          const __grid_constant__ Problem problem) {
//% if pdl != 'none'
  wait_for_launch_ahead();
  start_launch_behind();
//% end
  const int rows = problem.rows();
  const auto statistics_of = [&](long long row) { return partial_statistics[row]; };
  combine_rows(partial_o, problem.work_heads() * rows, statistics_of, [&](int row, int column, const PartialRow& merged) {
    const Work work = work_of(row % rows / tile_q, row / rows, 0, problem);
    finish_row(problem, work, row % rows, column, merged.acc, merged.row_max, merged.row_sum, v_scale, o, lse);
  });
}
