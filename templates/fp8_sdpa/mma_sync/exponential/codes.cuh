#pragma once
// Weights as e4m3 codes, eight to an octave: `shifted_code` leaves one in the low byte.
__device__ __forceinline__ e4m3x4 weights(float s0, float s1, float s2, float s3, float scale, float offset,
                                          float&) {
  const u32 low = pick_bytes<0x0040>(shifted_code(s0, scale, offset), shifted_code(s1, scale, offset));
  const u32 high = pick_bytes<0x0040>(shifted_code(s2, scale, offset), shifted_code(s3, scale, offset));
  return pick_bytes<0x5410>(low, high);
}
