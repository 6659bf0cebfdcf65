#pragma once
// Of the work's key tiles, in the order in which they are worked on, those that 64 of its rows see, from `first_row` on.
__device__ __forceinline__ TileRange seen_tiles(const Work& work, int first_row, int S) {
  const int keys = causal ? min(S, first_row + 64) : S;
  const int tiles = first_row < S ? (keys + tile_k - 1) / tile_k : 0;
  if (kv_order == KeyOrder::forward) return {0, tiles};
  return {work.tiles - tiles, work.tiles};
}
