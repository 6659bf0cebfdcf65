// Key and value tiles straight from global memory to registers, each lane what its products need: no shared
// memory, no barrier. Rows from `end` on are zero.

// Of each eight keys, codes 16 quad .. + 15 of each half of key `row`.
typedef uint4 KeyTile[halves][key_tiles];

__device__ __forceinline__ void load_key_tile(KeyTile& keys, const e4m3* k, int first, int end, int lane) {
#pragma unroll
  for (int n = 0; n < key_tiles; ++n) {
    const int key = first + 8 * n + lane / 4;
#pragma unroll
    for (int half = 0; half < halves; ++half) {
      keys[half][n] = make_uint4(0, 0, 0, 0);
      if (key < end) keys[half][n] = load_global(k + (long long)key * head_dim + 64 * half + lane % 4 * 16);
    }
  }
}

__device__ __forceinline__ void load_value_tile(ValueTile& values, const e4m3* v, int first, int end,
                                                int lane) {
#pragma unroll
  for (int step = 0; step < tile_k / 16; ++step) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int key = first + 16 * step + 2 * (lane % 4) + i % 2 + i / 2 * 8;
      u32(&words)[lane_words] = values[step][i];
#pragma unroll
      for (int word = 0; word < lane_words; ++word) words[word] = 0;
      if (key >= end) continue;
      const e4m3* source = v + (long long)key * head_dim + lane / 4 * (head_dim / 8);
//% if D == 64
      const uint2 codes = load_global_u32x2(source);
      words[0] = codes.x;
      words[1] = codes.y;
//% else
      const uint4 codes = load_global(source);
      words[0] = codes.x;
      words[1] = codes.y;
      words[2] = codes.z;
      words[3] = codes.w;
//% end
    }
  }
}
