#pragma once
constexpr int prefetched_chunks = (tile_k * row_chunks + group_threads - 1) / group_threads;

// The two halves of copy_tile for a key or value tile: global memory to registers, and later registers to
// shared memory.
template <typename Order = InOrder>
__device__ __forceinline__ void fetch_tile(uint4 (&codes)[prefetched_chunks], const e4m3* matrix, int first,
                                           int end, int thread) {
#pragma unroll
  for (int i = 0; i < prefetched_chunks; ++i) {
    const int item = thread + i * group_threads;
    const int row = item / row_chunks;
    const int source_row = first + Order::row(row);
    codes[i] = make_uint4(0, 0, 0, 0);
    if (row < tile_k && source_row < end) {
      codes[i] = load_global(matrix + (long long)source_row * head_dim + item % row_chunks * 16);
    }
  }
}

__device__ __forceinline__ void put_tile(shared_address tile, const uint4 (&codes)[prefetched_chunks],
                                         int thread) {
#pragma unroll
  for (int i = 0; i < prefetched_chunks; ++i) {
    const int item = thread + i * group_threads;
    const int row = item / row_chunks;
    if (row < tile_k) store_shared(chunk_address(tile, row, item % row_chunks), codes[i]);
  }
}
