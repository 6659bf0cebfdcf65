//% takes epilogue_panels, panel_columns, panel_dtype
// A warpgroup's results leave through shared memory: pieces of 64 rows x ${panel_columns} columns, 128 bytes a row and swizzled, which
// TMA brings to their place. There is room for ${epilogue_panels} piece(s).
constexpr int epilogue_panels = ${epilogue_panels};
constexpr int panel_columns = ${panel_columns};

#include "include/staged_panel.cuh"

// Stores `blocks` x 64 rows from `first_row` on, `columns` columns from `first_column` on of layer `z` of the map; they
// are `factor` times as large as `acc`.
template <int blocks, int columns>
__device__ __forceinline__ void store_panels(const TensorMap& map, shared_address staging, int warpgroup,
                                             const float* acc, float factor, int first_row, int first_column, int z) {
  const int warpgroup_barrier = 1 + warpgroup;
  const shared_address own_staging = staging + warpgroup * (epilogue_panels * 8192);
  const bool stores = threadIdx.x % 128 == 0;
#pragma unroll
  for (int block = 0; block < blocks; ++block) {
#pragma unroll
    for (int p = 0; p < columns / panel_columns; ++p) {
      const shared_address panel = own_staging + (block * (columns / panel_columns) + p) % epilogue_panels * 8192;
      // The piece that was here before has left: at most those of the other places are still under way.
      if (stores) asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(epilogue_panels - 1) : "memory");
      sync_at(warpgroup_barrier, 128);
      stage_panel(panel, acc + block * (columns / 2) + p * (panel_columns / 2), factor);
      publish_to_async_proxy();
      sync_at(warpgroup_barrier, 128);
      if (stores) {
        store_box(map, panel, first_column + p * panel_columns, first_row + 64 * block, z);
        commit_stores();
      }
    }
  }
}
