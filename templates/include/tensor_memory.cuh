#pragma once
// Tensor memory and products in it (PTX ISA, tcgen05): 128 lanes of 512 columns of 32 bits. Lane i holds row i of a
// product of 128 rows, a column one of its columns. Warp w of a warpgroup reaches lanes 32 w to 32 w + 31. One thread
// issues products, which read both operands from shared memory: rows hold the summed dimension, in panels of 128 bytes
// that are swizzled as TMA does it.

typedef u32 tensor_address;  // lane << 16 | column
typedef unsigned long long operand_descriptor;

// By all lanes of a warp. Waits until so many columns are free, and writes the address of the first one.
__device__ __forceinline__ void allocate_columns(shared_address to, int columns) {
  asm volatile("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%0], %1;" ::"r"(to), "r"(columns) : "memory");
  asm volatile("tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;");
}

// What allocate_columns() has written: a barrier of the CTA lies between.
__device__ __forceinline__ tensor_address allocated_columns(shared_address from) {
  tensor_address first;
  asm volatile("ld.shared.b32 %0, [%1];" : "=r"(first) : "r"(from) : "memory");
  return first;
}

__device__ __forceinline__ void free_columns(tensor_address first, int columns) {
  asm volatile("tcgen05.dealloc.cta_group::1.sync.aligned.b32 %0, %1;" ::"r"(first), "r"(columns));
}

// Around a barrier of threads, what they do in tensor memory stays ahead of it or behind it.
__device__ __forceinline__ void before_tensor_sync() { asm volatile("tcgen05.fence::before_thread_sync;" ::: "memory"); }
__device__ __forceinline__ void after_tensor_sync() { asm volatile("tcgen05.fence::after_thread_sync;" ::: "memory"); }

__device__ __forceinline__ operand_descriptor describe_operand(shared_address start) {
  return (operand_descriptor)((start & 0x3ffff) >> 4) | (operand_descriptor)(1024 / 16) << 32 |
         (operand_descriptor)1 << 46 | (operand_descriptor)2 << 61;
}

// The same operand `bytes` further along its rows.
__device__ __forceinline__ operand_descriptor along_operand(operand_descriptor operand, int bytes) {
  return operand + bytes / 16;
}

// d (+)= a b^T of e4m3 with sums in f32: 128 rows of a, `columns` rows of b, 32 codes of each.
template <int columns>
__device__ __forceinline__ void multiply_codes(tensor_address d, operand_descriptor a, operand_descriptor b, bool adds) {
  constexpr u32 instruction = 1 << 4 | columns / 8 << 17 | 128 / 16 << 24;
  asm volatile(
      "{\n"
      ".reg .pred adds;\n"
      "setp.ne.b32 adds, %4, 0;\n"
      "tcgen05.mma.cta_group::1.kind::f8f6f4 [%0], %1, %2, %3, adds;\n"
      "}" ::"r"(d),
      "l"(a), "l"(b), "r"(instruction), "r"((int)adds)
      : "memory");
}

// The barrier has one more arrival when all products that this thread has issued are done.
__device__ __forceinline__ void commit_products_to(shared_address barrier) {
  asm volatile("tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%0];" ::"r"(barrier) : "memory");
}

// Sixteen columns of each lane's row.
__device__ __forceinline__ void load_columns(float (&d)[16], tensor_address from) {
  asm volatile(
      "tcgen05.ld.sync.aligned.32x32b.x16.b32 "
      "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15}, [%16];"
      : "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3]), "=f"(d[4]), "=f"(d[5]), "=f"(d[6]), "=f"(d[7]), "=f"(d[8]),
        "=f"(d[9]), "=f"(d[10]), "=f"(d[11]), "=f"(d[12]), "=f"(d[13]), "=f"(d[14]), "=f"(d[15])
      : "r"(from));
}

// Until the loads of this warp are in its registers, which are named so that nothing uses them before.
template <int parts>
__device__ __forceinline__ void wait_for_columns(float (&d)[parts][16]) {
  asm volatile("tcgen05.wait::ld.sync.aligned;" ::: "memory");
#pragma unroll
  for (int part = 0; part < parts; ++part)
#pragma unroll
    for (int i = 0; i < 16; ++i) asm volatile("" : "+f"(d[part][i])::"memory");
}
