// A consumer: one warpgroup, ${64 * m_blocks} rows of each tile. Tensor cores keep 13 bits of a sum of products of codes. So they sum
// a few tiles of the depth, a part; then the part is promoted: added to sums in f32, times its scales if blocks have any.

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
    float acc[parts][m_blocks][tile_n / 2];     // of the tensor cores
    float promoted[m_blocks][tile_n / 2] = {};  // sums of what they had
    int before = 0;                             // the stage of the tile before
    const auto start_tile = [&](int part, bool adds) {
      wait_for(smem.full(place.stage), place.full_parity());
      multiply_stage(acc[part], smem, place.stage, own_row, adds);
    };
    const auto next_stage = [&] {
      before = place.stage;
      place.advance();
    };
    const auto pin = [&](int part) {
#pragma unroll
      for (int block = 0; block < m_blocks; ++block) pin_registers(acc[part][block]);
    };

    // acc[0] = the sum of tiles `first` to `end` - 1
    const auto sum_in_tensor_cores = [&](int first, int end) {
#pragma unroll 1  // else ptxas 13.0 moves accumulators between products, which then wait for each other
      for (int i = first; i < end; ++i) {
        start_tile(0, i > first);
        wait_for_products<1>();  // products end in order: those of the tile before have read their stage
        if (i > first) release(before);
        next_stage();
      }
      wait_for_products<0>();
      pin(0);
      release(before);
    };
    // Promotes the part that begins with tile `first`, once `finish` has made it. Its scales arrive meanwhile.
    const auto promote = [&](int part, int first, auto finish) {
      BlockScales<tile_n> block_scales[m_blocks];
#pragma unroll
      for (int block = 0; block < m_blocks; ++block)
        block_scales[block].load(scales, first, tile.first_row + lane_row + 64 * block, tile.first_column, 1.0f);
      finish();
      pin(part);
#pragma unroll
      for (int block = 0; block < m_blocks; ++block) block_scales[block].add(promoted[block], acc[part][block]);
    };
    // Tile i is under way. The next one starts before tile i is promoted.
    const auto promote_beside_next = [&](int part, int i) {
      promote(part, i, [&] {
        start_tile(1 - part, false);
        wait_for_products<1>();
        release(before);
        next_stage();
      });
    };
    const auto promote_last = [&](int part, int i) {
      promote(part, i, [&] {
        wait_for_products<0>();
        release(before);
      });
    };

    const int end = tile.depth.end;
    if constexpr (summed_tiles == 0) {
      sum_in_tensor_cores(tile.depth.first, end);
    } else if constexpr (parts == 1) {
#pragma unroll 1
      for (int first = tile.depth.first; first < end; first += summed_tiles)
        promote(0, first, [&] { sum_in_tensor_cores(first, min(first + summed_tiles, end)); });
    } else {
      start_tile(0, false);
      next_stage();
      int i = tile.depth.first;
#pragma unroll 1
      for (; i + 2 < end; i += 2) {
        promote_beside_next(0, i);
        promote_beside_next(1, i + 1);
      }
      if (i + 1 < end) {
        promote_beside_next(0, i);
        promote_last(1, i + 1);
      } else {
        promote_last(0, i);
      }
    }
    auto& sums = summed_tiles == 0 ? acc[0] : promoted;
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
