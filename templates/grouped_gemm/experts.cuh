#pragma once
// Which part of the result a CTA (or cluster of CTAs) makes. The rows of expert e are offsets[e] to offsets[e + 1] - 1;
// its tiles begin at its first row. The last ones may reach past its end, where rows belong to others.
struct Tile {
  int expert;
  int first_row;
  int end_row;  // of the expert
  int first_column;
};

// All experts' tiles, numbered expert by expert. A walk finds ascending numbers and reads each offset once.
struct TileWalk {
  const int* offsets;
  int experts;
  int N;
  int expert = 0;
  int tiles_before = 0;  // of the experts ahead

  // False past the last tile.
  __device__ __forceinline__ bool find(int index, Tile& tile) {
    constexpr int columns = tile_n * ctas_of_row;
    const int tile_columns = (N + columns - 1) / columns;
    for (; expert < experts; ++expert) {
      const int first_row = __ldg(offsets + expert);
      const int end_row = __ldg(offsets + expert + 1);
      const int tile_rows = (end_row - first_row + tile_m - 1) / tile_m;
      if (index < tiles_before + tile_rows * tile_columns) {
        const TilePlace place = tile_place(index - tiles_before, tile_rows, tile_columns);
        tile = {expert, first_row + place.row * tile_m, end_row, place.column * columns};
        return true;
      }
      tiles_before += tile_rows * tile_columns;
    }
    return false;
  }
};
