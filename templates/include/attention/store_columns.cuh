//% takes row_dtype
// Columns of the output, in ${row_dtype}.
__device__ __forceinline__ u32 rounded_pair(float first, float second) { return ${row_dtype}x2_from_f32(first, second); }

__device__ __forceinline__ uint2 rounded_columns(float4 acc, float factor) {
  return make_uint2(rounded_pair(acc.x * factor, acc.y * factor), rounded_pair(acc.z * factor, acc.w * factor));
}

__device__ __forceinline__ void store_columns(half_bits* to, float4 acc, float factor) {
  const uint2 columns = rounded_columns(acc, factor);
  store_global_u32x2(to, columns.x, columns.y);
}
