#pragma once
// Results in memory: neighbouring elements of a row, rounded to their type.

__device__ __forceinline__ void store_pair(float* to, float first, float second) {
  *(float2*)to = make_float2(first, second);
}
__device__ __forceinline__ void store_pair(half_bits* to, float first, float second) {
  *(u32*)to = bf16x2_from_f32(first, second);
}

__device__ __forceinline__ void store_four(float* to, float4 four) { store_global(to, four); }
// A reference: for a copy NVRTC 13.0 makes branches of what chose its elements.
__device__ __forceinline__ void store_four(half_bits* to, const float4& four) {
  store_global_u32x2(to, bf16x2_from_f32(four.x, four.y), bf16x2_from_f32(four.z, four.w));
}
