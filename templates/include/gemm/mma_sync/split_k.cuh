// Where the sums of a product go that CTAs may share: the tile of a CTA, and its part of the depth.
struct Tile {
  int first_row;
  int first_column;
  DepthRange depth;
};

__device__ __forceinline__ Tile own_tile(int M, int N, int K) {
  const TilePlace place = tile_place(blockIdx.x, (M + tile_m - 1) / tile_m, (N + tile_n - 1) / tile_n);
  return {place.row * tile_m, place.column * tile_n, depth_range(blockIdx.y, K)};
}

__device__ __forceinline__ void store_tile(Output* c, float* partial, const float (&sums)[m_tiles][n_tiles][4],
                                           const Tile& tile, const WarpPlace& warp, int M, int N,
                                           shared_address staging) {
  if constexpr (split_k > 1) {
    store_results(partial + (long long)blockIdx.y * M * N, sums, tile.first_row, tile.first_column, warp, M, N,
                  staging);
  } else {
    store_results(c, sums, tile.first_row, tile.first_column, warp, M, N, staging);
  }
}
