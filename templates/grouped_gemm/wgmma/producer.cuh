// The producer, one thread: brings operands to the stages, ahead of the consumers and across tiles of the result. Rows
// of a past the expert's end come along: nothing that is stored depends on them.
__device__ __forceinline__ void produce(const TiledMemory& smem, const TensorMap& a_map, const TensorMap& b_map,
                                        const int* offsets, u32* next_tile, int E, int N, int K) {
  constexpr unsigned short everyone = (1 << cluster_n) - 1;
  const int a_first = own_rank() * (tile_m / cluster_n);  // the rows that this CTA brings for all
  RingPlace<stages> place;
  hand_out_tiles(smem, offsets, next_tile, E, N, [&](const Tile& tile) {
    for (int k = 0; k < K; k += tile_k) {
      wait_for(smem.free(place.stage), place.free_parity());
      const shared_address full = smem.full(place.stage);
      arrive_expecting(full, stage_bytes);
#pragma unroll
      for (int panel = 0; panel < tile_k / 64; ++panel) {
        const shared_address to = smem.a(place.stage) + (panel * tile_m + a_first) * 128;
        bring_box<cluster_n>(everyone, to, a_map, full, k + 64 * panel, tile.first_row + a_first);
#pragma unroll
        for (int part = 0; part < parts; ++part) {
          load_box(smem.b(place.stage, part) + panel * tile_n * 128, b_map, full, k + 64 * panel,
                   part * N + tile.first_column, tile.expert);
        }
      }
      place.advance();
    }
  });
}
