#pragma once
// The key and value tiles of one group of warps: every warps_k-th of the CTA's, in the order in which the group works
// on them. shared_tiles.cuh and direct_tiles.cuh have the ways to bring them, with these functions, in the order of
// calls for tile i. `next` is the tile that comes to its place.
//   start(registers)                            ahead of the first tile
//   await_keys(tile, group, thread, registers)  until its keys are there
//   fetch_keys(first_key, registers)            of tile i + 1, with `prefetch`
//   fetch_values(first_key, registers)
//   load_keys(codes, tile, registers, half, n)  half of the depth of the n-th eight keys, as an operand
//   end_keys(next, registers)                   they are multiplied
//   await_values(tile, registers)               until its values are there; returns them as load_values takes them
//   end_values(next, stage, registers)          they are multiplied
constexpr int tile_copies = split_arrival ? 2 : 1;  // groups of cp.async for a tile

// The one that is worked on, and where it lies in shared memory.
struct Tile {
  int first_key;
  shared_address k;
  shared_address v;
};

struct GroupTiles {
  const e4m3* k;  // of the head
  const e4m3* v;
  int S;
  int first_tile;  // of the CTA
  int end_tile;
  int count;  // of the group
  shared_address k_tiles;
  shared_address v_tiles;
  shared_address v_fragments;
  int group;
  int thread;  // of the group
  int warp_q;
  int lane;

  __device__ __forceinline__ int first_key(int i) const {
    return (kv_order == KeyOrder::forward ? first_tile + group + i * warps_k
                                          : end_tile - 1 - group - i * warps_k) * tile_k;
  }

  // Where a way has nothing to do.
  template <typename Registers>
  __device__ __forceinline__ void start(Registers&) const {}
  template <typename Registers>
  __device__ __forceinline__ void fetch_keys(int, Registers&) const {}
  template <typename Registers>
  __device__ __forceinline__ void fetch_values(int, Registers&) const {}
  template <typename Registers>
  __device__ __forceinline__ void end_keys(int, Registers&) const {}
  template <typename Registers>
  __device__ __forceinline__ void end_values(int, int, Registers&) const {}
};
