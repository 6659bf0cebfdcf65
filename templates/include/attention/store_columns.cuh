// Four columns, in ${row_dtype}.
__device__ __forceinline__ uint2 rounded_columns(float4 acc, float factor) {
  return make_uint2(${row_dtype}x2_from_f32(acc.x * factor, acc.y * factor),
                    ${row_dtype}x2_from_f32(acc.z * factor, acc.w * factor));
}

__device__ __forceinline__ void store_columns(half_bits* to, float4 acc, float factor) {
  const uint2 columns = rounded_columns(acc, factor);
  store_global_u32x2(to, columns.x, columns.y);
}
