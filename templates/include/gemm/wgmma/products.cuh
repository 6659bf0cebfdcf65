// The products of a consumer: one warpgroup, ${64 * m_blocks} rows of each tile.

typedef float Sums[b_tiles][m_blocks][across / 2];

// The first row of a product that is this warpgroup's.
__device__ __forceinline__ int own_first_row() {
  const int warpgroup = __shfl_sync(0xffffffffu, threadIdx.x / 128, 0);  // the compiler sees that a warp has one only
  return warpgroup * 64 * m_blocks;
}

__device__ __forceinline__ void pin_sums(Sums& sums) {
#pragma unroll
  for (int part = 0; part < b_tiles; ++part)
#pragma unroll
    for (int block = 0; block < m_blocks; ++block) pin_registers(sums[part][block]);
}

// Once a stage is full: sums (+)= its products, a group of their own.
__device__ __forceinline__ void multiply_stage(Sums& sums, const SharedMemory& smem, const RingPlace<stages>& place,
                                               int own_row, bool adds) {
  wait_for(smem.full(place.stage), place.full_parity());
  const int stage = place.stage;
  const matrix_descriptor rows = describe_matrix<128>((a_is_rows ? smem.a(stage) : smem.b(stage)) + own_row * 128);
  const shared_address column_tile = a_is_rows ? smem.b(stage) : smem.a(stage);
  const matrix_descriptor columns =
      b_layout == Layout::nk ? describe_matrix<128>(column_tile) : describe_columns<tile_k * 128>(column_tile);
  pin_sums(sums);
  start_products();
#pragma unroll
  for (int step = 0; step < tile_k / 16; ++step) {
    const int panel = step / 4 * 128;    // bytes of a row ahead of the step's panel,
    const int in_panel = step % 4 * 32;  // and ahead of the step in it
#pragma unroll
    for (int part = 0; part < b_tiles; ++part) {
#pragma unroll
      for (int block = 0; block < m_blocks; ++block) {
        const int in_rows = panel * product_rows + in_panel + block * 64 * 128;
        const int in_columns = b_layout == Layout::nk ? panel * across + in_panel : step * 16 * 128;
        multiply(sums[part][block], along_rows(rows, in_rows + (a_is_rows ? 0 : part * b_bytes)),
                 along_rows(columns, in_columns + (a_is_rows ? part * b_bytes : 0)), step > 0 || adds);
      }
    }
  }
  commit_products();
}

// sums = the products of the stages of depths `first`, `first` + `step`, ... ahead of `end`
__device__ __forceinline__ void sum_products(Sums& sums, const SharedMemory& smem, RingPlace<stages>& place,
                                             int own_row, int first, int end, int step, const StageRelease& release) {
  int before = 0;  // the stage of the depth before
#pragma unroll 1  // else ptxas 13.0 moves accumulators between products, which then wait for each other
  for (int i = first; i < end; i += step) {
    multiply_stage(sums, smem, place, own_row, i > first);
    wait_for_products<1>();  // products end in order: those of the depth before have read their stage
    if (i > first) release(before);
    before = place.stage;
    place.advance();
  }
  wait_for_products<0>();
  pin_sums(sums);
  release(before);
}
