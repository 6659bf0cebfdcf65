#pragma once
// Of the work's key tiles, in the order in which they are worked on, those that 64 of its rows see, from `first_row` on.
__device__ __forceinline__ TileRange seen_tiles(const Work& work, int first_row, const Problem& problem) {
  const int last_row = min(first_row + 63, problem.rows(work) - 1);
  int begin = work.first_tile;
  int end = begin;
  if (first_row <= last_row) {
    end = max((problem.key_end(work, problem.position(last_row)) + tile_k - 1) / tile_k, begin);
    if constexpr (has_window) begin = min(problem.key_begin(work, problem.position(first_row)) / tile_k, end);
  }
  if (kv_order == KeyOrder::forward) return {begin, end};
  return {work.first_tile + work.tiles - end, work.first_tile + work.tiles - begin};
}
