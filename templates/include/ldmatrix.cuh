#pragma once
// Four 8 x 8 matrices of 16-bit elements from shared memory (PTX ISA, ldmatrix). Lane 8 i + r gives the
// address of row r (16 bytes, aligned) of matrix i. Afterwards a lane holds bytes 4 (lane % 4) .. + 3 of row
// lane / 4 of each matrix.
__device__ __forceinline__ void load_matrices(u32 (&matrix)[4], shared_address row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(matrix[0]), "=r"(matrix[1]), "=r"(matrix[2]), "=r"(matrix[3])
               : "r"(row)
               : "memory");
}

// The same, each matrix transposed: a lane holds the 16-bit elements of column lane / 4 in rows 2 (lane % 4)
// and + 1.
__device__ __forceinline__ void load_matrices_transposed(u32 (&matrix)[4], shared_address row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(matrix[0]), "=r"(matrix[1]), "=r"(matrix[2]), "=r"(matrix[3])
               : "r"(row)
               : "memory");
}
