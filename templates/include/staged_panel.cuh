// A warpgroup's results on their way to TMA: panels of 64 rows of 128 bytes, swizzled, of ${panel_dtype} numbers. `acc`
// are accumulators as wgmma leaves them; results are `factor` times as large.
__device__ __forceinline__ void stage_panel(shared_address panel, const float* acc, float factor) {
  const int lane = threadIdx.x % 32;
  const int warp_row = threadIdx.x / 32 % 4 * 16;
//% if panel_dtype == 'f32'
#pragma unroll
  for (int part = 0; part < panel_columns / 8; ++part) {
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      store_shared(panel + xor_offset<128>(warp_row + 8 * r + lane / 4, 2 * part + lane % 4 / 2) + lane % 2 * 8,
                   make_float2(acc[4 * part + 2 * r] * factor, acc[4 * part + 2 * r + 1] * factor));
    }
  }
//% else
  // They lie as stmatrix takes them: of each 16 columns, matrix 2 half + r is eight columns of eight rows.
#pragma unroll
  for (int part = 0; part < panel_columns / 16; ++part) {
    const float* sixteen = acc + 8 * part;
    store_matrices(panel + xor_offset<128>(warp_row + lane % 16, 2 * part + lane / 16),
                   ${panel_dtype}x2_from_f32(sixteen[0] * factor, sixteen[1] * factor),
                   ${panel_dtype}x2_from_f32(sixteen[2] * factor, sixteen[3] * factor),
                   ${panel_dtype}x2_from_f32(sixteen[4] * factor, sixteen[5] * factor),
                   ${panel_dtype}x2_from_f32(sixteen[6] * factor, sixteen[7] * factor));
  }
//% end
}
