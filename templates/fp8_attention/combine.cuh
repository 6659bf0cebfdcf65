//% if split_over_grid
#include "include/attention/combine.cuh"

extern "C" __global__ void __launch_bounds__(128)
    fp8_attention_combine(const float* __restrict__ partial_o, const float2* __restrict__ partial_statistics,
                          const float* __restrict__ v_scale, half_bits* __restrict__ o, float* __restrict__ lse,
                          const __grid_constant__ Sizes sizes) {
  if constexpr (pdl != DependentLaunch::none) {
    wait_for_launch_ahead();
    start_launch_behind();
  }
  const Problem problem = {sizes};
  const auto statistics_of = [&](long long row) { return partial_statistics[row]; };
  combine_rows(partial_o, (int)all_rows(problem), statistics_of, [&](int row, int column, const PartialRow& merged) {
    // All that is asked of the work: where its rows are, and which scales they have.
    const int rows_of_head = problem.rows_of(problem.S_q);
    Work work = {};
    work.batch = ${cu_seqlens ? '0' : 'row / rows_of_head / problem.row_heads()'};
    work.head = row / rows_of_head % problem.row_heads();
    work.kv_head = ${pack ? 'work.head' : 'work.head / problem.ratio()'};
    finish_row(problem, work, row % rows_of_head, column, merged.acc, merged.row_max, merged.row_sum, v_scale, o, lse);
  });
}
//% end
