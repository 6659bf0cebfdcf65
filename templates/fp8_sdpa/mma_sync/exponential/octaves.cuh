// Scores in octaves: the largest weight of a row is ${pv_math == 'f16' ? '1' : '2^p_exponent'}.
constexpr float units_per_octave = 1.0f;
__device__ __forceinline__ float rounded_max(float scaled) { return scaled; }
__device__ __forceinline__ float weight_offset(float row_max) {
  return f16_weights ? -row_max : ${p_exponent}.0f - row_max;
}
