//% let boxes = load == 'tma'
//% let key_chunk = boxes ? 'box_chunk_address' : 'chunk_address'
//% let along_keys = boxes ? 'along_boxes' : 'along_row'
//% let key_bytes = boxes ? '128' : 'row_bytes'
// Tiles in shared memory: rows of head_dim values in 16-byte chunks of eight. Rows past the end of the tensor are zero,
// so that a product with them is defined and harmless.
constexpr int row_chunks = head_dim / 8;
constexpr int row_bytes = ${row_bytes};

__device__ __forceinline__ shared_address chunk_address(shared_address tile, int row, int chunk) {
  return tile + ${smem_layout}_offset<head_dim * 2>(row, chunk);
}

//% if smem_layout == 'xor'
// From the address of a lane's chunk to that of the chunk `chunks` further along the row: an even number where the lane's
// is the row's first or second. Tiles begin at multiples of 128 bytes, so that the swizzle can be applied to addresses:
// one instruction, and no register for each address.
__device__ __forceinline__ shared_address along_row(shared_address start, int chunks) {
  return (start ^ (chunks % 8 * 16)) + chunks / 8 * 128;
}

// To the same chunk of the row `rows` further down, where the lane's row and `rows` have no bit in common.
__device__ __forceinline__ shared_address down_rows(shared_address start, int rows) {
  return (start ^ (rows % 8 * 16)) + rows * row_bytes;
}
//% else
__device__ __forceinline__ shared_address along_row(shared_address start, int chunks) { return start + chunks * 16; }
__device__ __forceinline__ shared_address down_rows(shared_address start, int rows) { return start + rows * row_bytes; }
//% end

// Copies `rows` rows from row `first` on of a matrix with `end` rows; `thread` of `copiers` takes part.
template <int rows, int copiers>
__device__ __forceinline__ void copy_tile(shared_address tile, const half_bits* matrix, int first, int end,
                                          int thread) {
  constexpr int rows_at_once = copiers / row_chunks;
  const int thread_row = thread / row_chunks;
  const int chunk = thread % row_chunks;
  if (rows < rows_at_once && thread_row >= rows) return;
  const shared_address to = chunk_address(tile, thread_row, chunk);
  const half_bits* from = matrix + (long long)(first + thread_row) * head_dim + chunk * 8;
  const int rows_left = end - first - thread_row;
#pragma unroll
  for (int row = 0; row < rows; row += rows_at_once) {
    const bool there = row < rows_left;
    copy_async(down_rows(to, row), there ? from + row * head_dim : matrix, there);
  }
}

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

// Where a lane's chunks of its warp's 16 query rows begin.
__device__ __forceinline__ shared_address query_start(shared_address tile, int row, int lane) {
  return chunk_address(tile, row + lane % 16, lane / 16);
}

// Operands of the 16 rows, depths 16 step .. + 15.
__device__ __forceinline__ void load_query(u32 (&fragment)[4], shared_address start, int step) {
  load_matrices(fragment, along_row(start, 2 * step));
}

// Where a lane's chunks of 16 keys begin.
__device__ __forceinline__ shared_address key_start(shared_address tile, int lane) {
  return ${key_chunk}(tile, lane / 16 * 8 + lane % 8, lane / 8 % 2);
}

// Operands of keys `key` .. `key` + 15, the same depths: [0], [1] are of the first eight keys.
__device__ __forceinline__ void load_keys(u32 (&fragment)[4], shared_address start, int key, int step) {
  load_matrices(fragment, ${along_keys}(start, 2 * step) + key * ${key_bytes});
}

// Where a lane's chunks of 16 keys' values begin.
__device__ __forceinline__ shared_address value_start(shared_address tile, int lane) {
  return ${key_chunk}(tile, lane % 16, lane / 16);
}

// Operands of 16 columns from 16 part on, summed over keys `key` .. `key` + 15: [0], [1] are of the first eight columns.
// Values lie with their columns innermost; ldmatrix.trans turns 8 x 8 of them round.
__device__ __forceinline__ void load_values(u32 (&fragment)[4], shared_address start, int key, int part) {
  load_matrices_transposed(fragment, ${along_keys}(start, 2 * part) + key * ${key_bytes});
}
