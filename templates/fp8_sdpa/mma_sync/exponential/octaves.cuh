// Scores in octaves: the largest weight of a row is ${pv_math == 'f16' ? '1' : '2^p_exponent'}.
constexpr float units_per_octave = 1.0f;
__device__ __forceinline__ float rounded_max(float scaled) { return scaled; }
//% if pv_math == 'f16'
__device__ __forceinline__ float weight_offset(float row_max) { return -row_max; }
//% else
__device__ __forceinline__ float weight_offset(float row_max) { return ${p_exponent}.0f - row_max; }
//% end
