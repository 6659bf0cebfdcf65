// A consumer: one warpgroup, ${64 * m_blocks} rows of each tile's product.
__device__ __forceinline__ void consume(const SharedMemory& smem, Output* c, int N, int K) {
  const int warpgroup = __shfl_sync(0xffffffffu, threadIdx.x / 128, 0);  // the compiler sees that a warp has one only
  const int own_row = warpgroup * 64 * m_blocks;
  // Lane p tells CTA p of the cluster, which brings a part of a.
  const int lane = threadIdx.x % 32;
  const shared_address first_free = cluster_n > 1 ? address_in(lane % cluster_n, smem.free(0)) : smem.free(0);
  const auto release = [&](int stage) {
    if constexpr (cluster_n > 1) {
      if (lane < cluster_n) arrive_in_cluster(first_free + 8 * stage);
    } else {
      if (lane == 0) arrive(smem.free(stage));
    }
  };

  RingPlace<stages> place;
  follow_tiles(smem, [&](const Tile& tile) {
    // All rows that count may be other warpgroups'.
    if (rows_are_tokens ? tile.first_row + own_row >= tile.end_row : tile.first_column + own_row >= N) {
      for (int k = 0; k < K; k += tile_k) {
        wait_for(smem.full(place.stage), place.full_parity());
        __syncwarp();  // All lanes have seen the phase before it can end.
        release(place.stage);
        place.advance();
      }
      return;
    }
    float acc[parts][m_blocks][across / 2];
    int before = 0;  // the stage of the depth before
#pragma unroll 1  // else ptxas 13.0 moves accumulators between products, which then wait for each other
    for (int k = 0; k < K; k += tile_k) {
      wait_for(smem.full(place.stage), place.full_parity());
      const shared_address a = smem.a(place.stage);
      const shared_address b = smem.b(place.stage, 0);
      const matrix_descriptor rows = describe_matrix<128>((rows_are_tokens ? a : b) + own_row * 128);
      const matrix_descriptor columns = describe_matrix<128>(rows_are_tokens ? b : a);
      pin_sums(acc);
      start_products();
#pragma unroll
      for (int step = 0; step < tile_k / 16; ++step) {
        const int panel = step / 4 * 128;    // bytes of a row ahead of the step's panel,
        const int in_panel = step % 4 * 32;  // and ahead of the step in it
#pragma unroll
        for (int part = 0; part < parts; ++part) {
#pragma unroll
          for (int block = 0; block < m_blocks; ++block) {
            const int in_b = part * part_bytes;
            multiply(acc[part][block],
                     along_rows(rows, panel * product_rows + in_panel + block * 8192 + (rows_are_tokens ? 0 : in_b)),
                     along_rows(columns, panel * across + in_panel + (rows_are_tokens ? in_b : 0)), step > 0 || k > 0);
          }
        }
      }
      commit_products();
      wait_for_products<1>();  // products end in order: those of the depth before have read their stage
      if (k > 0) release(before);
      before = place.stage;
      place.advance();
    }
    wait_for_products<0>();
    pin_sums(acc);
    release(before);
#pragma unroll
    for (int block = 0; block < m_blocks; ++block) {
      if constexpr (activation == Activation::silu_mul) {
#pragma unroll
        for (int i = 0; i < across / 2; ++i) acc[0][block][i] = activated(acc[0][block][i], acc[parts - 1][block][i]);
      }
      store_block(smem, c, acc[0][block], tile, own_row + 64 * block, N);
    }
  });
}
