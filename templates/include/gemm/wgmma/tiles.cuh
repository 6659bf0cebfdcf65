constexpr bool persistent = ${persistent};  // CTAs make tile after tile

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
  if constexpr (cluster_size == 1) return {0, 0};
  const int rank = rank_in_cluster();
  return {rank / cluster_n, rank % cluster_n};
}

// The rank of the CTA that this lane tells of free stages: first those of its row, then the others of its column.
__device__ __forceinline__ int rank_of_lane() {
  const int lane = threadIdx.x % 32;
  const ClusterPlace own = place_in_cluster();
  const int rank = lane < cluster_n ? own.row * cluster_n + lane
                                    : (lane - cluster_n + (lane - cluster_n >= own.row)) * cluster_n + own.column;
  return lane < peers ? rank : 0;
}

// Calls `body` with each tile of this CTA.
template <typename Body>
__device__ __forceinline__ void for_each_tile(int M, int N, int K, const Body& body) {
  const ClusterPlace own = place_in_cluster();
  const int rows = (M + tile_m * cluster_m - 1) / (tile_m * cluster_m);  // of clusters
  const int columns = (N + tile_n * cluster_n - 1) / (tile_n * cluster_n);
  const auto tile = [&](int i) {
    const int split = split_k > 1 ? i / (rows * columns) : 0;
    const TilePlace place = tile_place(i - split * rows * columns, rows, columns);
    return Tile{(place.row * cluster_m + own.row) * tile_m, (place.column * cluster_n + own.column) * tile_n, split,
                depth_range(split, K)};
  };
  const int first = blockIdx.x / cluster_size;
  if constexpr (persistent) {
    for (int i = first; i < rows * columns * split_k; i += gridDim.x / cluster_size) body(tile(i));
  } else {
    body(tile(first));
  }
}
