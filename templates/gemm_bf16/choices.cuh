#pragma once
// What options and genes of both families choose.
enum class Layout { nk, kn };  // of b: [N, K] or [K, N]
constexpr Layout b_layout = Layout::${b_layout};
constexpr int split_k = ${split_k};              // CTAs that share the depth of a tile: each makes a part of the sums
constexpr bool waits_for_launches = ${sm >= 90 && pdl};
typedef ${out == 'bf16' ? 'half_bits' : 'float'} Output;         // an element of c

// Neighbouring elements of a row, rounded to its type.
__device__ __forceinline__ void store_pair(float* to, float first, float second) {
  *(float2*)to = make_float2(first, second);
}
__device__ __forceinline__ void store_pair(half_bits* to, float first, float second) {
  *(u32*)to = bf16x2_from_f32(first, second);
}
__device__ __forceinline__ void store_four(float* to, float4 four) { store_global(to, four); }
__device__ __forceinline__ void store_four(half_bits* to, const float4& four) {
  store_global_u32x2(to, bf16x2_from_f32(four.x, four.y), bf16x2_from_f32(four.z, four.w));
}
