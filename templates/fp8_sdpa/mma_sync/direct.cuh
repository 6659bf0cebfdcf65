#pragma once
// Key tiles straight from global memory to registers, each lane what its products need, as value tiles do: no
// shared memory, no barrier. Rows from `end` on are zero.

// Of each eight keys, codes 16 quad .. + 15 of each half of key `row`.
typedef uint4 KeyTile[halves][key_tiles];

__device__ __forceinline__ void load_key_tile(KeyTile& keys, const e4m3* k, int first, int end, int lane) {
#pragma unroll
  for (int n = 0; n < key_tiles; ++n) {
    const int key = first + key_at(8 * n + lane / 4);
#pragma unroll
    for (int half = 0; half < halves; ++half) {
      keys[half][n] = make_uint4(0, 0, 0, 0);
      if (key < end) keys[half][n] = load_global(k + (long long)key * head_dim + 64 * half + lane % 4 * 16);
    }
  }
}
