#pragma once
// Output rows through shared memory: each warpgroup's 64 rows in panels of 64 columns, swizzled, and from there by TMA.
template <typename Output>
__device__ __forceinline__ void stage_rows(const SharedMemory& smem, const TensorMap& o_map, const Output& output,
                                           const Work& work, int row_part, const float (&acc_o)[o_registers],
                                           const float (&row_sum)[2], int lane) {
  constexpr int staging_panel = 64 * 128;
  const shared_address staging = smem.output() + row_part * (64 * head_dim * 2);
  const bool stores = threadIdx.x % 128 == 0;
  if constexpr (persistent) {
    if (stores) wait_for_stores_to_leave();
    sync_at(staging_barrier + row_part, 128);
  }
  const float factors[2] = {row_factor(output, work, row_sum[0]), row_factor(output, work, row_sum[1])};
#pragma unroll
  for (int part = 0; part < head_dim / 16; ++part) {
    Columns::stage(staging + part / 4 * staging_panel, part % 4, acc_o + 8 * part, factors, lane);
  }
  publish_to_async_proxy();
  sync_at(staging_barrier + row_part, 128);
  if (stores) {
#pragma unroll
    for (int p = 0; p < head_dim / 64; ++p) {
      store_box(o_map, staging + p * staging_panel, 64 * p, work.first_row + 64 * row_part, work.head);
    }
    commit_stores();
  }
}
