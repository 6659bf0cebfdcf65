#pragma once
// Warp-wide bf16 products on tensor cores: d += a b, 16 rows by 8 columns, f32 sums (PTX ISA, mma.m16n8k16). Fragments
// lie as those of mma_f16 in mma.cuh:
//   d[0], d[1]: (row, 2 quad + 0..1)                    d[2], d[3]: (row + 8, 2 quad + 0..1)
//   a[0], a[1]: (row | row + 8, 2 quad + 0..1)          a[2], a[3]: the same rows, k + 8
//   b0, b1:     (2 quad + 0..1 | k + 8, column row)     with row = lane / 4, quad = lane % 4
__device__ __forceinline__ void mma_bf16(float (&d)[4], const u32 (&a)[4], u32 b0, u32 b1) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
      "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
