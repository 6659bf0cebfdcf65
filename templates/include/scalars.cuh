// Single elements in ${dtype}; needs elements.cuh.
__device__ __forceinline__ float value_of(float element) { return element; }
__device__ __forceinline__ float value_of(half_bits element) {
  float values[2];
  unpack((u32)element, values);
  return values[0];
}

// To the nearest.
__device__ __forceinline__ void store_rounded(float* to, float value) { *to = value; }
__device__ __forceinline__ void store_rounded(half_bits* to, float value) {
  const float values[2] = {value, 0.0f};
  *to = (half_bits)pack(values);
}
