// A consumer: one warpgroup, ${64 * m_blocks} rows of each tile. Tensor cores keep 13 bits of a sum of products of codes: after
// ${summed_tiles == 0 ? 'all tiles' : summed_tiles == 1 ? 'each tile' : numbered(summed_tiles, summed_tiles + 1, '{} tiles', '')} of the depth ${summed_tiles == 0 ? 'it is the result' : 'it is added to f32 sums'}${scaling == 'blocks' ? ', times the scales of the tile' : ''}.

// acc (+)= the products of a stage
__device__ __forceinline__ void multiply_stage(float (&acc)[m_blocks][tile_n / 2], const SharedMemory& smem, int stage,
                                               int own_row, bool adds) {
  const matrix_descriptor a = describe_matrix<128>(smem.a(stage) + own_row * 128);
  const matrix_descriptor b = describe_matrix<128>(smem.b(stage));
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
               along_rows(b, panel * tile_n + in_panel), step > 0 || adds);
    }
  }
  commit_products();
}

__device__ __forceinline__ void consume(const SharedMemory& smem, const TensorMap& c_map, const Scales& scales,
                                        Result* c, int M, int N, int K) {
  const int warpgroup = __shfl_sync(0xffffffffu, threadIdx.x / 128, 0);  // the compiler sees that a warp has one only
  const int own_row = warpgroup * 64 * m_blocks;
  // Lane p tells CTA p of those that load for this one: first those of its row, then the others of its column.
  const int lane = threadIdx.x % 32;
  const int lane_row = own_row + threadIdx.x / 32 % 4 * 16 + lane / 4;
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
    float acc[m_blocks][tile_n / 2];                     // of the tensor cores
    float promoted[m_blocks][tile_n / 2] = {};           // sums of what they had
    const auto sum_in_tensor_cores = [&](int first, int end) {
      int before = 0;  // the stage of the tile before
#pragma unroll 1  // else ptxas 13.0 moves accumulators between products, which then wait for each other
      for (int i = first; i < end; ++i) {
        wait_for(smem.full(place.stage), place.full_parity());
        multiply_stage(acc, smem, place.stage, own_row, i > first);
        wait_for_products<1>();  // products end in order: those of the tile before have read their stage
        if (i > first) release(before);
        before = place.stage;
        place.advance();
      }
      wait_for_products<0>();
#pragma unroll
      for (int block = 0; block < m_blocks; ++block) pin_registers(acc[block]);
      release(before);
    };

    if constexpr (summed_tiles == 0) {
      sum_in_tensor_cores(tile.depth.first, tile.depth.end);
    } else {
#pragma unroll 1
      for (int first = tile.depth.first; first < tile.depth.end; first += summed_tiles) {
        BlockScales<tile_n> block_scales[m_blocks];
#pragma unroll
        for (int block = 0; block < m_blocks; ++block)
          block_scales[block].load(scales, first, tile.first_row + lane_row + 64 * block, tile.first_column, 1.0f);
        sum_in_tensor_cores(first, min(first + summed_tiles, tile.depth.end));
#pragma unroll
        for (int block = 0; block < m_blocks; ++block) block_scales[block].add(promoted[block], acc[block]);
      }
    }
    auto& sums = summed_tiles == 0 ? acc : promoted;
    if constexpr (scaling != Scaling::blocks) {
#pragma unroll
      for (int block = 0; block < m_blocks; ++block)
        scale_results<tile_n>(sums[block], scales, tile.first_row + lane_row + 64 * block, tile.first_column, 1.0f);
    }
    store_results(smem, c_map, c, sums, tile, own_row, M, N);
  });
  if constexpr (epilogue == Epilogue::tma) {
    if (threadIdx.x % 128 == 0) wait_for_stores();
  }
}
