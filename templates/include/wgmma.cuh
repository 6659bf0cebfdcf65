#pragma once
// Matrix products of a warpgroup (PTX ISA, wgmma; sm_90a): d += a b with 64 rows, asynchronous. b and possibly a
// are read from shared memory through descriptors. Rows of a shared operand hold the summed dimension, `row_bytes`
// (64 or 128) codes swizzled as TMA does it; eight rows are a swizzle atom, and operands start at an atom.
// A thread holds of d, for each 8 columns n, with row = 16 warp + lane / 4 and quad = lane % 4:
//   d[4 n], d[4 n + 1]: (row, 8 n + 2 quad + 0..1)   d[4 n + 2], d[4 n + 3]: (row + 8, the same)

typedef unsigned long long matrix_descriptor;

template <int row_bytes>
__device__ __forceinline__ matrix_descriptor describe_matrix(shared_address start) {
  constexpr matrix_descriptor swizzle = row_bytes == 128 ? 1 : 2;
  constexpr matrix_descriptor atom_stride = 8 * row_bytes / 16;
  return (matrix_descriptor)((start & 0x3ffff) >> 4) | (matrix_descriptor)1 << 16 | atom_stride << 32 | swizzle << 62;
}

// An f16 operand b with its columns innermost: panels of 64 columns, `panel_bytes` apart, whose rows of 128 bytes (one
// for each value summed over) are swizzled; eight rows are an atom.
template <int panel_bytes>
__device__ __forceinline__ matrix_descriptor describe_columns(shared_address start) {
  return (matrix_descriptor)((start & 0x3ffff) >> 4) | (matrix_descriptor)(panel_bytes / 16) << 16 |
         (matrix_descriptor)(1024 / 16) << 32 | (matrix_descriptor)1 << 62;
}

// The same operand `bytes` further along its rows.
__device__ __forceinline__ matrix_descriptor along_rows(matrix_descriptor matrix, int bytes) {
  return matrix + bytes / 16;
}

// Registers written before may be operands of the products that follow.
__device__ __forceinline__ void start_products() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ __forceinline__ void commit_products() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }

// Until at most `pending` of the committed groups are under way; groups end in order.
template <int pending>
__device__ __forceinline__ void wait_for_products() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(pending) : "memory");
}

// The compiler does not know that a product reads or writes registers until it is waited for. This pins them: what comes
// before it in the program has made them, what comes after it sees what the product has left.
template <int length>
__device__ __forceinline__ void pin_registers(float (&d)[length]) {
#pragma unroll
  for (int i = 0; i < length; ++i) asm volatile("" : "+f"(d[i])::"memory");
}

template <int length>
__device__ __forceinline__ void pin_registers(u32 (&d)[length]) {
#pragma unroll
  for (int i = 0; i < length; ++i) asm volatile("" : "+r"(d[i])::"memory");
}

// Those from `begin` to `end` only.
template <int begin, int end, int length>
__device__ __forceinline__ void pin_registers(u32 (&d)[length]) {
#pragma unroll
  for (int i = begin; i < end; ++i) asm volatile("" : "+r"(d[i])::"memory");
}
