//% takes load = 'cp_async'
//% let a_offset = load == 'tma' ? 'panel_offset<tile_m, tile_k * 2>' : 'xor_offset<tile_k * 2>'
//% let nk_offset = load == 'tma' ? 'panel_offset<tile_n, tile_k * 2>' : 'xor_offset<tile_k * 2>'
//% let kn_offset = load == 'tma' ? 'panel_offset<tile_k, tile_n * 2>' : 'xor_offset<tile_n * 2>'
// Tiles in shared memory: rows of 16-byte chunks (eight values), XOR swizzled. What lies outside of a matrix is zero
// there, so that it adds nothing.

//% if load == 'tma'
// Swizzle atoms are 1024 bytes.
__device__ __forceinline__ shared_address start_of_boxes(const unsigned char* storage) {
  return (shared_address_of(storage) + 1023) & ~1023u;
}

// As boxes bring them: a panel of 64 columns after the other, each swizzled as wide as its rows.
template <int rows, int row_bytes>
__device__ __forceinline__ int panel_offset(int row, int chunk) {
  constexpr int panel_bytes = row_bytes < 128 ? row_bytes : 128;
  return chunk / 8 * (rows * 128) + xor_offset<panel_bytes>(row, chunk % 8);
}

// Brings rows x columns values from (first_row, first_column) on, by one thread; their bytes count for the barrier.
template <int rows, int columns>
__device__ __forceinline__ void load_tile(shared_address tile, const TensorMap& matrix, shared_address full,
                                          int first_row, int first_column) {
#pragma unroll
  for (int column = 0; column < columns; column += 64)
    load_box(tile + column * rows * 2, matrix, full, first_column + column, first_row, 0);
}
//% else
// Copies rows x columns values from (first_row, first_column) on of a row-major matrix with end_row x end_column; all
// threads take part. A chunk lies inside the matrix or outside: its rows are whole chunks.
template <int rows, int columns>
__device__ __forceinline__ void copy_tile(shared_address tile, const half_bits* matrix, int first_row, int end_row,
                                          int first_column, int end_column) {
  constexpr int chunks = columns / 8;  // of a row
  constexpr int rows_at_once = threads < chunks ? 1 : threads / chunks;
  constexpr int chunks_at_once = threads < chunks ? threads : chunks;
  const int thread_row = threadIdx.x / chunks_at_once;
  const int thread_chunk = threadIdx.x % chunks_at_once;
  if (rows < rows_at_once && thread_row >= rows) return;
#pragma unroll
  for (int first = 0; first < chunks; first += chunks_at_once) {
    const int chunk = first + thread_chunk;
    const int column = first_column + 8 * chunk;
    const half_bits* source = matrix + (long long)(first_row + thread_row) * end_column + column;
#pragma unroll
    for (int i = 0; i < rows; i += rows_at_once) {
      const bool there = first_row + thread_row + i < end_row && column < end_column;
      copy_async(tile + xor_offset<columns * 2>(thread_row + i, chunk),
                 there ? source + (long long)i * end_column : matrix, there);
    }
  }
}

//% end

// The operand of 16 rows of a, depths 16 step .. 16 step + 15.
__device__ __forceinline__ void load_a(u32 (&fragment)[4], shared_address tile, int row, int step, int lane) {
  load_matrices(fragment, tile + ${a_offset}(row + lane % 16, 2 * step + lane / 16));
}

// The operands of 16 columns of b, the same depths: [0], [1] are of the first eight columns.
__device__ __forceinline__ void load_b(u32 (&fragment)[4], shared_address tile, int column, int step, int lane) {
  if constexpr (b_layout == Layout::nk) {
    load_matrices(fragment, tile + ${nk_offset}(column + lane / 16 * 8 + lane % 8, 2 * step + lane / 8 % 2));
  } else {
    load_matrices_transposed(fragment,
                             tile + ${kn_offset}(16 * step + lane % 16, column / 8 + lane / 16));
  }
}
