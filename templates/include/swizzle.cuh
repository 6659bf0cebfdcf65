#pragma once
// Where 16-byte chunk `chunk` of row `row` lies in a shared tile with `row_bytes` bytes a row, 16 to 256.
// ldmatrix reads one chunk column of eight successive rows at once; it is free of bank conflicts when their
// addresses differ modulo 128.

// Plain rows: eight rows meet in two banks groups (64 bytes a row) or in one (128 and more).
template <int row_bytes>
__device__ __forceinline__ int none_offset(int row, int chunk) {
  return row * row_bytes + chunk * 16;
}

// Each row one chunk longer: successive rows start 16 (128 bytes a row or 256) or 80 bytes (64) apart modulo
// 128.
template <int row_bytes>
__device__ __forceinline__ int padded_offset(int row, int chunk) {
  return row * (row_bytes + 16) + chunk * 16;
}

// The chunk's index XORed with the index of its row's 128-byte line (longer rows: of the row), modulo the
// eight chunks of a line: no byte is lost.
template <int row_bytes>
__device__ __forceinline__ int xor_offset(int row, int chunk) {
  constexpr int line_chunks = row_bytes < 128 ? row_bytes / 16 : 8;
  constexpr int line_rows = row_bytes < 128 ? 128 / row_bytes : 1;
  return row * row_bytes + ((chunk ^ (row / line_rows % line_chunks)) * 16);
}
