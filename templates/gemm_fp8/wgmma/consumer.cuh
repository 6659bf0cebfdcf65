// A consumer: one warpgroup, ${64 * m_blocks} rows of each tile. Tensor cores keep 13 bits of a sum of products of codes.
// So they sum a few tiles of the depth, a part. Then the part is promoted: added to sums in f32, times its scales if
// blocks have any.
__device__ __forceinline__ void consume(const SharedMemory& smem, const TensorMap& c_map, const Scales& scales,
                                        Result* c, int M, int N, int K) {
  const int own_row = own_first_row();
  const int lane = threadIdx.x % 32;
  const int lane_row = own_row + threadIdx.x / 32 % 4 * 16 + lane / 4;
  const StageRelease release = stage_release(smem, rank_of_lane());
  RingPlace<stages> place;
  for_each_tile(M, N, K, [&](const Tile& tile) {
    Sums acc[parts];                            // of the tensor cores
    float promoted[m_blocks][tile_n / 2] = {};  // sums of what they had
    int before = 0;                             // the stage of the tile before
    const auto next_stage = [&] {
      before = place.stage;
      place.advance();
    };
    // Promotes the part that begins with tile `first`, once `finish` has made it. Its scales arrive meanwhile.
    const auto promote = [&](int part, int first, auto finish) {
      BlockScales<tile_n> block_scales[m_blocks];
#pragma unroll
      for (int block = 0; block < m_blocks; ++block)
        block_scales[block].load(scales, first, tile.first_row + lane_row + 64 * block, tile.first_column, 1.0f);
      finish();
      pin_sums(acc[part]);
#pragma unroll
      for (int block = 0; block < m_blocks; ++block) block_scales[block].add(promoted[block], acc[part][0][block]);
    };
    // Tile i is under way. The next one starts before tile i is promoted.
    const auto promote_beside_next = [&](int part, int i) {
      promote(part, i, [&] {
        multiply_stage(acc[1 - part], smem, place, own_row, false);
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
      sum_products(acc[0], smem, place, own_row, tile.depth.first, end, 1, release);
    } else if constexpr (parts == 1) {
#pragma unroll 1
      for (int first = tile.depth.first; first < end; first += summed_tiles)
        promote(0, first, [&] {
          sum_products(acc[0], smem, place, own_row, first, min(first + summed_tiles, end), 1, release);
        });
    } else {
      multiply_stage(acc[0], smem, place, own_row, false);
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
    auto& sums = summed_tiles == 0 ? acc[0][0] : promoted;
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
