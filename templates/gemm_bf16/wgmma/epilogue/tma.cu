// Through shared memory: pieces of 64 rows x ${panel_columns} columns, 128 bytes a row and swizzled, which TMA brings to their
// place.
// A warpgroup has room for ${epilogue_panels} piece(s).
constexpr int epilogue_panels = ${epilogue_panels};
constexpr int panel_columns = ${panel_columns};

//% let panel_dtype = result_bytes == 2 ? 'bf16' : 'f32'
#include "include/staged_panel.cuh"

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
      stage_panel(panel, acc[block] + p * (panel_columns / 2), 1.0f);
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
