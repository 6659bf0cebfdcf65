#pragma once
// Four 8 x 8 matrices of 16-bit elements to shared memory (PTX ISA, stmatrix; sm_90): the way back of
// load_matrices. Lane 8 i + r gives the address of row r (16 bytes, aligned) of matrix i.
__device__ __forceinline__ void store_matrices(shared_address row, u32 m0, u32 m1, u32 m2, u32 m3) {
  asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(row), "r"(m0), "r"(m1),
               "r"(m2), "r"(m3)
               : "memory");
}
