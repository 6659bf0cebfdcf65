// The producer, one thread: brings operands to the stages, ahead of the consumers and across tiles of the result.
__device__ __forceinline__ void produce(const SharedMemory& smem, const TensorMap& a_map, const TensorMap& b_map, int M,
                                        int N, int K) {
//% if cluster_size > 1
  // Of a tile that several CTAs need, each brings a part for all: from row a_first, from column b_first on.
  const ClusterPlace own = place_in_cluster();
  const int a_first = own.column * ${tile_m / cluster_n};
  const int b_first = own.row * ${tile_n / cluster_m};
//% else
  constexpr int a_first = 0;
  constexpr int b_first = 0;
//% end
//% if cluster_n > 1
  const unsigned short a_ranks = ((1 << cluster_n) - 1) << (own.row * cluster_n);
//% end
//% if cluster_m > 1
  const unsigned short b_ranks = ${cluster_n == 1 ? 3 : 5} << own.column;  // this column's
//% end
  RingPlace<stages> place;
  for_each_tile(M, N, K, [&](const Tile& tile) {
    for (int i = tile.depth.first; i < tile.depth.end; ++i) {
      wait_for(smem.free(place.stage), place.free_parity());
      const shared_address full = smem.full(place.stage);
      arrive_expecting(full, a_bytes + b_bytes);
#pragma unroll
      for (int panel = 0; panel < tile_k / 64; ++panel) {
        const shared_address to = smem.a(place.stage) + (panel * tile_m + a_first) * 128;
//% if cluster_n > 1
        load_box_for(a_ranks, to, a_map, full, i * tile_k + 64 * panel, tile.first_row + a_first, 0);
//% else
        load_box(to, a_map, full, i * tile_k + 64 * panel, tile.first_row + a_first, 0);
//% end
      }
//% if b_layout == 'nk'
#pragma unroll
      for (int panel = 0; panel < tile_k / 64; ++panel) {
        const shared_address to = smem.b(place.stage) + (panel * tile_n + b_first) * 128;
        const int x = i * tile_k + 64 * panel;
        const int y = tile.first_column + b_first;
//% else
#pragma unroll
      for (int panel = 0; panel < ${tile_n / cluster_m / 64}; ++panel) {
        const shared_address to = smem.b(place.stage) + (b_first / 64 + panel) * tile_k * 128;
        const int x = tile.first_column + b_first + 64 * panel;
        const int y = i * tile_k;
//% end
//% if cluster_m > 1
        load_box_for(b_ranks, to, b_map, full, x, y, 0);
//% else
        load_box(to, b_map, full, x, y, 0);
//% end
      }
      place.advance();
    }
  });
}
