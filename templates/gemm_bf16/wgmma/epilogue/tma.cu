// Through shared memory: pieces of 64 rows x ${panel_columns} columns, 128 bytes a row and swizzled, which TMA brings to their
// place.
// A warpgroup has room for ${epilogue_panels} piece(s).
constexpr int epilogue_panels = ${epilogue_panels};
constexpr int panel_columns = ${panel_columns};

__device__ __forceinline__ void stage_panel(shared_address panel, const float* acc) {
  const int lane = threadIdx.x % 32;
  const int warp_row = threadIdx.x / 32 % 4 * 16;
//% if result_bytes == 2
  // Accumulators lie as stmatrix takes them: of each 16 columns, matrix 2 half + r is eight columns of eight rows.
#pragma unroll
  for (int part = 0; part < panel_columns / 16; ++part) {
    const float* sixteen = acc + 8 * part;
    store_matrices(panel + xor_offset<128>(warp_row + lane % 16, 2 * part + lane / 16),
                   bf16x2_from_f32(sixteen[0], sixteen[1]), bf16x2_from_f32(sixteen[2], sixteen[3]),
                   bf16x2_from_f32(sixteen[4], sixteen[5]), bf16x2_from_f32(sixteen[6], sixteen[7]));
  }
//% else
#pragma unroll
  for (int part = 0; part < panel_columns / 8; ++part) {
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      store_shared(panel + xor_offset<128>(warp_row + 8 * r + lane / 4, 2 * part + lane % 4 / 2) + lane % 2 * 8,
                   make_float2(acc[4 * part + 2 * r], acc[4 * part + 2 * r + 1]));
    }
  }
//% end
}

__device__ __forceinline__ void store_results(const SharedMemory& smem, const TensorMap& c_map, Result*,
                                              const float (&acc)[m_blocks][tile_n / 2], const Tile& tile, int own_row,
                                              int M, int N) {
  const int warpgroup_barrier = 1 + own_row / (64 * m_blocks);
  const shared_address staging = smem.staging() + own_row / (64 * m_blocks) * (epilogue_panels * 8192);
  const bool stores = threadIdx.x % 128 == 0;
#pragma unroll
  for (int block = 0; block < m_blocks; ++block) {
#pragma unroll
    for (int p = 0; p < tile_n / panel_columns; ++p) {
      const shared_address panel = staging + (block * (tile_n / panel_columns) + p) % epilogue_panels * 8192;
      // The piece that was here before has left: at most those of the other places are still under way.
      if (stores) asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(epilogue_panels - 1) : "memory");
      sync_at(warpgroup_barrier, 128);
      stage_panel(panel, acc[block] + p * (panel_columns / 2));
      publish_to_async_proxy();
      sync_at(warpgroup_barrier, 128);
      if (stores) {
        store_box(c_map, panel, tile.first_column + p * panel_columns, tile.first_row + own_row + 64 * block,
                  tile.split);
        commit_stores();
      }
    }
  }
}
