// Of the work's key tiles, in the order in which they are worked on, those that 64 of its rows see, from `first_row` on.
__device__ __forceinline__ TileRange seen_tiles(const Work& work, int first_row, int S) {
//% if mask == 'causal'
  const int keys = min(S, first_row + 64);
//% else
  const int keys = S;
//% end
  const int tiles = first_row < S ? (keys + tile_k - 1) / tile_k : 0;
//% if kv_order == 'forward'
  return {0, tiles};
//% else
  return {work.tiles - tiles, work.tiles};
//% end
}
