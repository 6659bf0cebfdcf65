// A consumer: one warpgroup, ${64 * m_blocks} rows of each tile.
__device__ __forceinline__ void consume(const SharedMemory& smem, const TensorMap& c_map, Result* c, int M, int N,
                                        int K) {
  const int warpgroup = __shfl_sync(0xffffffffu, threadIdx.x / 128, 0);  // the compiler sees that a warp has one only
  const int own_row = warpgroup * 64 * m_blocks;
//% if cluster_size > 1
  // Lane p tells CTA p of those that load for this one: first those of its row, then the others of its column.
  const int lane = threadIdx.x % 32;
  const ClusterPlace own = place_in_cluster();
  const int rank = lane < cluster_n ? own.row * cluster_n + lane
                                    : (lane - cluster_n + (lane - cluster_n >= own.row)) * cluster_n + own.column;
  const shared_address first_free = address_in(lane < peers ? rank : 0, smem.free(0));
  const auto release = [&](int stage) {
    if (lane < peers) arrive_in_cluster(first_free + 8 * stage);
  };
//% else
  const auto release = [&](int stage) {
    if (threadIdx.x % 32 == 0) arrive(smem.free(stage));
  };
//% end

  RingPlace<stages> place;
  for_each_tile(M, N, K, [&](const Tile& tile) {
    float acc[m_blocks][tile_n / 2];
    int before = 0;  // the stage of the tile before
#pragma unroll 1  // else ptxas 13.0 moves accumulators between products, which then wait for each other
    for (int i = tile.depth.first; i < tile.depth.end; ++i) {
      wait_for(smem.full(place.stage), place.full_parity());
      const matrix_descriptor a = describe_matrix<128>(smem.a(place.stage) + own_row * 128);
//% if b_layout == 'nk'
      const matrix_descriptor b = describe_matrix<128>(smem.b(place.stage));
//% else
      const matrix_descriptor b = describe_columns<tile_k * 128>(smem.b(place.stage));
//% end
#pragma unroll
      for (int block = 0; block < m_blocks; ++block) pin_registers(acc[block]);
      start_products();
//% for step in 0..tile_k / 16
//%   let panel_number = step / 4
//%   let byte = step % 4 * 32
#pragma unroll
      for (int block = 0; block < m_blocks; ++block) {
        multiply(acc[block], along_rows(a, ${panel_number * tile_m * 128 + byte} + block * 64 * 128),
                 along_rows(b, ${b_layout == 'nk' ? panel_number * tile_n * 128 + byte : step * 16 * 128}),
                 ${step == 0 ? 'i > tile.depth.first' : '1'});
      }
//% end
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
//% if epilogue == 'tma'
  if (threadIdx.x % 128 == 0) wait_for_stores();
//% end
}
