//% takes load = 'cp_async'
// Tiles of the depth run through a ring of stages in shared memory.

//% if load == 'tma'
// Where a stage's barrier is: behind all stages, and behind the results that take their place.
__device__ __forceinline__ shared_address stage_full(shared_address smem, int stage) {
  return smem + ${barriers_at} + 8 * stage;
}

// Runs the tiles of the depth through the stages: `copy(stage, first_k, full)` starts the copies of one, by one thread,
// `multiply(i, stage)` is called when tile i lies there.
template <typename Copy, typename Multiply>
__device__ __forceinline__ void run_through_stages(shared_address smem, DepthRange depth, const Copy& copy,
                                                   const Multiply& multiply) {
  const int tiles = depth.end - depth.first;
  const auto start_copy = [&](int i, int stage) {
    if (threadIdx.x != 0 || i >= tiles) return;
    arrive_expecting(stage_full(smem, stage), stage_bytes);
    copy(smem + stage * stage_bytes, (depth.first + i) * tile_k, stage_full(smem, stage));
  };
  if (threadIdx.x == 0) {
    for (int stage = 0; stage < stages; ++stage) init_barrier(stage_full(smem, stage), 1);
    publish_barriers();
  }
  __syncthreads();
#pragma unroll
  for (int stage = 0; stage < stages - 1; ++stage) start_copy(stage, stage);

  RingPlace<stages> place;
  for (int i = 0; i < tiles; ++i) {
    wait_for(stage_full(smem, place.stage), place.full_parity());
    __syncthreads();  // all warps are done with the tile before, whose stage is next
    start_copy(i + stages - 1, place.stage == 0 ? stages - 1 : place.stage - 1);
    multiply(depth.first + i, smem + place.stage * stage_bytes);
    place.advance();
  }
}
//% else
// Runs the tiles of the depth through the stages: `copy(stage, first_k)` starts the copies of one, `multiply(i, stage)`
// is called when tile i lies there.
template <typename Copy, typename Multiply>
__device__ __forceinline__ void run_through_stages(shared_address smem, DepthRange depth, const Copy& copy,
                                                   const Multiply& multiply) {
  const int tiles = depth.end - depth.first;
  // Tile i goes to stage i % stages. Groups are closed for tiles past the last too, so that counting them is the same
  // all the way.
  const auto start_copy = [&](int i, int stage) {
    if (i < tiles) copy(smem + stage * stage_bytes, (depth.first + i) * tile_k);
    commit_copies();
  };
#pragma unroll
  for (int stage = 0; stage < stages - 1; ++stage) start_copy(stage, stage);

  int stage = 0;
  for (int i = 0; i < tiles; ++i) {
    wait_for_copies<stages - 2>();
    __syncthreads();  // the tile is there for all warps, and all are done with the one before, whose stage is next
    start_copy(i + stages - 1, stage == 0 ? stages - 1 : stage - 1);
    multiply(depth.first + i, smem + stage * stage_bytes);
    stage = stage + 1 == stages ? 0 : stage + 1;
  }
  wait_for_copies<0>();
}

//% end

// sums += the products of a stage
__device__ __forceinline__ void multiply_stage(float (&sums)[b_tiles][m_tiles][n_tiles][4], shared_address stage,
                                               const WarpPlace& warp) {
#pragma unroll
  for (int step = 0; step < tile_k / 16; ++step) {
    RowsOperand a[m_tiles];
#pragma unroll
    for (int m = 0; m < m_tiles; ++m) {
      load_a(a[m].fragment, stage, warp.row + 16 * m, step, warp.lane);
      a[m].widen();
    }
#pragma unroll
    for (int part = 0; part < b_tiles; ++part) {
#pragma unroll
      for (int n = 0; n < n_tiles; n += 2) {
        u32 b[4];
        load_b(b, stage + a_bytes + part * b_bytes, warp.column + 8 * n, step, warp.lane);
#pragma unroll
        for (int m = 0; m < m_tiles; ++m) {
          multiply(sums[part][m][n], a[m], b[0], b[1]);
          multiply(sums[part][m][n + 1], a[m], b[2], b[3]);
        }
      }
    }
  }
}
