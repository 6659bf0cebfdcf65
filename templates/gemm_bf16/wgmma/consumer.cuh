// A consumer: one warpgroup, ${64 * m_blocks} rows of each tile.
__device__ __forceinline__ void consume(const SharedMemory& smem, const TensorMap& c_map, Result* c, int M, int N,
                                        int K) {
  const int warpgroup = __shfl_sync(0xffffffffu, threadIdx.x / 128, 0);  // the compiler sees that a warp has one only
  const int own_row = warpgroup * 64 * m_blocks;
  // Lane p tells CTA p of those that load for this one: first those of its row, then the others of its column.
  const int lane = threadIdx.x % 32;
  const ClusterPlace own = place_in_cluster();
  const int rank = lane < cluster_n ? own.row * cluster_n + lane
                                    : (lane - cluster_n + (lane - cluster_n >= own.row)) * cluster_n + own.column;
  const shared_address first_free = address_in(lane < peers ? rank : 0, smem.free(0));
  const auto release = [&](int stage) {
    if constexpr (cluster_size > 1) {
      if (lane < peers) arrive_in_cluster(first_free + 8 * stage);
    } else {
      if (threadIdx.x % 32 == 0) arrive(smem.free(stage));
    }
  };

  RingPlace<stages> place;
  for_each_tile(M, N, K, [&](const Tile& tile) {
    float acc[m_blocks][tile_n / 2];
    int before = 0;  // the stage of the tile before
#pragma unroll 1  // else ptxas 13.0 moves accumulators between products, which then wait for each other
    for (int i = tile.depth.first; i < tile.depth.end; ++i) {
      wait_for(smem.full(place.stage), place.full_parity());
      const matrix_descriptor a = describe_matrix<128>(smem.a(place.stage) + own_row * 128);
      const matrix_descriptor b = b_layout == Layout::nk ? describe_matrix<128>(smem.b(place.stage))
                                                         : describe_columns<tile_k * 128>(smem.b(place.stage));
#pragma unroll
      for (int block = 0; block < m_blocks; ++block) pin_registers(acc[block]);
      start_products();
#pragma unroll
      for (int step = 0; step < tile_k / 16; ++step) {
        const int panel = step / 4 * 128;    // bytes of a row ahead of the step's panel,
        const int in_panel = step % 4 * 32;  // and ahead of the step in it
#pragma unroll
        for (int block = 0; block < m_blocks; ++block) {
          multiply(acc[block], along_rows(a, panel * tile_m + in_panel + block * 64 * 128),
                   along_rows(b, b_layout == Layout::nk ? panel * tile_n + in_panel : step * 16 * 128),
                   step > 0 || i > tile.depth.first);
        }
      }
      commit_products();
      wait_for_products<1>();  // products end in order: those of the tile before have read their stage
      if (i > tile.depth.first) release(before);
      before = place.stage;
      place.advance();
    }
    wait_for_products<0>();
#pragma unroll
    for (int block = 0; block < m_blocks; ++block) pin_registers(acc[block]);
    release(before);
    store_results(smem, c_map, c, acc, tile, own_row, M, N);
  });
  if constexpr (epilogue == Epilogue::tma) {
    if (threadIdx.x % 128 == 0) wait_for_stores();
  }
}
