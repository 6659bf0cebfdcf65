// Sixteen columns of the warp's 16 rows, the `part`-th of a swizzled panel of 64; factors: of rows 0-7 and 8-15.
// Accumulators lie as stmatrix takes them: matrix 2 half + r is eight columns of eight rows.
__device__ __forceinline__ void stage_columns(shared_address panel, int part, const float* acc,
                                              const float (&factors)[2], int lane) {
  const int row = threadIdx.x / 32 % 4 * 16 + lane % 16;
  store_matrices(panel + xor_offset<128>(row, 2 * part + lane / 16),
                 ${row_dtype}x2_from_f32(acc[0] * factors[0], acc[1] * factors[0]),
                 ${row_dtype}x2_from_f32(acc[2] * factors[1], acc[3] * factors[1]),
                 ${row_dtype}x2_from_f32(acc[4] * factors[0], acc[5] * factors[0]),
                 ${row_dtype}x2_from_f32(acc[6] * factors[1], acc[7] * factors[1]));
}
