//% include "include/panel_stores.cuh" with panel_dtype = result_bytes == 2 ? 'bf16' : 'f32'

__device__ __forceinline__ void store_results(const SharedMemory& smem, const TensorMap& c_map, Result*,
                                              const float (&acc)[m_blocks][tile_n / 2], const Tile& tile, int own_row,
                                              int, int) {
  store_panels<m_blocks, tile_n>(c_map, smem.staging(), own_row / (64 * m_blocks), &acc[0][0], 1.0f,
                                 tile.first_row + own_row, tile.first_column, tile.split);
}
