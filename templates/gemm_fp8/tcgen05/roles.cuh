constexpr int producer_warp = 4;
constexpr int multiplier_warp = 5;

// Brings the tiles of both operands, depth after depth, ahead of the multiplier.
__device__ __forceinline__ void produce(const SharedMemory& smem, const TensorMap& a_map, const TensorMap& b_map,
                                        int first_row, int first_column, int tiles) {
  RingPlace<stages> place;
  for (int i = 0; i < tiles; ++i) {
    wait_for(smem.free(place.stage), place.free_parity());
    const shared_address full = smem.full(place.stage);
    arrive_expecting(full, a_bytes + b_bytes);
#pragma unroll
    for (int panel = 0; panel < tile_k / 128; ++panel) {
      const int pair = i * tile_k / 2 + 64 * panel;  // maps count pairs of codes
      load_box(smem.a(place.stage) + panel * tile_m * 128, a_map, full, pair, first_row, 0);
      load_box(smem.b(place.stage) + panel * tile_n * 128, b_map, full, pair, first_column, 0);
    }
    place.advance();
  }
}

// Multiplies what has come. The end of a stage's products frees it.
__device__ __forceinline__ void multiply(const SharedMemory& smem, tensor_address sums, int tiles) {
  RingPlace<stages> place;
  for (int i = 0; i < tiles; ++i) {
    wait_for(smem.full(place.stage), place.full_parity());
    after_tensor_sync();
    const operand_descriptor a = describe_operand(smem.a(place.stage)), b = describe_operand(smem.b(place.stage));
#pragma unroll
    for (int step = 0; step < tile_k / 32; ++step) {
      const int panel = step / 4 * 128, in_panel = step % 4 * 32;  // bytes of a row
      multiply_codes<tile_n>(sums, along_operand(a, panel * tile_m + in_panel),
                             along_operand(b, panel * tile_n + in_panel), i > 0 || step > 0);
    }
    commit_products_to(smem.free(place.stage));
    place.advance();
  }
  commit_products_to(smem.done());
}

// A thread has a row of the tile. Eight columns are neighbours in memory, and N is a multiple of eight.
__device__ __forceinline__ void store_results(const SharedMemory& smem, tensor_address sums,
                                              const float* __restrict__ a_scale, const float* __restrict__ b_scale,
                                              Result* __restrict__ c, int row, int first_column, int M, int N) {
  const float row_scale = a_scale[scaling == Scaling::rows ? min(row, M - 1) : 0] *
                          (scaling == Scaling::rows ? 1.0f : b_scale[0]);
  wait_for(smem.done(), 0);
  after_tensor_sync();
#pragma unroll 1
  for (int first = 0; first < tile_n; first += 16 * loads) {
    float d[loads][16];
#pragma unroll
    for (int part = 0; part < loads; ++part) load_columns(d[part], sums + first + 16 * part);
    wait_for_columns(d);
#pragma unroll
    for (int part = 0; part < 2 * loads; ++part) {
      const int column = first_column + first + 8 * part;
      if (row >= M || column >= N) continue;
      float* eight = d[part / 2] + part % 2 * 8;
#pragma unroll
      for (int i = 0; i < 8; ++i) eight[i] *= scaling == Scaling::rows ? row_scale * b_scale[column + i] : row_scale;
      Result* to = c + (long long)row * N + column;
      store_four(to, make_float4(eight[0], eight[1], eight[2], eight[3]));
      store_four(to + 4, make_float4(eight[4], eight[5], eight[6], eight[7]));
    }
  }
}
