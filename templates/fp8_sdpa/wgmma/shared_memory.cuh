//% let has_operands = true
//% include "include/attention/shared_memory.cuh"
//% if row_sum == 'ones'

// The last eight rows of each panel of an operand: products with them sum the weights.
__device__ __forceinline__ void write_ones(const SharedMemory& smem) {
  constexpr int chunks = ${8 * panel / 16};  // of 16 codes, in each panel
  constexpr int panels = ${tile_k / panel};
  constexpr u32 ones = 0x38383838u;  // e4m3
  for (int i = threadIdx.x; i < groups * stages * panels * chunks; i += threads) {
    const int tile = i / (panels * chunks);
    const int p = i / chunks % panels;
    const shared_address rows =
        smem.value_operand(tile / stages, tile % stages) + p * ${(D + sum_columns) * panel} + ${D * panel};
    store_shared(rows + i % chunks * 16, make_uint4(ones, ones, ones, ones));
  }
}
//% end
