// Through shared memory: pieces of 64 rows x ${panel_columns} keys, 128 bytes a row and swizzled, which TMA brings to
// their place. A warpgroup has room for ${epilogue_panels} piece(s). Rows that do not begin at multiples of 16 bytes have
// no tensor map; their scores are stored straight from the registers.
#include "include/scores/pairs.cuh"

constexpr int epilogue_panels = ${epilogue_panels};
constexpr int panel_columns = ${panel_columns};

//% let panel_dtype = out
#include "include/staged_panel.cuh"

__device__ __forceinline__ void store_panels(const TensorMap& s_map, shared_address staging,
                                             const float (&scores)[m_tiles][n_tiles][4], float scale, int first_row,
                                             int first_key, int head) {
  const int warpgroup = threadIdx.x / 128;
  const bool stores = threadIdx.x % 128 == 0;
#pragma unroll
  for (int block = 0; block < m_tiles; ++block) {
#pragma unroll
    for (int p = 0; p < tile_n / panel_columns; ++p) {
      const int place = (block * (tile_n / panel_columns) + p) % epilogue_panels;
      const shared_address panel = staging + (warpgroup * epilogue_panels + place) * 8192;
      // The piece that was here before has left: at most those of the other places are still under way.
      if (stores) asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(epilogue_panels - 1) : "memory");
      sync_at(1 + warpgroup, 128);
      stage_panel(panel, scores[block][p * (panel_columns / 8)], scale);
      publish_to_async_proxy();
      sync_at(1 + warpgroup, 128);
      if (stores) {
        store_box(s_map, panel, first_key + p * panel_columns, first_row + 64 * (warpgroup * m_tiles + block), head);
        commit_stores();
      }
    }
  }
}

__device__ __forceinline__ void store_scores(Score* s, const float (&scores)[m_tiles][n_tiles][4], float scale,
                                             int first_row, int first_key, int warp_row, int warp_key, int M, int N,
                                             int lane, const Staging& staging) {
  if (N % (16 / (int)sizeof(Score)) == 0) {
    store_panels(staging.map, staging.start, scores, scale, first_row, first_key, staging.head);
  } else {
    store_scores(s, scores, scale, first_row, first_key, warp_row, warp_key, M, N, lane, staging.start);
  }
}
