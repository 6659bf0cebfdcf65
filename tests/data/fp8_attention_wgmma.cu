// fp8_attention/wgmma: attention of e4m3 queries over e4m3 keys and values as inference engines call it, in one pass over
// the keys. A CTA has 64 query rows, of all query heads that share a head of keys: 1 consumer warpgroup(s) side by side over the rows,
// 1 group(s) of them over the keys, and a producer that brings tiles. docs/kernels/wgmma.md tells the algorithm and the
// layouts.

// Rows may see no key at all, as those of a causal mask that have none before them.
// The types that kernels of this project use: no header is included, so that a kernel compiles in a fraction
// of a second.
typedef unsigned char e4m3;            // one OCP E4M3 code
typedef unsigned short half_bits;      // the bits of one f16 or bf16
typedef unsigned short e4m3x2;         // two E4M3 codes, the first in the low byte
typedef unsigned int e4m3x4;           // four E4M3 codes, the first in the low byte
typedef unsigned int f16x2;            // two f16, the first in the low half
typedef unsigned int u32;
typedef unsigned int shared_address;   // a byte address in the shared window

// Conversions between f32, 16-bit and 8-bit floats (PTX ISA, cvt). The first element is always the low one.

__device__ __forceinline__ f16x2 f16x2_from_f32(float first, float second) {
  f16x2 pair;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(second), "f"(first));
  return pair;
}

__device__ __forceinline__ u32 bf16x2_from_f32(float first, float second) {
  u32 pair;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(second), "f"(first));
  return pair;
}

// Exact: every E4M3 value is an f16 value.
__device__ __forceinline__ f16x2 f16x2_from_e4m3x2(e4m3x2 codes) {
  f16x2 pair;
  asm("cvt.rn.f16x2.e4m3x2 %0, %1;" : "=r"(pair) : "h"(codes));
  return pair;
}

__device__ __forceinline__ f16x2 first_pair(e4m3x4 codes) { return f16x2_from_e4m3x2((e4m3x2)codes); }
__device__ __forceinline__ f16x2 second_pair(e4m3x4 codes) {
  return f16x2_from_e4m3x2((e4m3x2)(codes >> 16));
}

__device__ __forceinline__ e4m3x4 join(e4m3x2 first, e4m3x2 second) {
  e4m3x4 codes;
  asm("mov.b32 %0, {%1, %2};" : "=r"(codes) : "h"(first), "h"(second));
  return codes;
}

__device__ __forceinline__ e4m3x2 e4m3x2_from_f32(float first, float second) {
  e4m3x2 codes;
  asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(codes) : "f"(second), "f"(first));
  return codes;
}

__device__ __forceinline__ e4m3x2 e4m3x2_from_f16x2(f16x2 pair) {
  e4m3x2 codes;
  asm("cvt.rn.satfinite.e4m3x2.f16x2 %0, %1;" : "=h"(codes) : "r"(pair));
  return codes;
}

__device__ __forceinline__ float first_of(f16x2 pair) {
  float value;
  asm("{ .reg .b16 first, second; mov.b32 {first, second}, %1; cvt.f32.f16 %0, first; }"
      : "=f"(value)
      : "r"(pair));
  return value;
}

__device__ __forceinline__ float second_of(f16x2 pair) {
  float value;
  asm("{ .reg .b16 first, second; mov.b32 {first, second}, %1; cvt.f32.f16 %0, second; }"
      : "=f"(value)
      : "r"(pair));
  return value;
}

// Picks four of the eight bytes of {low, high}; each hex digit of the selector names one, the lowest digit
// first.
template <u32 selector>
__device__ __forceinline__ u32 pick_bytes(u32 low, u32 high) {
  u32 bytes;
  asm("prmt.b32 %0, %1, %2, %3;" : "=r"(bytes) : "r"(low), "r"(high), "n"(selector));
  return bytes;
}

// Vector loads and stores, 16 bytes unless the name says otherwise. Addresses are aligned to the access.

__device__ __forceinline__ shared_address shared_address_of(const void* pointer) {
  return (shared_address)__cvta_generic_to_shared(pointer);
}

// Read-only data.
__device__ __forceinline__ uint4 load_global(const void* from) {
  uint4 value;
  asm volatile("ld.global.nc.v4.b32 {%0, %1, %2, %3}, [%4];"
               : "=r"(value.x), "=r"(value.y), "=r"(value.z), "=r"(value.w)
               : "l"(from));
  return value;
}

__device__ __forceinline__ uint2 load_global_u32x2(const void* from) {
  uint2 value;
  asm volatile("ld.global.nc.v2.b32 {%0, %1}, [%2];" : "=r"(value.x), "=r"(value.y) : "l"(from));
  return value;
}

__device__ __forceinline__ u32 load_global_u32(const void* from) {
  u32 value;
  asm volatile("ld.global.nc.b32 %0, [%1];" : "=r"(value) : "l"(from));
  return value;
}

__device__ __forceinline__ void store_global_u32x2(void* to, u32 first, u32 second) {
  asm volatile("st.global.v2.b32 [%0], {%1, %2};" ::"l"(to), "r"(first), "r"(second) : "memory");
}

__device__ __forceinline__ void store_global(void* to, uint4 value) {
  asm volatile("st.global.v4.b32 [%0], {%1, %2, %3, %4};" ::"l"(to), "r"(value.x), "r"(value.y), "r"(value.z),
               "r"(value.w)
               : "memory");
}

__device__ __forceinline__ void store_global(float* to, float4 value) {
  asm volatile("st.global.v4.f32 [%0], {%1, %2, %3, %4};" ::"l"(to), "f"(value.x), "f"(value.y),
               "f"(value.z), "f"(value.w)
               : "memory");
}

__device__ __forceinline__ uint4 load_shared(shared_address from) {
  uint4 value;
  asm volatile("ld.shared.v4.b32 {%0, %1, %2, %3}, [%4];"
               : "=r"(value.x), "=r"(value.y), "=r"(value.z), "=r"(value.w)
               : "r"(from)
               : "memory");
  return value;
}

__device__ __forceinline__ float4 load_shared_f32x4(shared_address from) {
  float4 value;
  asm volatile("ld.shared.v4.f32 {%0, %1, %2, %3}, [%4];"
               : "=f"(value.x), "=f"(value.y), "=f"(value.z), "=f"(value.w)
               : "r"(from)
               : "memory");
  return value;
}

__device__ __forceinline__ float2 load_shared_f32x2(shared_address from) {
  float2 value;
  asm volatile("ld.shared.v2.f32 {%0, %1}, [%2];" : "=f"(value.x), "=f"(value.y) : "r"(from) : "memory");
  return value;
}

__device__ __forceinline__ uint2 load_shared_u32x2(shared_address from) {
  uint2 value;
  asm volatile("ld.shared.v2.b32 {%0, %1}, [%2];" : "=r"(value.x), "=r"(value.y) : "r"(from) : "memory");
  return value;
}

__device__ __forceinline__ u32 load_shared_u8(shared_address from) {
  u32 value;
  asm volatile("ld.shared.u8 %0, [%1];" : "=r"(value) : "r"(from) : "memory");
  return value;
}

__device__ __forceinline__ void store_shared(shared_address to, uint4 value) {
  asm volatile("st.shared.v4.b32 [%0], {%1, %2, %3, %4};" ::"r"(to), "r"(value.x), "r"(value.y),
               "r"(value.z), "r"(value.w)
               : "memory");
}

__device__ __forceinline__ void store_shared(shared_address to, float4 value) {
  asm volatile("st.shared.v4.f32 [%0], {%1, %2, %3, %4};" ::"r"(to), "f"(value.x), "f"(value.y),
               "f"(value.z), "f"(value.w)
               : "memory");
}

__device__ __forceinline__ void store_shared(shared_address to, float2 value) {
  asm volatile("st.shared.v2.f32 [%0], {%1, %2};" ::"r"(to), "f"(value.x), "f"(value.y) : "memory");
}

__device__ __forceinline__ void store_shared(shared_address to, uint2 value) {
  asm volatile("st.shared.v2.b32 [%0], {%1, %2};" ::"r"(to), "r"(value.x), "r"(value.y) : "memory");
}

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

// Four 8 x 8 matrices of 16-bit elements to shared memory (PTX ISA, stmatrix; sm_90): the way back of
// load_matrices. Lane 8 i + r gives the address of row r (16 bytes, aligned) of matrix i.
__device__ __forceinline__ void store_matrices(shared_address row, u32 m0, u32 m1, u32 m2, u32 m3) {
  asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(row), "r"(m0), "r"(m1),
               "r"(m2), "r"(m3)
               : "memory");
}

// Fast f32 functions.

// 2^x on the multi-function unit; relative error 2^-22, results below 2^-126 are 0 (PTX ISA, ex2.approx.ftz).
__device__ __forceinline__ float exp2_approximate(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

// Two f16 powers of two at once; absolute and relative error about 2^-9.9 (PTX ISA, ex2.approx.f16x2).
__device__ __forceinline__ f16x2 exp2_approximate(f16x2 x) {
  f16x2 y;
  asm("ex2.approx.f16x2 %0, %1;" : "=r"(y) : "r"(x));
  return y;
}

// 2^x for x in [-126, 127] on the FMA pipe: x = n + f with |f| <= 1/2, a cubic in f (minimax, relative error
// 7.5e-5), n added to the exponent bits. 1.5 * 2^23 leaves round(x) in the low bits of the sum.
__device__ __forceinline__ float exp2_polynomial(float x) {
  x = fmaxf(x, -126.0f);
  const float shifted = x + 12582912.0f;
  const float f = x - (shifted - 12582912.0f);
  float power = fmaf(f, 0.05517166f, 0.24261112f);
  power = fmaf(f, power, 0.69326099f);
  power = fmaf(f, power, 0.99992807f);
  return __uint_as_float(__float_as_uint(power) + (__float_as_uint(shifted) << 23));
}

__device__ __forceinline__ float reciprocal(float x) {
  float y;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

// Arithmetic on two f16 at once.

__device__ __forceinline__ f16x2 fma_f16x2(f16x2 a, f16x2 b, f16x2 c) {
  f16x2 d;
  asm("fma.rn.f16x2 %0, %1, %2, %3;" : "=r"(d) : "r"(a), "r"(b), "r"(c));
  return d;
}

__device__ __forceinline__ f16x2 add_f16x2(f16x2 a, f16x2 b) {
  f16x2 d;
  asm("add.rn.f16x2 %0, %1, %2;" : "=r"(d) : "r"(a), "r"(b));
  return d;
}

__device__ __forceinline__ f16x2 subtract_f16x2(f16x2 a, f16x2 b) {
  f16x2 d;
  asm("sub.rn.f16x2 %0, %1, %2;" : "=r"(d) : "r"(a), "r"(b));
  return d;
}

__device__ __forceinline__ f16x2 multiply_f16x2(f16x2 a, f16x2 b) {
  f16x2 d;
  asm("mul.rn.f16x2 %0, %1, %2;" : "=r"(d) : "r"(a), "r"(b));
  return d;
}

__device__ __forceinline__ f16x2 max_f16x2(f16x2 a, f16x2 b) {
  f16x2 d;
  asm("max.f16x2 %0, %1, %2;" : "=r"(d) : "r"(a), "r"(b));
  return d;
}

// All bits of each half are 1 where a >= b, else 0.
__device__ __forceinline__ u32 at_least_f16x2(f16x2 a, f16x2 b) {
  u32 d;
  asm("set.ge.u32.f16x2 %0, %1, %2;" : "=r"(d) : "r"(a), "r"(b));
  return d;
}

// Bits of a where those of `mask` are 1, else of b. One instruction from the start: it compiles faster.
__device__ __forceinline__ u32 select_bits(u32 mask, u32 a, u32 b) {
  u32 d;
  asm("lop3.b32 %0, %1, %2, %3, 0xca;" : "=r"(d) : "r"(mask), "r"(a), "r"(b));
  return d;
}

__device__ __forceinline__ f16x2 twice_f16(float x) { return f16x2_from_f32(x, x); }

__device__ __forceinline__ float rounded_to_f16(float x) { return first_of(twice_f16(x)); }

// Exchange between the four lanes that share the rows of an mma result.

__device__ __forceinline__ float quad_max(float value) {
  value = fmaxf(value, __shfl_xor_sync(0xffffffffu, value, 1));
  return fmaxf(value, __shfl_xor_sync(0xffffffffu, value, 2));
}

__device__ __forceinline__ float quad_sum(float value) {
  value += __shfl_xor_sync(0xffffffffu, value, 1);
  return value + __shfl_xor_sync(0xffffffffu, value, 2);
}

// Warpgroups (four warps, aligned) that play different parts in a CTA.

// A barrier among `threads` threads; 0 is the one of __syncthreads.
__device__ __forceinline__ void sync_at(int barrier, int threads) {
  asm volatile("bar.sync %0, %1;" ::"r"(barrier), "r"(threads) : "memory");
}

// Counts as come, without waiting.
__device__ __forceinline__ void pass_at(int barrier, int threads) {
  asm volatile("bar.arrive %0, %1;" ::"r"(barrier), "r"(threads) : "memory");
}

// Every warp of the warpgroup gives registers back or takes more (PTX ISA, setmaxnreg): `count` a thread from here on.
template <int count>
__device__ __forceinline__ void shrink_registers_to() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(count));
}

template <int count>
__device__ __forceinline__ void grow_registers_to() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(count));
}

// Barriers in shared memory that also count bytes (PTX ISA, mbarrier; sm_90). A barrier turns over to its next
// phase when the arrivals and the bytes that it waits for have all come. Phases are told apart by their parity.

__device__ __forceinline__ void init_barrier(shared_address barrier, int arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals) : "memory");
}

// Makes freshly initialised barriers known to the copy engine; a __syncthreads has to follow.
__device__ __forceinline__ void publish_barriers() {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

__device__ __forceinline__ void arrive(shared_address barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}

// Arrives and makes the phase wait for as many bytes as the copies bring that are to follow.
__device__ __forceinline__ void arrive_expecting(shared_address barrier, int bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory");
}

// Until the phase of this parity is over. A fresh barrier takes the phase before its first, whose parity is 1,
// as over.
__device__ __forceinline__ void wait_for(shared_address barrier, u32 parity) {
  asm volatile(
      "{\n"
      ".reg .pred over;\n"
      "again:\n"
      "mbarrier.try_wait.parity.shared::cta.b64 over, [%0], %1;\n"
      "@over bra done;\n"
      "bra again;\n"
      "done:\n"
      "}" ::"r"(barrier),
      "r"(parity)
      : "memory");
}

// A place in a ring of `length` stages. The one who fills a stage waits until it is free, the others until it
// is full.
template <int length>
struct RingPlace {
  int stage = 0;
  u32 turn = 0;  // parity of the rounds made

  __device__ __forceinline__ u32 full_parity() const { return turn; }
  __device__ __forceinline__ u32 free_parity() const { return turn ^ 1; }
  __device__ __forceinline__ void advance() {
    if (length == 1 || ++stage == length) {
      stage = 0;
      turn ^= 1;
    }
  }
};

// Tiles copied by the tensor memory accelerator (PTX ISA, cp.async.bulk.tensor; sm_90). A tensor map holds the
// extents, the box that one copy moves and the swizzle of the tile in shared memory; what lies outside of the
// tensor is read as zero and not written.

struct __align__(64) TensorMap {
  unsigned long long words[16];
};

__device__ __forceinline__ void prefetch_tensor_map(const TensorMap& map) {
  asm volatile("prefetch.tensormap [%0];" ::"l"(&map) : "memory");
}

// The box at (x, y, z), innermost coordinate first; its bytes count for the barrier.
__device__ __forceinline__ void load_box(shared_address to, const TensorMap& map, shared_address barrier, int x,
                                         int y, int z) {
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %5}], [%2];" ::
          "r"(to),
      "l"(&map), "r"(barrier), "r"(x), "r"(y), "r"(z)
      : "memory");
}

__device__ __forceinline__ void load_box(shared_address to, const TensorMap& map, shared_address barrier, int x,
                                         int y, int z, int u, int v) {
  asm volatile(
      "cp.async.bulk.tensor.5d.shared::cluster.global.mbarrier::complete_tx::bytes "
      "[%0], [%1, {%3, %4, %5, %6, %7}], [%2];" ::"r"(to),
      "l"(&map), "r"(barrier), "r"(x), "r"(y), "r"(z), "r"(u), "r"(v)
      : "memory");
}

__device__ __forceinline__ void store_box(const TensorMap& map, shared_address from, int x, int y, int z) {
  asm volatile("cp.async.bulk.tensor.3d.global.shared::cta.bulk_group [%0, {%2, %3, %4}], [%1];" ::"l"(&map),
               "r"(from), "r"(x), "r"(y), "r"(z)
               : "memory");
}

__device__ __forceinline__ void commit_stores() { asm volatile("cp.async.bulk.commit_group;" ::: "memory"); }

// Until all boxes that this thread committed are in global memory.
__device__ __forceinline__ void wait_for_stores() { asm volatile("cp.async.bulk.wait_group 0;" ::: "memory"); }

// Until their shared memory has been read and may be written again.
__device__ __forceinline__ void wait_for_stores_to_leave() {
  asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
}

// What this thread has written to shared memory may be read by wgmma and the copy engine afterwards.
__device__ __forceinline__ void publish_to_async_proxy() {
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

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

// Programmatic dependent launch (PTX ISA, griddepcontrol; sm_90 and newer): a launch starts while the one
// ahead of it in the stream still runs.

// Until everything of the launch ahead has ended and can be seen. Nothing it wrote may be read, and nothing
// it reads may be written, before.
__device__ __forceinline__ void wait_for_launch_ahead() { asm volatile("griddepcontrol.wait;" ::: "memory"); }

// Lets the launch behind start as soon as every block has come here and there is room.
__device__ __forceinline__ void start_launch_behind() {
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
}

// d (+)= a b over 32 e4m3 values: 64 rows, 64 columns, d in f32.
template <bool accumulate>
__device__ __forceinline__ void multiply_qk(float* d, const u32* a, matrix_descriptor b) {
  asm volatile(
      "{\n"
      ".reg .pred accumulate;\n"
      "setp.ne.b32 accumulate, %37, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n64k32.f32.e4m3.e4m3 {"
      "%0, %1, %2, %3, "
      "%4, %5, %6, %7, "
      "%8, %9, %10, %11, "
      "%12, %13, %14, %15, "
      "%16, %17, %18, %19, "
      "%20, %21, %22, %23, "
      "%24, %25, %26, %27, "
      "%28, %29, %30, %31"
      "}, "
      "{%32, %33, %34, %35}, "
      "%36, accumulate, 1, 1;\n"
      "}"
      : "+f"(d[0]), "+f"(d[1]),
        "+f"(d[2]), "+f"(d[3]),
        "+f"(d[4]), "+f"(d[5]),
        "+f"(d[6]), "+f"(d[7]),
        "+f"(d[8]), "+f"(d[9]),
        "+f"(d[10]), "+f"(d[11]),
        "+f"(d[12]), "+f"(d[13]),
        "+f"(d[14]), "+f"(d[15]),
        "+f"(d[16]), "+f"(d[17]),
        "+f"(d[18]), "+f"(d[19]),
        "+f"(d[20]), "+f"(d[21]),
        "+f"(d[22]), "+f"(d[23]),
        "+f"(d[24]), "+f"(d[25]),
        "+f"(d[26]), "+f"(d[27]),
        "+f"(d[28]), "+f"(d[29]),
        "+f"(d[30]), "+f"(d[31])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "n"(accumulate));
}

// d (+)= a b over 32 e4m3 values: 64 rows, 128 columns, d in f32.
template <bool accumulate>
__device__ __forceinline__ void multiply_pv_last(float* d, const u32* a, matrix_descriptor b) {
  asm volatile(
      "{\n"
      ".reg .pred accumulate;\n"
      "setp.ne.b32 accumulate, %69, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n128k32.f32.e4m3.e4m3 {"
      "%0, %1, %2, %3, "
      "%4, %5, %6, %7, "
      "%8, %9, %10, %11, "
      "%12, %13, %14, %15, "
      "%16, %17, %18, %19, "
      "%20, %21, %22, %23, "
      "%24, %25, %26, %27, "
      "%28, %29, %30, %31, "
      "%32, %33, %34, %35, "
      "%36, %37, %38, %39, "
      "%40, %41, %42, %43, "
      "%44, %45, %46, %47, "
      "%48, %49, %50, %51, "
      "%52, %53, %54, %55, "
      "%56, %57, %58, %59, "
      "%60, %61, %62, %63"
      "}, "
      "{%64, %65, %66, %67}, "
      "%68, accumulate, 1, 1;\n"
      "}"
      : "+f"(d[0]), "+f"(d[1]),
        "+f"(d[2]), "+f"(d[3]),
        "+f"(d[4]), "+f"(d[5]),
        "+f"(d[6]), "+f"(d[7]),
        "+f"(d[8]), "+f"(d[9]),
        "+f"(d[10]), "+f"(d[11]),
        "+f"(d[12]), "+f"(d[13]),
        "+f"(d[14]), "+f"(d[15]),
        "+f"(d[16]), "+f"(d[17]),
        "+f"(d[18]), "+f"(d[19]),
        "+f"(d[20]), "+f"(d[21]),
        "+f"(d[22]), "+f"(d[23]),
        "+f"(d[24]), "+f"(d[25]),
        "+f"(d[26]), "+f"(d[27]),
        "+f"(d[28]), "+f"(d[29]),
        "+f"(d[30]), "+f"(d[31]),
        "+f"(d[32]), "+f"(d[33]),
        "+f"(d[34]), "+f"(d[35]),
        "+f"(d[36]), "+f"(d[37]),
        "+f"(d[38]), "+f"(d[39]),
        "+f"(d[40]), "+f"(d[41]),
        "+f"(d[42]), "+f"(d[43]),
        "+f"(d[44]), "+f"(d[45]),
        "+f"(d[46]), "+f"(d[47]),
        "+f"(d[48]), "+f"(d[49]),
        "+f"(d[50]), "+f"(d[51]),
        "+f"(d[52]), "+f"(d[53]),
        "+f"(d[54]), "+f"(d[55]),
        "+f"(d[56]), "+f"(d[57]),
        "+f"(d[58]), "+f"(d[59]),
        "+f"(d[60]), "+f"(d[61]),
        "+f"(d[62]), "+f"(d[63])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "n"(accumulate));
}

constexpr int head_dim = 128;
constexpr int tile_k = 64;                // keys of one tile
constexpr int tile_q = 64;                // query rows of the CTA
constexpr int row_bytes = 128;             // of q, k and v in shared memory: longer rows lie in panels
constexpr int row_panels = 1;
constexpr int row_warpgroups = 1;          // of a group
constexpr int groups = 1;
constexpr int kv_split = 2;                // CTAs that share a query tile
constexpr int stages = 4;                  // tiles of a group in shared memory
constexpr int preparing_warps = 4;         // warps that share the preparation of a value tile
constexpr int consumer_threads = 128;
constexpr int threads = 256;
constexpr int score_registers = tile_k / 2;
constexpr int weight_registers = 8;
constexpr int part_registers = 64;         // of the output, 1 part(s)
constexpr int o_registers = 64;
constexpr int group_bytes = 98304;        // of a group's tiles, and of its partial rows later
constexpr float lowest_score = -1e30f;  // stands for minus infinity: differences of two stay finite
typedef float Score;

// f32 on the multi-function unit, one result each: 16 a clock and SM.
constexpr float units_per_octave = 1.0f;
__device__ __forceinline__ float rounded_max(float scaled) { return scaled; }
__device__ __forceinline__ float weight_offset(float row_max) { return 8.0f - row_max; }
__device__ __forceinline__ float weight(float score, float scale, float offset, int) {
  return exp2_approximate(fmaf(score, scale, offset));
}
__device__ __forceinline__ e4m3x4 codes_of(float w0, float w1, float w2, float w3, int) {
  return join(e4m3x2_from_f32(w0, w1), e4m3x2_from_f32(w2, w3));
}

// Scores become weights. A thread has two rows of its warp's sixteen, `row` and `row + 8`, and of every eight keys
// two: the layout of a wgmma result.

// What scores are multiplied by at least, however small queries and keys are: masked scores then still fall out of sight,
// and the others are all but equal.
constexpr float smallest_scale = 1e-20f;

// The maximum of a row that has seen no key yet. Its weights, which are all zero, have an offset that is still an f16 value.
constexpr float lowest_max = -30000.0f;

// Where in its tile the first of the two keys is whose scores are number 2 n and 2 n + 1 of a row: key_of(n) + lane_key.
__device__ __forceinline__ int lane_key(int lane) { return lane % 4 * 2; }
__device__ __forceinline__ constexpr int key_of(int n) {
  return n * 8;
}

// What was accumulated below one maximum counts below a larger one.
__device__ __forceinline__ float shrink_by(float old_max, float new_max) {
  return exp2_approximate((old_max - new_max) * (1.0f / units_per_octave));
}

template <int length>
__device__ __forceinline__ void shrink_rows(float (&acc)[length], const float (&shrink)[2]) {
#pragma unroll
  for (int i = 0; i < length; ++i) acc[i] *= shrink[i / 2 % 2];
}

// Rows follow their tile's maximum: what they have accumulated is to shrink by the difference.
__device__ __forceinline__ void follow_tile_max(float (&row_max)[2], float (&shrink)[2], const float (&tile_max)[2]) {
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    const float new_max = fmaxf(row_max[r], tile_max[r]);
    shrink[r] = shrink_by(row_max[r], new_max);
    row_max[r] = new_max;
  }
}

__device__ __forceinline__ void raise_row_max(float (&row_max)[2], float (&shrink)[2], const float (&tile_max)[2]) {
  follow_tile_max(row_max, shrink, tile_max);
}

// Only where the maximum of one of the warp's rows has grown: soon that is rare.
template <int length>
__device__ __forceinline__ void rescale(float (&acc)[length], const float (&shrink)[2]) {
  if (__any_sync(0xffffffffu, shrink[0] != 1.0f || shrink[1] != 1.0f)) shrink_rows(acc, shrink);
}

// Keys that a row does not see: those from a key on, or those before it.
enum class Hidden { from, before };

// Scores of hidden keys cannot win and get weight 0. keys[r] is the key of `row` (r = 0) or `row + 8` in this tile.
template <Hidden hidden>
__device__ __forceinline__ void mask_scores(Score (&scores)[score_registers], int lane, const int (&keys)[2]) {
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    const int limit = keys[r] - lane_key(lane);
#pragma unroll
    for (int n = 0; n < tile_k / 8; ++n) {
#pragma unroll
      for (int e = 0; e < 2; ++e) {
        if (key_of(n) + e >= limit == (hidden == Hidden::from)) scores[4 * n + 2 * r + e] = lowest_score;
      }
    }
  }
}

// In units of the weights' exponent. `scale` is positive.
__device__ __forceinline__ void find_tile_max(float (&tile_max)[2], const Score (&scores)[score_registers],
                                              float scale) {
  float highest[2] = {fmaxf(scores[0], scores[1]), fmaxf(scores[2], scores[3])};
#pragma unroll
  for (int n = 1; n < tile_k / 8; ++n) {
    highest[0] = fmaxf(highest[0], fmaxf(scores[4 * n], scores[4 * n + 1]));
    highest[1] = fmaxf(highest[1], fmaxf(scores[4 * n + 2], scores[4 * n + 3]));
  }
#pragma unroll
  for (int r = 0; r < 2; ++r) tile_max[r] = rounded_max(quad_max(highest[r]) * scale);
}

// The keys from `begin` to `end` (so in what follows), in place. The rows' sums are left to the columns of ones of the transposed values. The last argument of `weight`
// is the operand register that the weight will be part of.
template <int begin = 0, int end = tile_k>
__device__ __forceinline__ void weigh(Score (&scores)[score_registers], float scale, const float (&row_max)[2]) {
  const float offset[2] = {weight_offset(row_max[0]), weight_offset(row_max[1])};
#pragma unroll
  for (int i = begin / 2; i < end / 2; ++i) {
    scores[i] = weight(scores[i], scale, offset[i / 2 % 2], i / 8 * 2 + i / 2 % 2);
  }
}

// Adds a tile's weights, as they are before they are rounded, to the thread's share of its rows' sums.
__device__ __forceinline__ void add_weights(float (&row_sum)[2], const Score (&weights)[score_registers]) {
#pragma unroll
  for (int i = 0; i < score_registers; ++i) row_sum[i / 2 % 2] += weights[i];
}

// The operand of the second product: of each 32 keys four codes of `row` and `row + 8`, and of the keys 16 further. The
// instruction takes them for depths 4 quad + 0..3, so the values lie in the order of the keys that a thread has.
template <int begin = 0, int end = tile_k>
__device__ __forceinline__ void pack_weights(e4m3x4 (&weights)[weight_registers],
                                             const Score (&scores)[score_registers]) {
#pragma unroll
  for (int n = begin / 16; n < end / 16; ++n) {
    const float* s = scores + 8 * n;
    weights[2 * n] = codes_of(s[0], s[1], s[4], s[5], 2 * n);
    weights[2 * n + 1] = codes_of(s[2], s[3], s[6], s[7], 2 * n + 1);
  }
}

// Shared memory: query tile | of each group: stages x key tile, stages x value tile
// (as it arrives), stages x value operand (as the second product reads it)
// | output tile | barriers. A group leaves its partial rows where its tiles were.

enum Event { keys_full, keys_free, values_full, values_free, operand_full, operand_free, events };

struct SharedMemory {
  shared_address start;

  __device__ __forceinline__ shared_address query() const { return start; }
  __device__ __forceinline__ shared_address group(int group) const { return start + 0 + group * group_bytes; }
  __device__ __forceinline__ shared_address keys(int g, int stage) const { return group(g) + stage * 8192; }
  __device__ __forceinline__ shared_address values(int g, int stage) const {
    return group(g) + 32768 + stage * 8192;
  }
  __device__ __forceinline__ shared_address value_operand(int g, int stage) const {
    return group(g) + 65536 + stage * 8192;
  }
  __device__ __forceinline__ shared_address output() const { return start + 98304; }
  __device__ __forceinline__ shared_address barrier(Event event, int group, int stage) const {
    return output() + 0 + 8 * ((event * groups + group) * stages + stage);
  }
  // Of the 64 rows of a row warpgroup.
  __device__ __forceinline__ shared_address query_full(int row_part) const {
    return barrier(events, 0, 0) + 16 * row_part;
  }
  __device__ __forceinline__ shared_address query_free(int row_part) const { return query_full(row_part) + 8; }
};

__device__ __forceinline__ void init_barriers(const SharedMemory& smem) {
  constexpr int group_warps = 4 * row_warpgroups;
  for (int row_part = 0; row_part < row_warpgroups; ++row_part) {
    init_barrier(smem.query_full(row_part), 1);
    init_barrier(smem.query_free(row_part), 4 * groups);
  }
  for (int group = 0; group < groups; ++group) {
    for (int stage = 0; stage < stages; ++stage) {
      init_barrier(smem.barrier(keys_full, group, stage), 1);
      init_barrier(smem.barrier(keys_free, group, stage), group_warps);
      init_barrier(smem.barrier(values_full, group, stage), 1);
      init_barrier(smem.barrier(values_free, group, stage), preparing_warps);
      init_barrier(smem.barrier(operand_full, group, stage), preparing_warps);
      init_barrier(smem.barrier(operand_free, group, stage), group_warps);
    }
  }
  publish_barriers();
}

// What a CTA works on: 64 rows that share a head of keys and, of their key tiles, those of its share.
// Rows are packed: row `r` of a key head is position r / ratio of the r % ratio-th query head of its group.
struct Work {
  int batch;
  int head;        // of the batch's heads of keys
  int kv_head;
  int first_row;   // of the rows of this head
  int first_tile;  // of the key tiles that the rows can see
  int tiles;       // where these end
  int split;       // number of the share of the keys: 0..kv_split - 1
  int first_key;    // of the batch, among all keys
  int keys;
};

// By value from the caller. Strides are in elements.
struct Sizes {
  int S_q;
  int S_kv;
  int batches;
  int heads;      // of queries in a batch
  int kv_heads;   // of keys and values
  int window;     // keys that a row sees at most, its own position's the last
  float softmax_scale;
  int q_row;
  int q_head;
  int o_row;
  int o_head;
  long long q_batch;
  long long o_batch;
};

struct Problem : Sizes {
  const int* page_table;     // [batch][page] of the cache
  const int* kv_lengths;

  __device__ __forceinline__ int ratio() const { return heads / kv_heads; }
  __device__ __forceinline__ int queries(const Work& work) const { return S_q; }
  __device__ __forceinline__ int keys(const Work& work) const { return work.keys; }
  // Of the batch, in tensors that have all queries behind each other.
  __device__ __forceinline__ int first_query(const Work& work) const { return 0; }
  __device__ __forceinline__ int tensor_batch(const Work& work) const { return work.batch; }
  __device__ __forceinline__ int rows_of(int queries) const { return queries * ratio(); }
  __device__ __forceinline__ int row_heads() const { return kv_heads; }
  __device__ __forceinline__ int position(int row) const { return row / ratio(); }
  __device__ __forceinline__ int query_head(const Work& work, int row) const {
    return work.head * ratio() + row % ratio();
  }
  __device__ __forceinline__ int rows(const Work& work) const { return rows_of(queries(work)); }
  // Where the work's rows begin among those of all heads of all batches.
  __device__ __forceinline__ long long rows_before(const Work& work) const {
    return rows_of(S_q) * ((long long)work.batch * row_heads() + work.head);
  }
  // Where a row's query is, in elements.
  __device__ __forceinline__ long long query_place(const Work& work, int row) const {
    return tensor_batch(work) * q_batch + (long long)query_head(work, row) * q_head +
           (long long)(first_query(work) + position(row)) * q_row;
  }
  // Among the heads of transposed values.
  __device__ __forceinline__ int values_head(const Work& work) const { return work.batch * kv_heads + work.kv_head; }
  __device__ __forceinline__ int q_scale_index(const Work& work) const {
    return work.batch * kv_heads + work.kv_head;
  }
  __device__ __forceinline__ int kv_scale_index(const Work& work) const {
    return work.kv_head;
  }

  // Keys that the query at a position sees: from key_begin up to key_end, which may be before it.
  __device__ __forceinline__ int key_end(const Work& work, int position) const {
    return min(keys(work), keys(work) - queries(work) + position + 1);  // the last query sees the last key
  }
};

// Once its place and its lengths are known.
__device__ __forceinline__ void find_tiles(Work& work, const Problem& problem) {
  work.kv_head = work.head;
  const int last_row = min(work.first_row + tile_q, problem.rows(work)) - 1;
  const int end = problem.key_end(work, problem.position(last_row));
  work.tiles = end > 0 ? (end + tile_k - 1) / tile_k : 0;
  work.first_tile = 0;
}

__device__ __forceinline__ Work work_of(int row_tile, int head, int split, const Problem& problem) {
  Work work;
  work.batch = head / problem.row_heads();
  work.head = head % problem.row_heads();
  work.first_row = row_tile * tile_q;
  work.split = split;
  work.first_key = 0;
  work.keys = problem.kv_lengths[work.batch];
  find_tiles(work, problem);
  return work;
}

// Calls `body` with each work of this CTA.
template <typename Body>
__device__ __forceinline__ void for_each_work(const Problem& problem, const Body& body) {
  const int row_tile = gridDim.x / kv_split - 1 - blockIdx.x / kv_split;  // the longest first
  body(work_of(row_tile, blockIdx.y, blockIdx.x % kv_split, problem));
}

// Key tiles in the order in which they are worked on; they are dealt to the groups of all shares in turn.
__device__ __forceinline__ int first_tile_of(const Work& work, int group) {
  return work.first_tile + work.split * groups + group;
}
constexpr int tile_step = groups * kv_split;

__device__ __forceinline__ int first_key_of(int i, const Work& work) {
  return i * tile_k;
}

// Values arrive as rows of codes, one key after the other, but an e4m3 wgmma wants the summed dimension, the keys,
// innermost. ldmatrix.trans moves pairs of codes; bytes are put right in registers:
//   keys 0-7  (bytes)  [ key 2q  col 2r | key 2q  col 2r+1 | key 2q+1  col 2r | key 2q+1  col 2r+1 ]   q = lane % 4
//   keys 8-15          [ key 8+2q ..    | ..               | key 9+2q ..      | ..                 ]   r = lane / 4
//     pick 0x6420 -> column 2r   of keys 2q, 2q+1, 8+2q, 9+2q
//     pick 0x7531 -> column 2r+1 of the same keys
// which is the order of keys that pack_weights leaves. Of 16 columns the even ones become rows 0-7 of the transposed
// tile and the odd ones rows 8-15: a thread then ends with four neighbouring columns of the output.
//
// A transposed tile consists of panels of 64 keys, each 128 rows of 64 bytes.
constexpr int panel = 64;
constexpr int panel_bytes = 8192;

struct ValueBlock {  // 32 keys x 16 columns
  int keys;
  int columns;
};

__device__ __forceinline__ ValueBlock value_block(int index) {
  return {index / (head_dim / 16) * 32, index % (head_dim / 16) * 16};
}

__device__ __forceinline__ void load_value_block(u32 (&pairs)[4], shared_address values, ValueBlock block, int lane) {
  load_matrices_transposed(pairs, values + block.columns / row_bytes * (tile_k * row_bytes) +
                                      xor_offset<row_bytes>(block.keys + lane, block.columns % row_bytes / 16));
}

__device__ __forceinline__ void store_value_block(shared_address transposed, const u32 (&pairs)[4], ValueBlock block,
                                                  int lane) {
  const int row = block.columns + lane % 16;            // lanes 8-15: the odd columns
  const int keys = block.keys + lane / 16 * 16;
  const shared_address to = transposed + keys / panel * panel_bytes + xor_offset<panel>(row, keys % panel / 16);
  store_matrices(to, pick_bytes<0x6420>(pairs[0], pairs[1]), pick_bytes<0x7531>(pairs[0], pairs[1]),
                 pick_bytes<0x6420>(pairs[2], pairs[3]), pick_bytes<0x7531>(pairs[2], pairs[3]));
}

// `warps` warps share the blocks; 2 block(s) of a warp are under way at once.
template <int warps>
__device__ __forceinline__ void prepare_tile(shared_address transposed, shared_address values, int warp, int lane) {
  constexpr int blocks = tile_k / 32 * (head_dim / 16);
  constexpr int batch = 2;
#pragma unroll
  for (int first = 0; first < blocks; first += warps * batch) {
    u32 pairs[batch][4];
#pragma unroll
    for (int i = 0; i < batch; ++i) {
      const int index = first + i * warps + warp;
      if (blocks % (warps * batch) == 0 || index < blocks) load_value_block(pairs[i], values, value_block(index), lane);
    }
#pragma unroll
    for (int i = 0; i < batch; ++i) {
      const int index = first + i * warps + warp;
      if (blocks % (warps * batch) == 0 || index < blocks) {
        store_value_block(transposed, pairs[i], value_block(index), lane);
      }
    }
  }
}

// Boxes of a work's tensors, brought by TMA. Maps have the coordinates column, row, head, batch and one that is always 0.

// Rows of a head, a panel of their columns after the other.
__device__ __forceinline__ void load_rows(shared_address to, const TensorMap& map, shared_address full, int rows,
                                          int first_row, int head, int batch) {
#pragma unroll
  for (int p = 0; p < row_panels; ++p) {
    load_box(to + p * rows * row_bytes, map, full, p * row_bytes, first_row, head, batch, 0);
  }
}
// Rows of keys or values from `first_key` of the batch on.
__device__ __forceinline__ void load_tile(shared_address to, const TensorMap& map, shared_address full, int first_key,
                                          const Work& work, const Problem& problem) {
  // In boxes that lie in one page each. Keys behind the last one are of its page: they are masked, but not any bytes.
  const int* pages = problem.page_table + work.batch * ((problem.S_kv + 63) / 64);
#pragma unroll
  for (int box = 0; box < tile_k / 64; ++box) {
    const int key = first_key + box * 64;
    const int there = key < work.keys ? key : (work.keys - 1) / 64 * 64;
    const int page = pages[there / 64];
#pragma unroll
    for (int p = 0; p < row_panels; ++p) {
      load_box(to + (p * tile_k + box * 64) * row_bytes, map, full, p * row_bytes, there % 64, work.kv_head,
               page, 0);
    }
  }
}

// Tiles of a work, brought by TMA once their room is free.
__device__ __forceinline__ void load_keys(const SharedMemory& smem, const TensorMap& k_map, int group,
                                          const RingPlace<stages>& place, int first_key, const Work& work,
                                          const Problem& problem) {
  wait_for(smem.barrier(keys_free, group, place.stage), place.free_parity());
  const shared_address full = smem.barrier(keys_full, group, place.stage);
  arrive_expecting(full, tile_k * head_dim);
  load_tile(smem.keys(group, place.stage), k_map, full, first_key, work, problem);
}

__device__ __forceinline__ void load_values(const SharedMemory& smem, const TensorMap& v_map, int group,
                                            const RingPlace<stages>& place, int first_key, const Work& work,
                                            const Problem& problem) {
  wait_for(smem.barrier(values_free, group, place.stage), place.free_parity());
  const shared_address full = smem.barrier(values_full, group, place.stage);
  arrive_expecting(full, tile_k * head_dim);
  load_tile(smem.values(group, place.stage), v_map, full, first_key, work, problem);
}

// The part of one of the preparing warps: the values of a tile become an operand of the second product.
__device__ __forceinline__ void prepare_values(const SharedMemory& smem, int group, const RingPlace<stages>& place,
                                               int warp, int lane) {
  wait_for(smem.barrier(values_full, group, place.stage), place.full_parity());
  wait_for(smem.barrier(operand_free, group, place.stage), place.free_parity());
  prepare_tile<preparing_warps>(smem.value_operand(group, place.stage), smem.values(group, place.stage), warp, lane);
  publish_to_async_proxy();
  __syncwarp();
  if (lane == 0) {
    arrive(smem.barrier(operand_full, group, place.stage));
    arrive(smem.barrier(values_free, group, place.stage));
  }
}

// The producer: brings tiles to shared memory ahead of the consumers and prepares the values.

__device__ __forceinline__ void produce(const SharedMemory& smem, const TensorMap& q_map, const TensorMap& k_map,
                                        const TensorMap& v_map, const Problem& problem, int warp, int lane) {
  const bool loads = warp == 0 && lane == 0;
  RingPlace<stages> loaded;
  RingPlace<stages> place;
  for_each_work(problem, [&](const Work& work) {
    const auto load_round = [&](int first) {
      if (first >= work.tiles) return;
#pragma unroll
      for (int group = 0; group < groups; ++group) {
        if (loads && first + group < work.tiles) {
          load_keys(smem, k_map, group, loaded, first_key_of(first + group, work), work, problem);
          load_values(smem, v_map, group, loaded, first_key_of(first + group, work), work, problem);
        }
      }
      loaded.advance();
      __syncwarp();
    };
    const int first_tile = first_tile_of(work, 0);
    for (int stage = 0; stage < stages; ++stage) load_round(first_tile + stage * tile_step);
    for (int first = first_tile; first < work.tiles; first += tile_step) {
#pragma unroll
      for (int group = 0; group < groups; ++group) {
        if (first + group < work.tiles) prepare_values(smem, group, place, warp, lane);
      }
      place.advance();
      load_round(first + stages * tile_step);
    }
  });
}

// The warp's 16 rows of a work as operands, rows past the end zero: of each 32 codes four of `row` and `row + 8`, and the
// same 16 further along.
__device__ __forceinline__ void load_query(e4m3x4 (&query)[head_dim / 8], const e4m3* q, const Problem& problem,
                                           const Work& work, int first_row, int lane) {
#pragma unroll
  for (int i = 0; i < head_dim / 8; ++i) {
    const int row = first_row + lane / 4 + i % 2 * 8;
    query[i] = row < problem.rows(work)
                   ? load_global_u32(q + problem.query_place(work, row) + i / 2 * 16 + lane % 4 * 4)
                   : 0;
  }
}

// What becomes of the accumulated rows: output and log-sum-exp, or partial rows for the combining kernel.
struct Arguments : Problem {
  const e4m3* q;
  const float* q_scale;
  const float* k_scale;
  const float* v_scale;
  half_bits* o;
  float* lse;
  float* partial_o;
  float2* partial_statistics;
};

// Four columns, in bf16.
__device__ __forceinline__ uint2 rounded_columns(float4 acc, float factor) {
  return make_uint2(bf16x2_from_f32(acc.x * factor, acc.y * factor),
                    bf16x2_from_f32(acc.z * factor, acc.w * factor));
}

__device__ __forceinline__ void store_columns(half_bits* to, float4 acc, float factor) {
  const uint2 columns = rounded_columns(acc, factor);
  store_global_u32x2(to, columns.x, columns.y);
}

// Of each 16 columns (eight accumulators, `acc`) a thread has four next to each other, from column_of(lane) on: of row
// `row` (r = 0) or `row + 8` (r = 1). Even columns were rows 0-7 of the transposed values, odd ones rows 8-15.
__device__ __forceinline__ int column_of(int lane) { return lane % 4 * 4; }

__device__ __forceinline__ float4 columns_of(const float* acc, int r, int) {
  const float* even = acc + 2 * r;
  const float* odd = even + 4;
  return make_float4(even[0], odd[0], even[1], odd[1]);
}

// Rows whose keys were shared out: their sums are brought to one maximum.
struct PartialRow {
  float row_max = lowest_max;
  float row_sum = 0.0f;
  float4 acc = {0.0f, 0.0f, 0.0f, 0.0f};  // four columns

  // row_max is the largest of all shares' already; statistics: maximum (x), sum (y).
  __device__ __forceinline__ void add(float2 statistics, float4 part) {
    const float share = shrink_by(statistics.x, row_max);
    row_sum = fmaf(share, statistics.y, row_sum);
    acc.x = fmaf(share, part.x, acc.x);
    acc.y = fmaf(share, part.y, acc.y);
    acc.z = fmaf(share, part.z, acc.z);
    acc.w = fmaf(share, part.w, acc.w);
  }
};

// Of each share: its maximum and sum, and its part of the four columns.
template <int shares, typename StatisticsOf, typename PartOf>
__device__ __forceinline__ PartialRow merged_row(const StatisticsOf& statistics_of, const PartOf& part_of) {
  PartialRow merged;
  float2 statistics[shares];
#pragma unroll
  for (int i = 0; i < shares; ++i) {
    statistics[i] = statistics_of(i);
    merged.row_max = fmaxf(merged.row_max, statistics[i].x);
  }
#pragma unroll
  for (int i = 0; i < shares; ++i) merged.add(statistics[i], part_of(i));
  return merged;
}

// Four columns of a row whose keys have all been seen. Rows that see no key have sum 0: their output is 0.
__device__ __forceinline__ void finish_row(const Problem& problem, const Work& work, int row, int column, float4 acc,
                                           float row_max, float row_sum, const float* v_scale, half_bits* o,
                                           float* lse) {
  const int position = problem.position(row);
  const int head = problem.query_head(work, row);
  const float factor = row_sum > 0.0f ? v_scale[problem.kv_scale_index(work)] * reciprocal(row_sum) : 0.0f;
  store_columns(o + problem.tensor_batch(work) * problem.o_batch + (long long)head * problem.o_head +
                    (long long)(problem.first_query(work) + position) * problem.o_row + column,
                acc, factor);
  if (column == 0) {
    constexpr float ln_2 = 0.69314718f;
    constexpr float largest_weight = 256.0f;  // that of the row's maximum
    const float natural = fmaf(row_max, ln_2 / units_per_octave, logf(row_sum * (1.0f / largest_weight)));
    lse[((long long)problem.tensor_batch(work) * problem.heads + head) * problem.S_q + problem.first_query(work) +
        position] = row_sum > 0.0f ? natural : -3.4028235e38f;
  }
}

// Of all heads and batches.
__device__ __forceinline__ long long all_rows(const Problem& problem) {
  return (long long)problem.rows_of(problem.S_q) * problem.row_heads() * problem.batches;
}

// Four columns of a row that no other part of the CTA has a share in.
__device__ __forceinline__ void finish_columns(const Arguments& arguments, const Work& work, int row, int column,
                                               float4 acc, float row_max, float row_sum) {
  const long long partial_row = work.split * all_rows(arguments) + arguments.rows_before(work) + row;
  store_global(arguments.partial_o + partial_row * head_dim + column, acc);
  if (column == 0) arguments.partial_statistics[partial_row] = make_float2(row_max, row_sum);
}

// What becomes of a warp's rows: they leave, or are merged with those of other groups of warps, which finish_columns ends.
// `Output` has rows(work), where the rows of a work's head end.

// Calls `body` with each part that a thread has of its warp's 16 rows: 0 for row `lane / 4` and 1 for that eight further
// down, the row counted from `first_row` on, the first of four columns, and these.
template <typename Body>
__device__ __forceinline__ void for_each_part(const float (&acc_o)[o_registers], int first_row, int lane,
                                              const Body& body) {
#pragma unroll
  for (int r = 0; r < 2; ++r) {
#pragma unroll
    for (int part = 0; part < head_dim / 16; ++part) {
      body(r, first_row + lane / 4 + 8 * r, 16 * part + column_of(lane), columns_of(acc_o + 8 * part, r, lane));
    }
  }
}

// Of a warp's 16 rows from row `first_row` of the head on.
template <typename Output>
__device__ __forceinline__ void store_rows(const Output& output, const Work& work, int first_row,
                                           const float (&acc_o)[o_registers], const float (&row_max)[2],
                                           const float (&row_sum)[2], int lane) {
  for_each_part(acc_o, first_row, lane, [&](int r, int row, int column, float4 columns) {
    if (row < output.rows(work)) finish_columns(output, work, row, column, columns, row_max[r], row_sum[r]);
  });
}

// A consumer: one warpgroup, 64 query rows of each work, its group's share of the key tiles.
__device__ __forceinline__ void consume(const SharedMemory& smem, const Arguments& arguments) {
  const int lane = threadIdx.x % 32;
  const int warp = threadIdx.x / 32 % 4;
  const int warpgroup = __shfl_sync(0xffffffffu, threadIdx.x / 128, 0);  // the compiler sees that a warp has one only
  const int group = groups == 1 ? 0 : warpgroup / row_warpgroups;
  const int row_part = row_warpgroups == 1 ? 0 : warpgroup % row_warpgroups;
  const Problem& problem = arguments;

  RingPlace<stages> place;
  for_each_work(problem, [&](const Work& work) {
    typedef Score TileScores[score_registers];
    TileScores scores;
    u32 weights[weight_registers];
    float acc_o[o_registers];
#pragma unroll
    for (int i = 0; i < o_registers; ++i) acc_o[i] = 0.0f;
    float row_max[2] = {lowest_max, lowest_max};
    float shrink[2];
    float row_sum[2] = {0.0f, 0.0f};  // this thread's share

    const int first_row = work.first_row + row_part * 64;

    constexpr float log2_e = 1.4426950408889634f;
    const float score_unit = problem.softmax_scale * log2_e * units_per_octave;
    const float code_scale =
        arguments.q_scale[problem.q_scale_index(work)] * arguments.k_scale[problem.kv_scale_index(work)];
    const float qk_scale = fmaxf(code_scale * score_unit, smallest_scale);

    e4m3x4 query[head_dim / 8];
    load_query(query, arguments.q, problem, work, first_row + warp * 16, lane);

    // The tiles that this warpgroup works on. It passes those that only other warpgroups' rows see.
    int first_tile = first_tile_of(work, group);
    int end_tile = work.tiles;

    const auto start_scores = [&](TileScores& scores, const RingPlace<stages>& place) {
      wait_for(smem.barrier(keys_full, group, place.stage), place.full_parity());
      const matrix_descriptor keys = describe_matrix<row_bytes>(smem.keys(group, place.stage));
      start_products();
      multiply_qk<false>(scores, query + 0,
                        along_rows(keys, 0));
      multiply_qk<true>(scores, query + 4,
                        along_rows(keys, 32));
      multiply_qk<true>(scores, query + 8,
                        along_rows(keys, 64));
      multiply_qk<true>(scores, query + 12,
                        along_rows(keys, 96));
      commit_products();
    };
    const auto raise_maximum = [&](TileScores& scores, const RingPlace<stages>& place, int i) {
      pin_registers(scores);
      if (lane == 0) arrive(smem.barrier(keys_free, group, place.stage));
      const int first_key = first_key_of(i, work);
      const int rows[2] = {first_row + warp * 16 + lane / 4, first_row + warp * 16 + lane / 4 + 8};
      if (first_key + tile_k > problem.key_end(work, problem.position(first_row))) {
        const int keys[2] = {problem.key_end(work, problem.position(rows[0])) - first_key,
                             problem.key_end(work, problem.position(rows[1])) - first_key};
        mask_scores<Hidden::from>(scores, lane, keys);
      }
      float tile_max[2];
      find_tile_max(tile_max, scores, qk_scale);
      raise_row_max(row_max, shrink, tile_max);
    };
    const auto weigh_scores = [&](TileScores& scores) {
      weigh(scores, qk_scale, row_max);
#pragma unroll
      for (int r = 0; r < 2; ++r) row_sum[r] *= shrink[r];
      add_weights(row_sum, scores);
    };
    // The second product of a tile. It adds to acc_o in place.
    const auto start_part = [&](const RingPlace<stages>& place, int part) {
      const shared_address values =
          smem.value_operand(group, place.stage) + part * 8192;
      pin_registers(weights);  // all of them before the first product
      start_products();
      const matrix_descriptor values_0 =
          describe_matrix<panel>(values + 0);
      multiply_pv_last<true>(acc_o + part * part_registers, weights + 0, values_0);
      const matrix_descriptor values_1 =
          describe_matrix<panel>(values + 32);
      multiply_pv_last<true>(acc_o + part * part_registers, weights + 4, values_1);
    };
    const auto start_output = [&](const RingPlace<stages>& place) {
      wait_for(smem.barrier(operand_full, group, place.stage), place.full_parity());
      pin_registers(acc_o);  // rescaled: before the fence, not behind it
#pragma unroll
      for (int part = 0; part < 1; ++part) start_part(place, part);
      commit_products();
    };
    // Once the product is done.
    const auto finish_output = [&](const RingPlace<stages>& place) {
      pin_registers(acc_o);
      if (lane == 0) arrive(smem.barrier(operand_free, group, place.stage));
    };
    // Between two tiles: what is accumulated follows the new tile's maximum.
    const auto follow = [&] { rescale(acc_o, shrink); };

    // Scores of a tile are multiplied together with the output of the one before.
    if (first_tile < end_tile) {
      start_scores(scores, place);
      wait_for_products<0>();
      raise_maximum(scores, place, first_tile);
      weigh_scores(scores);
      follow();
      pack_weights(weights, scores);
      for (int i = first_tile + tile_step; i < end_tile; i += tile_step) {
        const RingPlace<stages> before = place;
        place.advance();
        start_scores(scores, place);
        start_output(before);
        wait_for_products<1>();
        raise_maximum(scores, place, i);
        weigh_scores(scores);
        wait_for_products<0>();
        finish_output(before);
        follow();
        pack_weights(weights, scores);
      }
      start_output(place);
      wait_for_products<0>();
      finish_output(place);
      place.advance();
    }

    row_sum[0] = quad_sum(row_sum[0]);
    row_sum[1] = quad_sum(row_sum[1]);
    // A warpgroup's rows leave: merged with those of other groups, by TMA, or straight from the registers.
    store_rows(arguments, work, first_row + warp * 16, acc_o, row_max, row_sum, lane);
  });
}

extern "C" __global__ void __launch_bounds__(threads, 2)
    fp8_attention(const __grid_constant__ TensorMap q_map, const __grid_constant__ TensorMap k_map,
                  const __grid_constant__ TensorMap v_map, const e4m3* __restrict__ q,
                  const float* __restrict__ q_scale, const float* __restrict__ k_scale,
                  const float* __restrict__ v_scale, half_bits* __restrict__ o, float* __restrict__ lse,
                  float* __restrict__ partial_o, float2* __restrict__ partial_statistics,
                  const int* __restrict__ cu_seqlens_q, const int* __restrict__ cu_seqlens_kv,
                  const int* __restrict__ page_table, const int* __restrict__ kv_lengths,
                  const __grid_constant__ Sizes sizes) {
  extern __shared__ unsigned char smem_storage[];
  const SharedMemory smem = {(shared_address_of(smem_storage) + 1023) & ~1023u};  // swizzle atoms are 1024 bytes
  const Problem problem = {sizes, page_table, kv_lengths};
  const Arguments arguments = {problem, q, q_scale, k_scale, v_scale, o, lse, partial_o, partial_statistics};

  // The producer's warps and the consumers go their ways.
  if (threadIdx.x == consumer_threads) {
    prefetch_tensor_map(k_map);
    prefetch_tensor_map(v_map);
    init_barriers(smem);
  }
  __syncthreads();
  wait_for_launch_ahead();
  start_launch_behind();

  if (threadIdx.x >= consumer_threads) {
    shrink_registers_to<72>();
    produce(smem, q_map, k_map, v_map, problem, threadIdx.x / 32 - 4, threadIdx.x % 32);
  } else {
    grow_registers_to<184>();
    consume(smem, arguments);
  }
}

// Combines the partial rows of the CTAs that shared a query tile: each of 128 threads four columns of one row.
// `statistics_of` a partial row are its maximum (x) and sum (y). Calls `store` with the row, the first column and the
// merged row.
template <typename StatisticsOf, typename Store>
__device__ __forceinline__ void combine_rows(const float* __restrict__ partial_o, int rows,
                                             const StatisticsOf& statistics_of, const Store& store) {
  constexpr int row_items = head_dim / 4;
  const long long item = (long long)blockIdx.x * 128 + threadIdx.x;
  const int row = (int)(item / row_items);
  const int column = (int)(item % row_items) * 4;
  if (row >= rows) return;
  const auto partial_row = [&](int split) { return (long long)split * rows + row; };
  const PartialRow merged = merged_row<kv_split>(
      [&](int split) { return statistics_of(partial_row(split)); },
      [&](int split) { return *reinterpret_cast<const float4*>(partial_o + partial_row(split) * head_dim + column); });
  store(row, column, merged);
}

extern "C" __global__ void __launch_bounds__(128)
    fp8_attention_combine(const float* __restrict__ partial_o, const float2* __restrict__ partial_statistics,
                          const float* __restrict__ v_scale, half_bits* __restrict__ o, float* __restrict__ lse,
                          const __grid_constant__ Sizes sizes) {
  wait_for_launch_ahead();
  start_launch_behind();
  const Problem problem = {sizes};
  const auto statistics_of = [&](long long row) { return partial_statistics[row]; };
  combine_rows(partial_o, (int)all_rows(problem), statistics_of, [&](int row, int column, const PartialRow& merged) {
    // All that is asked of the work: where its rows are, and which scales they have.
    const int rows_of_head = problem.rows_of(problem.S_q);
    Work work = {};
    work.batch = row / rows_of_head / problem.row_heads();
    work.head = row / rows_of_head % problem.row_heads();
    work.kv_head = work.head;
    finish_row(problem, work, row % rows_of_head, column, merged.acc, merged.row_max, merged.row_sum, v_scale, o, lse);
  });
}
