// Groups of weights: 128 depths of a column, with a scale and a zero point.
constexpr int group_depth = 128;
constexpr int group_words = group_depth / 8;  // of a column
constexpr int zero_offset = ${zero_offset};   // what stored zero points lack

__device__ __forceinline__ float scale_value(half_bits bits) {
  return ${scale_type == 'f16' ? 'first_of(bits)' : '__uint_as_float((u32)bits << 16)'};
}

// The scales of four neighbouring columns.
__device__ __forceinline__ void unpack_scales(uint2 four, float (&scales)[4]) {
  scales[0] = scale_value((half_bits)four.x);
  scales[1] = scale_value((half_bits)(four.x >> 16));
  scales[2] = scale_value((half_bits)four.y);
  scales[3] = scale_value((half_bits)(four.y >> 16));
}
