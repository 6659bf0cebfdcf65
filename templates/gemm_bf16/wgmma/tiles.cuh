// The tiles of a CTA, one after the other. CTA `rank` of a cluster stands in row rank / cluster_n, column
// rank % cluster_n.

struct Tile {
  int first_row;
  int first_column;
  int split;         // which part of the depth
  DepthRange depth;  // in tiles of tile_k
};

struct ClusterPlace {
  int row;
  int column;
};

__device__ __forceinline__ ClusterPlace place_in_cluster() {
//% if cluster_size > 1
  const int rank = rank_in_cluster();
  return {rank / cluster_n, rank % cluster_n};
//% else
  return {0, 0};
//% end
}

// Calls `body` with each tile of this CTA.
template <typename Body>
__device__ __forceinline__ void for_each_tile(int M, int N, int K, const Body& body) {
  const ClusterPlace own = place_in_cluster();
  const int rows = (M + tile_m * cluster_m - 1) / (tile_m * cluster_m);  // of clusters
  const int columns = (N + tile_n * cluster_n - 1) / (tile_n * cluster_n);
//% if persistent
  for (int i = blockIdx.x / cluster_size; i < rows * columns * ${split_k}; i += gridDim.x / cluster_size) {
//% else
  const int i = blockIdx.x / cluster_size;
  {
//% end
//% if split_k > 1
    const int split = i / (rows * columns);
//% else
    constexpr int split = 0;
//% end
    const TilePlace place = tile_place(i - split * rows * columns, rows, columns);
    body(Tile{(place.row * cluster_m + own.row) * tile_m, (place.column * cluster_n + own.column) * tile_n, split,
              depth_range(split, K)});
  }
}
