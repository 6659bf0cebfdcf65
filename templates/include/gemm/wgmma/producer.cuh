// The producer, one thread: brings operands to the stages, ahead of the consumers and across tiles of the result.

__device__ __forceinline__ void produce(const SharedMemory& smem, const TensorMap& a_map, const TensorMap& b_map, int M,
                                        int N, int K) {
  // Of a tile that several CTAs need, each brings a part for all: from row a_first, from column b_first on.
  const ClusterPlace own = place_in_cluster();
  const int a_first = cluster_size > 1 ? own.column * (tile_m / cluster_n) : 0;
  const int b_first = cluster_size > 1 ? own.row * (tile_n / cluster_m) : 0;
  const unsigned short a_ranks = ((1 << cluster_n) - 1) << (own.row * cluster_n);  // of this row,
  const unsigned short b_ranks = (1 | 1 << cluster_n) << own.column;               // and of this column
  RingPlace<stages> place;
  for_each_tile(M, N, K, [&](const Tile& tile) {
    for (int i = tile.depth.first; i < tile.depth.end; ++i) {
      wait_for(smem.free(place.stage), place.free_parity());
      const shared_address full = smem.full(place.stage);
      arrive_expecting(full, stage_bytes);
#pragma unroll
      for (int panel = 0; panel < tile_k / 64; ++panel) {
        const shared_address to = smem.a(place.stage) + (panel * tile_m + a_first) * 128;
        bring_box<cluster_n>(a_ranks, to, a_map, full, i * tile_k + 64 * panel, tile.first_row + a_first);
      }
      if constexpr (b_layout == Layout::nk) {
#pragma unroll
        for (int panel = 0; panel < tile_k / 64; ++panel) {
          const shared_address to = smem.b(place.stage) + (panel * tile_n + b_first) * 128;
          bring_box<cluster_m>(b_ranks, to, b_map, full, i * tile_k + 64 * panel, tile.first_column + b_first);
        }
      } else {
#pragma unroll
        for (int panel = 0; panel < tile_n / cluster_m / 64; ++panel) {
          const shared_address to = smem.b(place.stage) + (b_first / 64 + panel) * tile_k * 128;
          bring_box<cluster_m>(b_ranks, to, b_map, full, tile.first_column + b_first + 64 * panel, i * tile_k);
        }
      }
      place.advance();
    }
  });
}
