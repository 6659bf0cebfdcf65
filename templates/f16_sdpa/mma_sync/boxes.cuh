// Tiles of keys and values that TMA brings: a panel of 64 columns after the other, each 128 bytes wide and swizzled. A
// stage has two barriers, which count the bytes of its keys and of its values.
#include "include/mbarrier.cuh"
#include "include/tma.cuh"

constexpr int panels = head_dim / 64;
constexpr int barriers_at = ${barriers_at};

// Swizzle atoms are 1024 bytes.
__device__ __forceinline__ shared_address start_of_boxes(const unsigned char* storage) {
  return (shared_address_of(storage) + 1023) & ~1023u;
}

__device__ __forceinline__ shared_address stage_full(shared_address smem, int group, int stage, int values) {
  return smem + barriers_at + ((group * stages + stage) * 2 + values) * 8;
}

__device__ __forceinline__ void init_stages(shared_address smem) {
  if (threadIdx.x == 0) {
    for (int i = 0; i < 2 * groups * stages; ++i) init_barrier(smem + barriers_at + 8 * i, 1);
    publish_barriers();
  }
  __syncthreads();
}

// Brings a tile's rows from `first` on of a head, by one thread; those behind the tensor are zero.
__device__ __forceinline__ void load_boxes(shared_address tile, const TensorMap& map, shared_address full, int first,
                                           int head) {
  arrive_expecting(full, tile_bytes);
#pragma unroll
  for (int panel = 0; panel < panels; ++panel)
    load_box(tile + panel * tile_k * 128, map, full, panel * 64, first, head);
}

__device__ __forceinline__ shared_address box_chunk_address(shared_address tile, int row, int chunk) {
  return tile + xor_offset<128>(row, chunk);
}

// As along_row: an even number of chunks further.
__device__ __forceinline__ shared_address along_boxes(shared_address start, int chunks) {
  return (start ^ (chunks % 8 * 16)) + chunks / 8 * (tile_k * 128);
}
