// Tiles in shared memory: rows of head_dim codes in 16-byte chunks. Rows past the end of the tensor are zero,
// so that a product with them is defined and harmless.

__device__ __forceinline__ shared_address chunk_address(shared_address tile, int row, int chunk) {
  return tile + ${smem_layout}_offset<head_dim>(row, chunk);
}

// Row r of the tile is row r of the matrix.
struct InOrder {
  static __device__ __forceinline__ int row(int position) { return position; }
};

// Copies `rows` rows from row `first` on of a matrix with `end` rows; `thread` of `copiers` takes part.
template <int rows, int copiers, typename Order = InOrder>
__device__ __forceinline__ void copy_tile(shared_address tile, const e4m3* matrix, int first, int end,
                                          int thread) {
#pragma unroll
  for (int i = 0; i < (rows * row_chunks + copiers - 1) / copiers; ++i) {
    const int item = thread + i * copiers;
    const int row = item / row_chunks;
    const int chunk = item % row_chunks;
    if (rows * row_chunks % copiers != 0 && row >= rows) break;
    const int source_row = first + Order::row(row);
    const bool there = source_row < end;
//% if copy == 'cp_async'
    const e4m3* source = matrix + (long long)(there ? source_row : 0) * head_dim + chunk * 16;
    copy_async(chunk_address(tile, row, chunk), source, there);
//% else
    uint4 codes = make_uint4(0, 0, 0, 0);
    if (there) codes = load_global(matrix + (long long)source_row * head_dim + chunk * 16);
    store_shared(chunk_address(tile, row, chunk), codes);
//% end
  }
}
