// Products of bf16 values.
#include "include/mma_bf16.cuh"

// The operand of 16 rows.
struct RowsOperand {
  u32 fragment[4];

  __device__ __forceinline__ void widen() {}
};

// sums += a b, 16 rows by 8 columns over 16 depths
__device__ __forceinline__ void multiply(float (&sums)[4], const RowsOperand& a, u32 b0, u32 b1) {
  mma_bf16(sums, a.fragment, b0, b1);
}
