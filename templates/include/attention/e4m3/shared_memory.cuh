//% include "include/attention/shared_memory.cuh" with has_operands = true

// The last eight rows of each panel of an operand: products with them sum the weights. Either all of them are ones, or
// each row has those of an eighth of the tile's keys.
__device__ __forceinline__ void write_ones(const SharedMemory& smem) {
  constexpr int chunks = 8 * panel / 16;  // of 16 codes, in each panel
  constexpr int panels = tile_k / panel;
  constexpr u32 ones = 0x38383838u;  // e4m3
  for (int i = threadIdx.x; i < groups * stages * panels * chunks; i += threads) {
    const int tile = i / (panels * chunks);
    const int p = i / chunks % panels;
    const shared_address rows =
        smem.value_operand(tile / stages, tile % stages) + p * panel_bytes + head_dim * panel;
    if constexpr (sum_by == RowSum::eighths) {
      const int row = i % 8;
      const int chunk = i % chunks / 8;
      const u32 codes = (p * (panel / 16) + chunk) * 8 / (tile_k / 16) == row ? ones : 0;
      store_shared(rows + xor_offset<panel>(row, chunk), make_uint4(codes, codes, codes, codes));
    } else {
      store_shared(rows + i % chunks * 16, make_uint4(ones, ones, ones, ones));
    }
  }
}
