// Tiles in shared memory: rows of head_dim values in 16-byte chunks of eight. Rows past the end of the tensor are zero,
// so that a product with them is defined and harmless.
constexpr int row_chunks = head_dim / 8;

__device__ __forceinline__ shared_address chunk_address(shared_address tile, int row, int chunk) {
  return tile + ${smem_layout}_offset<head_dim * 2>(row, chunk);
}

// Copies `rows` rows from row `first` on of a matrix with `end` rows; `thread` of `copiers` takes part.
template <int rows, int copiers>
__device__ __forceinline__ void copy_tile(shared_address tile, const half_bits* matrix, int first, int end,
                                          int thread) {
#pragma unroll
  for (int i = 0; i < (rows * row_chunks + copiers - 1) / copiers; ++i) {
    const int item = thread + i * copiers;
    const int row = item / row_chunks;
    const int chunk = item % row_chunks;
    if (rows * row_chunks % copiers != 0 && row >= rows) break;
    const bool there = first + row < end;
    copy_async(chunk_address(tile, row, chunk),
               matrix + (long long)(there ? first + row : 0) * head_dim + chunk * 8, there);
  }
}

//% if q_operand == 'global'
// Operands of query rows `row` .. `row` + 15, depths 16 step .. + 15, straight from global memory; rows from `end` on
// are zero.
__device__ __forceinline__ void load_query(u32 (&fragment)[4], const half_bits* q, int row, int end, int step,
                                           int lane) {
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const int own = row + lane / 4 + i % 2 * 8;
    fragment[i] = own < end ? load_global_u32(q + (long long)own * head_dim + 16 * step + i / 2 * 8 + lane % 4 * 2) : 0;
  }
}
//% else
// Operands of query rows `row` .. `row` + 15 of the tile, depths 16 step .. + 15.
__device__ __forceinline__ void load_query(u32 (&fragment)[4], shared_address tile, int row, int step, int lane) {
  load_matrices(fragment, chunk_address(tile, row + lane % 16, 2 * step + lane / 16));
}
//% end

// Operands of keys `key` .. `key` + 15, the same depths: [0], [1] are of the first eight keys.
__device__ __forceinline__ void load_keys(u32 (&fragment)[4], shared_address tile, int key, int step, int lane) {
  load_matrices(fragment, chunk_address(tile, key + lane / 16 * 8 + lane % 8, 2 * step + lane / 8 % 2));
}

// Operands of 16 columns from 16 part on, summed over keys `key` .. `key` + 15: [0], [1] are of the first eight columns.
// Values lie with their columns innermost; ldmatrix.trans turns 8 x 8 of them round.
__device__ __forceinline__ void load_values(u32 (&fragment)[4], shared_address tile, int key, int part, int lane) {
  load_matrices_transposed(fragment, chunk_address(tile, key + lane % 16, 2 * part + lane / 16));
}
