// A consumer: one warpgroup, ${64 * m_blocks} rows of each tile's product.
__device__ __forceinline__ void consume(const TiledMemory& smem, Output* c, int N, int K) {
  const int own_row = own_first_row();
  const StageRelease release = stage_release(smem, threadIdx.x % cluster_n);  // each CTA brings a part of a
  RingPlace<stages> place;
  follow_tiles(smem, [&](const Tile& tile) {
    // All rows that count may be other warpgroups'.
    if (a_is_rows ? tile.first_row + own_row >= tile.end_row : tile.first_column + own_row >= N) {
      for (int k = 0; k < K; k += tile_k) {
        wait_for(smem.full(place.stage), place.full_parity());
        __syncwarp();  // All lanes have seen the phase before it can end.
        release(place.stage);
        place.advance();
      }
      return;
    }
    Sums sums;
    sum_products(sums, smem, place, own_row, 0, K, tile_k, release);
#pragma unroll
    for (int block = 0; block < m_blocks; ++block) {
      if constexpr (activation == Activation::silu_mul) {
#pragma unroll
        for (int i = 0; i < across / 2; ++i)
          sums[0][block][i] = activated(sums[0][block][i], sums[parts - 1][block][i]);
      }
      store_block(smem, c, sums[0][block], tile, own_row + 64 * block, N);
    }
  });
}
