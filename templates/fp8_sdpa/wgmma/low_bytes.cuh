#pragma once
// Codes that magic constants have left in the low bytes of f32 or f16 weights.
__device__ __forceinline__ e4m3x4 low_bytes(float w0, float w1, float w2, float w3) {
  const u32 low = pick_bytes<0x0040>(__float_as_uint(w0), __float_as_uint(w1));
  const u32 high = pick_bytes<0x0040>(__float_as_uint(w2), __float_as_uint(w3));
  return pick_bytes<0x5410>(low, high);
}
__device__ __forceinline__ e4m3x4 low_bytes(f16x2 w01, f16x2 w23) { return pick_bytes<0x6420>(w01, w23); }
