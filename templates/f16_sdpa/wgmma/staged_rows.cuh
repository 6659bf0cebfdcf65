// Output rows through shared memory: each warpgroup's 64 rows in panels of 64 columns, swizzled, and from there by TMA.
// Accumulators lie as stmatrix takes them: of each 16 columns, matrix 2 half + r is eight columns of eight rows.
__device__ __forceinline__ void stage_rows(const SharedMemory& smem, const TensorMap& o_map, const Work& work,
                                           int row_part, const float (&acc_o)[o_registers], const float (&row_sum)[2],
                                           int lane) {
  constexpr int staging_panel = 64 * 128;
  const shared_address staging = smem.output() + row_part * (64 * head_dim * 2);
  const bool stores = threadIdx.x % 128 == 0;
//% if persistent
  if (stores) wait_for_stores_to_leave();
  sync_at(staging_barrier + row_part, 128);
//% end
  const float factors[2] = {reciprocal(row_sum[0]), reciprocal(row_sum[1])};
  const int row = threadIdx.x / 32 % 4 * 16 + lane % 16;
#pragma unroll
  for (int part = 0; part < head_dim / 16; ++part) {
    const float* acc = acc_o + 8 * part;
    store_matrices(staging + part / 4 * staging_panel + xor_offset<128>(row, part % 4 * 2 + lane / 16),
                   ${dtype}x2_from_f32(acc[0] * factors[0], acc[1] * factors[0]),
                   ${dtype}x2_from_f32(acc[2] * factors[1], acc[3] * factors[1]),
                   ${dtype}x2_from_f32(acc[4] * factors[0], acc[5] * factors[0]),
                   ${dtype}x2_from_f32(acc[6] * factors[1], acc[7] * factors[1]));
  }
  publish_to_async_proxy();
  sync_at(staging_barrier + row_part, 128);
  if (stores) {
#pragma unroll
    for (int p = 0; p < row_panels; ++p) {
      store_box(o_map, staging + p * staging_panel, 64 * p, work.first_row + 64 * row_part, work.head);
    }
    commit_stores();
  }
}
