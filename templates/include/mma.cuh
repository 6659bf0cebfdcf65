#pragma once
// Warp-wide matrix products on tensor cores: d += a b, 16 rows by 8 columns (PTX ISA, mma.m16n8k16 and
// m16n8k32). With row = lane / 4 and quad = lane % 4 a lane holds
//   d[0], d[1]: (row, 2 quad + 0..1)     d[2], d[3]: (row + 8, 2 quad + 0..1)
//   e4m3:  a[0], a[1]: (row | row + 8, 4 quad + 0..3)   a[2], a[3]: the same rows, k + 16
//          b0, b1:     (4 quad + 0..3 | k + 16, column row)
//   f16:   a[0], a[1]: (row | row + 8, 2 quad + 0..1)   a[2], a[3]: the same rows, k + 8
//          b0, b1:     (2 quad + 0..1 | k + 8, column row)

__device__ __forceinline__ void mma_e4m3(float (&d)[4], const e4m3x4 (&a)[4], e4m3x4 b0, e4m3x4 b1) {
  asm("mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32 "
      "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

//% if mma_k16
__device__ __forceinline__ void mma_f16(float (&d)[4], const f16x2 (&a)[4], f16x2 b0, f16x2 b1) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
      "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
//% else
// Two products of depth 8: the fragments are those of depth 16, one after the other.
__device__ __forceinline__ void mma_f16_k8(float (&d)[4], f16x2 a0, f16x2 a1, f16x2 b) {
  asm("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a0), "r"(a1), "r"(b));
}

__device__ __forceinline__ void mma_f16(float (&d)[4], const f16x2 (&a)[4], f16x2 b0, f16x2 b1) {
  mma_f16_k8(d, a[0], a[1], b0);
  mma_f16_k8(d, a[2], a[3], b1);
}
//% end
