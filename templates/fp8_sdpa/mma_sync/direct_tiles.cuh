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

struct DirectTiles : GroupTiles {
  struct Registers {
    KeyTile keys;
    RegisterValues values;
  };

  __device__ __forceinline__ void load(int first_key, Registers& to) const {
    load_key_tile(to.keys, k, first_key, S, lane);
    if constexpr (!split_arrival) load_value_tile(to.values, v, first_key, S, lane);
  }

  __device__ __forceinline__ void start(Registers& to) const {
    if (prefetch && count > 0) load(first_key(0), to);
  }

  __device__ __forceinline__ void await_keys(const Tile& tile, int, int, Registers& to) const {
    if constexpr (!prefetch) load(tile.first_key, to);
  }

  __device__ __forceinline__ void load_keys(e4m3x4 (&codes)[4], const Tile&, const Registers& from, int half,
                                            int n) const {
    codes[0] = from.keys[half][n].x;
    codes[1] = from.keys[half][n].y;
    codes[2] = from.keys[half][n].z;
    codes[3] = from.keys[half][n].w;
  }

  __device__ __forceinline__ void end_keys(int next, Registers& to) const {
    if (prefetch && next < count) load_key_tile(to.keys, k, first_key(next), S, lane);
  }

  __device__ __forceinline__ const RegisterValues& await_values(const Tile& tile, Registers& to) const {
    if constexpr (split_arrival) load_value_tile(to.values, v, tile.first_key, S, lane);
    ready_values(to.values, tile.first_key, S, lane);
    return to.values;
  }

  __device__ __forceinline__ void end_values(int next, int, Registers& to) const {
    if (prefetch && !split_arrival && next < count) load_value_tile(to.values, v, first_key(next), S, lane);
  }
};
