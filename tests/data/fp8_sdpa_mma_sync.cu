// fp8_sdpa/mma_sync: o = softmax(q k^T / sqrt(D)) v with e4m3 q, k, v and one scale a head, in one pass
// over the keys. A CTA has 32 query rows of one head: 1 warp(s) side by side over the rows,
// 8 group(s) of them over the keys. docs/kernels/mma_sync.md tells the algorithm and the layouts.

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

// Copies from global to shared memory that run beside the threads (PTX ISA, cp.async; sm_80 and newer).

// 16 bytes; zeros where `there` is false, and then nothing is read: `from` need only be a valid address.
__device__ __forceinline__ void copy_async(shared_address to, const void* from, bool there) {
  const int bytes = there ? 16 : 0;
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(bytes) : "memory");
}

// Closes a group of the copies that this thread has started. Groups retire in order.
__device__ __forceinline__ void commit_copies() { asm volatile("cp.async.commit_group;" ::: "memory"); }

// Waits until at most `pending` groups of this thread are under way. Other threads' copies need a barrier
// after it.
template <int pending>
__device__ __forceinline__ void wait_for_copies() {
  asm volatile("cp.async.wait_group %0;" ::"n"(pending) : "memory");
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

__device__ __forceinline__ void mma_f16(float (&d)[4], const f16x2 (&a)[4], f16x2 b0, f16x2 b1) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
      "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
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

// Exchange between the four lanes that share the rows of an mma result.

__device__ __forceinline__ float quad_max(float value) {
  value = fmaxf(value, __shfl_xor_sync(0xffffffffu, value, 1));
  return fmaxf(value, __shfl_xor_sync(0xffffffffu, value, 2));
}

__device__ __forceinline__ float quad_sum(float value) {
  value += __shfl_xor_sync(0xffffffffu, value, 1);
  return value + __shfl_xor_sync(0xffffffffu, value, 2);
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

constexpr int head_dim = 64;
constexpr int tile_q = 32;                       // query rows of the CTA
constexpr int tile_k = 64;                       // keys of one tile
constexpr int warps_q = 1;                     // warps of a group
constexpr int warps_k = 8;                     // groups
constexpr int m_tiles = 2;                     // tiles of 16 query rows of a warp
constexpr int key_tiles = tile_k / 8;                   // score tiles of 8 keys
constexpr int o_tiles = head_dim / 8;                   // output tiles of 8 columns
constexpr int group_threads = 32 * warps_q;
constexpr int threads = group_threads * warps_k;
constexpr int stages = 1;                       // key and value tiles in shared memory for each group
constexpr int row_chunks = head_dim / 16;               // chunks of 16 codes in a row
constexpr int tile_bytes = 4096;               // of a key tile in shared memory
constexpr int v_tile_bytes = 4096;             // of a value tile
constexpr int q_bytes = 0;                     // of the query tile
constexpr int group_bytes = 8192;             // of a group's tiles
constexpr float lowest_score = -1e30f;  // stands for minus infinity: differences of two stay finite
// What scores are multiplied by at least, however small queries and keys are: masked scores then still fall out of
// sight, and the others are all but equal.
constexpr float smallest_scale = 1e-20f;

struct Output {
  half_bits* o;
  float v_scale;
};

// On the multi-function unit, one result each: 16 a clock and SM.
__device__ __forceinline__ float exp2_even(float y) { return exp2_approximate(y); }
__device__ __forceinline__ float exp2_odd(float y) { return exp2_approximate(y); }

// Weights in f32: every second one by `exp2_even`, the others by `exp2_odd`.

// Scores in octaves: the largest weight of a row is 1.
constexpr float units_per_octave = 1.0f;
__device__ __forceinline__ float rounded_max(float scaled) { return scaled; }
__device__ __forceinline__ float weight_offset(float row_max) { return -row_max; }

__device__ __forceinline__ f16x2 weights(float first, float second, float scale, float offset,
                                         float& row_sum) {
  const float p0 = exp2_even(fmaf(first, scale, offset));
  const float p1 = exp2_odd(fmaf(second, scale, offset));
  row_sum += p0 + p1;
  return f16x2_from_f32(p0, p1);
}

// What was accumulated below one maximum counts below a larger one.
__device__ __forceinline__ float shrink_by(float old_max, float new_max) {
  return exp2_approximate((old_max - new_max) * (1.0f / units_per_octave));
}

// Rows follow their tile's maximum: what they have accumulated shrinks by the difference.
__device__ __forceinline__ void follow_tile_max(float (&row_max)[2], const float (&tile_max)[2],
                                                float (&row_sum)[2], float (&acc_o)[o_tiles][4]) {
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    const float new_max = fmaxf(row_max[r], tile_max[r]);
    const float shrink = shrink_by(row_max[r], new_max);
    row_max[r] = new_max;
    row_sum[r] *= shrink;
#pragma unroll
    for (int n = 0; n < o_tiles; ++n) {
      acc_o[n][2 * r] *= shrink;
      acc_o[n][2 * r + 1] *= shrink;
    }
  }
}

// Whether 16 rows follow their tile's maximum.
// Every tile, whether a maximum has grown or not.
__device__ __forceinline__ bool follows(const float (&)[2], const float (&)[2]) { return true; }

__device__ __forceinline__ void raise_row_max(float (&row_max)[m_tiles][2], const float (&tile_max)[m_tiles][2],
                                              float (&row_sum)[m_tiles][2], float (&acc_o)[m_tiles][o_tiles][4]) {
#pragma unroll
  for (int m = 0; m < m_tiles; ++m) {
    if (follows(row_max[m], tile_max[m])) follow_tile_max(row_max[m], tile_max[m], row_sum[m], acc_o[m]);
  }
}

// Waits for the other warps of a group, and makes what they wrote to shared memory visible.
__device__ __forceinline__ void sync_group(int group) {
  __syncwarp();
}

// Tiles in shared memory: rows of head_dim codes in 16-byte chunks. Rows past the end of the tensor are zero,
// so that a product with them is defined and harmless.

__device__ __forceinline__ shared_address chunk_address(shared_address tile, int row, int chunk) {
  return tile + xor_offset<head_dim>(row, chunk);
}

// Row r of the tile is row r of the matrix.
struct InOrder {
  static __device__ __forceinline__ int row(int position) { return position; }
};

// Copies `rows` rows from row `first` on of a matrix with `end` rows; `thread` of `copiers` takes part.
template <int rows, int copiers, typename Order = InOrder>
__device__ __forceinline__ void copy_tile(shared_address tile, const e4m3* matrix, int first, int end,
                                          int thread) {
#pragma unroll
  for (int i = 0; i < (rows * row_chunks + copiers - 1) / copiers; ++i) {
    const int item = thread + i * copiers;
    const int row = item / row_chunks;
    const int chunk = item % row_chunks;
    if (rows * row_chunks % copiers != 0 && row >= rows) break;
    const int source_row = first + Order::row(row);
    const bool there = source_row < end;
    const e4m3* source = matrix + (long long)(there ? source_row : 0) * head_dim + chunk * 16;
    copy_async(chunk_address(tile, row, chunk), source, there);
  }
}

// Products of rows with rows on tensor cores: acc[i][j] += <row i of a, row j of b>, rows of head_dim e4m3
// codes, operands e4m3 or f16 (`qk_math`). The products run over the depth in halves of 64 codes.

constexpr int half_steps = 4;  // f16 products of depth 16
constexpr int halves = head_dim / 64;
// 16 rows of a, 64 codes of each.
typedef u32 RowsHalf[half_steps][4];

// Codes of depth 32 j .. 32 j + 31 as the products' operand. The f16 product of step 2 j takes codes 0, 1 of
// each register for its first eight depths and codes 2, 3 for the others; b rows are dealt out in the same
// order.
__device__ __forceinline__ void set_rows(RowsHalf& rows, int j, const e4m3x4 (&codes)[4]) {
#pragma unroll
  for (int step = 0; step < 2; ++step) {
    rows[2 * j + step][0] = first_pair(codes[2 * step]);
    rows[2 * j + step][1] = first_pair(codes[2 * step + 1]);
    rows[2 * j + step][2] = second_pair(codes[2 * step]);
    rows[2 * j + step][3] = second_pair(codes[2 * step + 1]);
  }
}

// Rows `row` .. `row` + 15 straight from global memory; rows from `end` on are zero.
__device__ __forceinline__ void load_rows_half(RowsHalf& rows, const e4m3* matrix, int row, int end, int half,
                                               int lane) {
  const int quad_row = row + lane / 4;
  const e4m3* source = matrix + (long long)quad_row * head_dim + 64 * half + lane % 4 * 4;
#pragma unroll
  for (int j = 0; j < 2; ++j) {
    e4m3x4 codes[4] = {0, 0, 0, 0};
    if (quad_row < end) {
      codes[0] = load_global_u32(source + 32 * j);
      codes[2] = load_global_u32(source + 32 * j + 16);
    }
    if (quad_row + 8 < end) {
      codes[1] = load_global_u32(source + 8 * head_dim + 32 * j);
      codes[3] = load_global_u32(source + 8 * head_dim + 32 * j + 16);
    }
    set_rows(rows, j, codes);
  }
}

// All depths of m_tiles times 16 rows: `load(rows, m, half)` brings a half of the m-th.
template <int m_tiles, typename Load>
__device__ __forceinline__ void load_all_rows(RowsHalf (&rows)[halves][m_tiles], const Load& load) {
#pragma unroll
  for (int half = 0; half < halves; ++half) {
#pragma unroll
    for (int m = 0; m < m_tiles; ++m) load(rows[half][m], m, half);
  }
}

// One half of the depth. `load_b(codes, n)` gives the operand of b's n-th tile of 8 rows. Products that add
// to the same scores wait for each other, so those of 2 tile(s) take turns.
template <int m_tiles, int n_tiles, typename LoadB>
__device__ __forceinline__ void multiply_half(float (&acc)[m_tiles][n_tiles][4], const RowsHalf (&a)[m_tiles],
                                              LoadB load_b) {
  constexpr int interleave = 2;
#pragma unroll
  for (int n = 0; n < n_tiles; n += interleave) {
    e4m3x4 b[interleave][4];
#pragma unroll
    for (int i = 0; i < interleave; ++i) load_b(b[i], n + i);
#pragma unroll
    for (int step = 0; step < 4; ++step) {
#pragma unroll
      for (int i = 0; i < interleave; ++i) {
        const f16x2 first = first_pair(b[i][step]);
        const f16x2 second = second_pair(b[i][step]);
#pragma unroll
        for (int m = 0; m < m_tiles; ++m) mma_f16(acc[m][n + i], a[m][step], first, second);
      }
    }
  }
}

// The half of eight rows from `row` on of a shared tile.
__device__ __forceinline__ void load_8_rows_half(e4m3x4 (&codes)[4], shared_address tile, int row, int half,
                                                 int lane) {
  load_matrices(codes, chunk_address(tile, row + lane % 8, 4 * half + lane / 8));
}

// The scores of a warp's query rows and one key tile, after the product of q and k.

__device__ __forceinline__ constexpr int key_at(int column) { return column; }

// Rows attend to the tile's first `keys_left` keys: those beyond do not exist.
// The scores of others become so low that their weights vanish.
__device__ __forceinline__ void mask_scores(float (&scores)[m_tiles][key_tiles][4], int keys_left, int lane) {
#pragma unroll
  for (int n = 0; n < key_tiles; ++n) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int key = key_at(8 * n + 2 * (lane % 4) + i % 2);
#pragma unroll
      for (int m = 0; m < m_tiles; ++m) {
        const int row_keys = keys_left;
        if (key >= row_keys) scores[m][n][i] = lowest_score;
      }
    }
  }
}

// The largest score of each row in the tile, scaled.
__device__ __forceinline__ void find_tile_max(float (&tile_max)[m_tiles][2],
                                              const float (&scores)[m_tiles][key_tiles][4], float scale) {
#pragma unroll
  for (int m = 0; m < m_tiles; ++m) {
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      float largest = fmaxf(scores[m][0][2 * r], scores[m][0][2 * r + 1]);
#pragma unroll
      for (int n = 1; n < key_tiles; ++n)
        largest = fmaxf(largest, fmaxf(scores[m][n][2 * r], scores[m][n][2 * r + 1]));
      tile_max[m][r] = rounded_max(quad_max(largest) * scale);
    }
  }
}

typedef InOrder KeyOrder;

// acc_o += p v for a warp's query rows and one value tile.

constexpr int key_step = 16;  // depth of a product
constexpr int column_blocks = head_dim / 16;

// Value tiles as operands of the second product, which needs the keys innermost; but values lie with the head
// dimension innermost.
// A transposing ldmatrix moves pairs of codes: a lane gets columns 2 row, 2 row + 1 (row = lane / 4) of keys
// 2 quad, 2 quad + 1; picking every second byte of the pairs of keys 0-7 and 8-15 gives one column of keys {2
// quad, 2 quad + 1, 8 + 2 quad, 9 + 2 quad}. Two consequences, both free:
//   - e4m3 products take the keys in that order, which is the order in which a lane's scores lie: weights
//     need no exchange;
//   - of 16 columns, a product has the even ones and the next one the odd ones, so acc_o[2 b][0],
//     acc_o[2 b + 1][0], acc_o[2 b][1], acc_o[2 b + 1][1] are columns 16 b + 4 quad + 0, 1, 2, 3 of a row.

constexpr int load_blocks = 2;  // blocks of 16 columns whose values come at once for a key step
// Operands of two products, those of acc_o[2 b] and acc_o[2 b + 1]: {even 0, even 1, odd 0, odd 1}.
typedef u32 ValueBlock[4];

typedef shared_address ValueTile;

__device__ __forceinline__ void copy_values(shared_address v_tile, const e4m3* v, int first, int end,
                                            int thread) {
  copy_tile<tile_k, group_threads>(v_tile, v, first, end, thread);
}

__device__ __forceinline__ void transpose_values(ValueBlock (&values)[load_blocks], shared_address v_tile,
                                                 int key, int block, int lane) {
  u32 pairs[4];
  // Keys 0-7 and 8-15 of a block of 16 columns, then of the next.
  load_matrices_transposed(pairs, chunk_address(v_tile, key + lane % 16, block + lane / 16));
#pragma unroll
  for (int b = 0; b < 2; ++b) {
    const e4m3x4 even = pick_bytes<0x6420>(pairs[2 * b], pairs[2 * b + 1]);
    const e4m3x4 odd = pick_bytes<0x7531>(pairs[2 * b], pairs[2 * b + 1]);
    values[b][0] = first_pair(even);
    values[b][1] = second_pair(even);
    values[b][2] = first_pair(odd);
    values[b][3] = second_pair(odd);
  }
}

__device__ __forceinline__ void load_values(ValueBlock (&values)[load_blocks], shared_address v_tile, int key,
                                            int block, int lane) {
  transpose_values(values, v_tile, key, block, lane);
}

// A lane's part `part` of an output row: four neighbouring columns from column_of(part, quad) on.
__device__ __forceinline__ int column_of(int part, int quad) {
  return 16 * part + 4 * quad;
}

__device__ __forceinline__ float4 part_of(const float (&acc_o)[o_tiles][4], int r, int part) {
  const float(&even)[4] = acc_o[2 * part];
  const float(&odd)[4] = acc_o[2 * part + 1];
  return make_float4(even[2 * r], odd[2 * r], even[2 * r + 1], odd[2 * r + 1]);
}

// The weights of one key step as the product's operand; `s` are the step's scores of the warp's 16 rows.
__device__ __forceinline__ void make_weights(u32 (&p)[4], const float (*s)[4], float scale,
                                             const float (&offset)[2], float (&row_sum)[2]) {
  p[0] = weights(s[0][0], s[0][1], scale, offset[0], row_sum[0]);
  p[1] = weights(s[0][2], s[0][3], scale, offset[1], row_sum[1]);
  p[2] = weights(s[1][0], s[1][1], scale, offset[0], row_sum[0]);
  p[3] = weights(s[1][2], s[1][3], scale, offset[1], row_sum[1]);
}

__device__ __forceinline__ void multiply_pv(float (&acc_o)[m_tiles][o_tiles][4], float (&row_sum)[m_tiles][2],
                                            const float (&scores)[m_tiles][key_tiles][4],
                                            const float (&row_max)[m_tiles][2], const ValueTile& value_tile,
                                            float scale, int lane) {
  float offset[m_tiles][2];
#pragma unroll
  for (int m = 0; m < m_tiles; ++m) {
    offset[m][0] = weight_offset(row_max[m][0]);
    offset[m][1] = weight_offset(row_max[m][1]);
  }
#pragma unroll
  for (int key = 0; key < tile_k; key += key_step) {
    u32 p[m_tiles][4];
#pragma unroll
    for (int m = 0; m < m_tiles; ++m) {
      make_weights(p[m], scores[m] + key / 8, scale, offset[m], row_sum[m]);
    }
#pragma unroll
    for (int block = 0; block < column_blocks; block += load_blocks) {
      ValueBlock values[load_blocks];
      load_values(values, value_tile, key, block, lane);
#pragma unroll
      for (int b = 0; b < load_blocks; ++b) {
#pragma unroll
        for (int m = 0; m < m_tiles; ++m) {
          mma_f16(acc_o[m][2 * (block + b)], p[m], values[b][0], values[b][1]);
          mma_f16(acc_o[m][2 * (block + b) + 1], p[m], values[b][2], values[b][3]);
        }
      }
    }
  }
}

// What becomes of the accumulated rows: normalised output, or partial results for the combining kernel.

// Four columns, in f16.
__device__ __forceinline__ uint2 rounded_columns(float4 acc, float factor) {
  return make_uint2(f16x2_from_f32(acc.x * factor, acc.y * factor),
                    f16x2_from_f32(acc.z * factor, acc.w * factor));
}

__device__ __forceinline__ void store_columns(half_bits* to, float4 acc, float factor) {
  const uint2 columns = rounded_columns(acc, factor);
  store_global_u32x2(to, columns.x, columns.y);
}

// Four columns of one row: `row` counts rows of all heads.
__device__ __forceinline__ void finish_columns(const Output& output, long long row, int column, float4 acc,
                                               float row_max, float row_sum) {
  store_columns(output.o + row * head_dim + column, acc, output.v_scale * reciprocal(row_sum));
}

// Groups leave their partial rows in shared memory: [group][row] accumulators (64 bytes more than a row
// spread the rows over the banks), then [group][row] pairs of maximum and sum.
constexpr int partial_row_bytes = head_dim * 4 + 64;
constexpr int slot_bytes = 16;

// Slot 4 part + quad of a row holds four columns.
__device__ __forceinline__ shared_address partial_address(shared_address smem, int group, int row, int slot) {
  return smem + (group * tile_q + row) * partial_row_bytes + slot * slot_bytes;
}

__device__ __forceinline__ shared_address statistics_address(shared_address smem, int group, int row) {
  return smem + warps_k * tile_q * partial_row_bytes + (group * tile_q + row) * 8;
}

__device__ __forceinline__ void leave_partial_rows(shared_address smem,
                                                   const float (&acc_o)[m_tiles][o_tiles][4],
                                                   const float (&row_max)[m_tiles][2],
                                                   const float (&row_sum)[m_tiles][2], int group,
                                                   int warp_row, int lane) {
#pragma unroll
  for (int m = 0; m < m_tiles; ++m) {
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      const int row = warp_row + 16 * m + 8 * r + lane / 4;
#pragma unroll
      for (int part = 0; part < o_tiles / 2; ++part) {
        const float4 acc = part_of(acc_o[m], r, part);
        const shared_address to = partial_address(smem, group, row, 4 * part + lane % 4);
        store_shared(to, acc);
      }
      if (lane % 4 == 0)
        store_shared(statistics_address(smem, group, row), make_float2(row_max[m][r], row_sum[m][r]));
    }
  }
}

// All threads share the merged rows, four columns at a time.
__device__ __forceinline__ void merge_rows(const Output& output, shared_address smem, long long first_row,
                                           int rows) {
  constexpr int items = tile_q * head_dim / 4;
#pragma unroll
  for (int i = 0; i < (items + threads - 1) / threads; ++i) {
    const int item = threadIdx.x + i * threads;
    const int row = item / (head_dim / 4);
    const int slot = item % (head_dim / 4);
    if (row >= rows) break;
    float2 statistics[warps_k];  // x: maximum, y: sum
    float row_max = lowest_score;
#pragma unroll
    for (int group = 0; group < warps_k; ++group) {
      statistics[group] = load_shared_f32x2(statistics_address(smem, group, row));
      row_max = fmaxf(row_max, statistics[group].x);
    }
    float row_sum = 0.0f;
    float4 acc = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
#pragma unroll
    for (int group = 0; group < warps_k; ++group) {
      const float weight = shrink_by(statistics[group].x, row_max);
      const float4 part = load_shared_f32x4(partial_address(smem, group, row, slot));
      row_sum = fmaf(weight, statistics[group].y, row_sum);
      acc.x = fmaf(weight, part.x, acc.x);
      acc.y = fmaf(weight, part.y, acc.y);
      acc.z = fmaf(weight, part.z, acc.z);
      acc.w = fmaf(weight, part.w, acc.w);
    }
    finish_columns(output, first_row + row, column_of(slot / 4, slot % 4), acc, row_max, row_sum);
  }
}

extern "C" __global__ void __launch_bounds__(threads, 1) fp8_sdpa(
    const e4m3* __restrict__ q, const e4m3* __restrict__ k, const e4m3* __restrict__ v,
    const float* __restrict__ q_scale, const float* __restrict__ k_scale, const float* __restrict__ v_scale,
    half_bits* __restrict__ o, float* __restrict__ partial_o, float* __restrict__ partial_max,
    float* __restrict__ partial_sum, int S) {
  extern __shared__ __align__(128) unsigned char smem_storage[];
  const shared_address smem = shared_address_of(smem_storage);
  const int lane = threadIdx.x % 32;
  const int warp_q = threadIdx.x / 32 % warps_q;
  const int group = threadIdx.x / group_threads;
  const int group_thread = threadIdx.x % group_threads;
  const int head = blockIdx.y;
  const int first_row = blockIdx.x * tile_q;
  const int warp_row = warp_q * 16 * m_tiles;

  const shared_address k_tiles = smem + q_bytes + group * group_bytes;
  const shared_address v_tiles = k_tiles + stages * tile_bytes;

  wait_for_launch_ahead();
  start_launch_behind();
  const long long head_start = (long long)head * S * head_dim;
  const e4m3* q_head = q + head_start;
  const e4m3* k_head = k + head_start;
  const e4m3* v_head = v + head_start;

  // The CTA's share of the key tiles; of these, every warps_k-th is this group's.
  const int all_tiles = (S + tile_k - 1) / tile_k;
  const int first_tile = 0;
  const int end_tile = all_tiles;
  const int tiles = max(0, (end_tile - first_tile - group + warps_k - 1) / warps_k);
  const auto first_key_of = [&](int i) { return (first_tile + group + i * warps_k) * tile_k; };

  // Tile i goes to stage i % stages. Groups are closed for tiles past the last too, so that counting them is
  // the same all the way.
  const auto start_copy = [&](int i, int stage) {
    if (i < tiles) {
      copy_tile<tile_k, group_threads, KeyOrder>(k_tiles + stage * tile_bytes, k_head, first_key_of(i), S,
                                                 group_thread);
    }
    commit_copies();
    if (i < tiles) {
      copy_values(v_tiles + stage * v_tile_bytes, v_head, first_key_of(i), S, group_thread);
    }
    commit_copies();
  };
  constexpr int tile_groups = 2;  // copy groups of a tile
#pragma unroll
  for (int stage = 0; stage < stages; ++stage) start_copy(stage, stage);

  // 1 / sqrt(head_dim)
  constexpr float inverse_root = 0.125f;
  constexpr float log2_e = 1.4426950408889634f;
  const float scale = fmaxf(
      q_scale[head] * k_scale[head] * (inverse_root * log2_e * units_per_octave), smallest_scale);

  RowsHalf query[halves][m_tiles];
  load_all_rows(query, [&](RowsHalf& rows, int m, int half) {
    load_rows_half(rows, q_head, first_row + warp_row + 16 * m, S, half, lane);
  });

  float acc_o[m_tiles][o_tiles][4] = {};
  float row_sum[m_tiles][2] = {};
  float row_max[m_tiles][2];
#pragma unroll
  for (int m = 0; m < m_tiles; ++m) row_max[m][0] = row_max[m][1] = lowest_score;

  constexpr int stage = 0;
#pragma unroll 1
  for (int i = 0; i < tiles; ++i) {
    const int first_key = first_key_of(i);
    const shared_address k_tile = k_tiles + stage * tile_bytes;
    const shared_address v_tile = v_tiles + stage * v_tile_bytes;
    wait_for_copies<stages * tile_groups - 1>();
    sync_group(group);

    float scores[m_tiles][key_tiles][4] = {};
#pragma unroll
    for (int half = 0; half < halves; ++half) {
      const auto load_keys = [&](e4m3x4(&codes)[4], int n) {
        load_8_rows_half(codes, k_tile, 8 * n, half, lane);
      };
      multiply_half(scores, query[half], load_keys);
    }
    const int keys_left = S - first_key;
    if (keys_left < tile_k) mask_scores(scores, keys_left, lane);

    float tile_max[m_tiles][2];
    find_tile_max(tile_max, scores, scale);
    raise_row_max(row_max, tile_max, row_sum, acc_o);

    wait_for_copies<stages * tile_groups - 2>();
    sync_group(group);
    const ValueTile& value_tile = v_tile;
    multiply_pv(acc_o, row_sum, scores, row_max, value_tile, scale, lane);

    if (i + stages < tiles) sync_group(group);  // every warp is done with the stage
    start_copy(i + stages, stage);
  }

#pragma unroll
  for (int m = 0; m < m_tiles; ++m) {
    row_sum[m][0] = quad_sum(row_sum[m][0]);
    row_sum[m][1] = quad_sum(row_sum[m][1]);
  }

  const Output output = {o, v_scale[head]};
  const long long first_output_row = (long long)head * S + first_row;
  const int rows = min(tile_q, S - first_row);
  __syncthreads();  // key and value tiles are done with: their room serves the partial rows
  leave_partial_rows(smem, acc_o, row_max, row_sum, group, warp_row, lane);
  __syncthreads();
  merge_rows(output, smem, first_output_row, rows);
}
