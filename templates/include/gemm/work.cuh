// Which part of the result a CTA (or cluster of CTAs) makes.

// The `index`-th tile when ${group_m} row(s) of tiles at a time are gone through column by column: tiles under way at
// the same time then share rows of a and columns of b, which stay in the L2 cache.
struct TilePlace {
  int row;
  int column;
};

__device__ __forceinline__ TilePlace tile_place(int index, int tile_rows, int tile_columns) {
  constexpr int group_rows = ${group_m};
  const int group = index / (group_rows * tile_columns);
  const int rows = min(group_rows, tile_rows - group * group_rows);
  const int in_group = index - group * group_rows * tile_columns;
  return {group * group_rows + in_group % rows, in_group / rows};
}

// The share of the summed dimension that part `split` has, in tiles of tile_k: at least one. A part for which nothing
// is left has one past the end, which is read as zeros.
struct DepthRange {
  int first;
  int end;
};

__device__ __forceinline__ DepthRange depth_range(int split, int K) {
  const int tiles = (K + tile_k - 1) / tile_k;
  if constexpr (split_k == 1) return {0, tiles};
  const int share = (tiles + split_k - 1) / split_k;
  const int first = min(split * share, tiles);
  return {first, max(first + 1, min(first + share, tiles))};
}
