// Tiles of affine codes for nvcuda::wmma. Needs affine_codes.cuh, and what wmma_tiles.cuh needs.

// Four codes in their order.
template <typename Decoder>
__device__ __forceinline__ void decode_in_order(const Decoder& decoder, u32 codes, f16x2& first, f16x2& second) {
  f16x2 even;
  f16x2 odd;
  decoder.decode(codes, even, odd);
  first = pick_bytes<0x5410>(even, odd);
  second = pick_bytes<0x7632>(even, odd);
}

#include "include/wmma_tiles.cuh"
