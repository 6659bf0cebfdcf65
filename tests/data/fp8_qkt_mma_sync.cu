// fp8_qkt/mma_sync: s = (q k^T) q_scale k_scale with e4m3 q, k and one scale a
// head, f32 scores. A CTA has 64 query rows of one head and works through 2 tile(s) of
// 64 keys; 2 x 2 warps share each tile.


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

// Programmatic dependent launch (PTX ISA, griddepcontrol; sm_90 and newer): a launch starts while the one
// ahead of it in the stream still runs.

// Until everything of the launch ahead has ended and can be seen. Nothing it wrote may be read, and nothing
// it reads may be written, before.
__device__ __forceinline__ void wait_for_launch_ahead() { asm volatile("griddepcontrol.wait;" ::: "memory"); }

// Lets the launch behind start as soon as every block has come here and there is room.
__device__ __forceinline__ void start_launch_behind() {
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
}

// Sizes and choices of a score kernel whose warps share each tile.
constexpr int head_dim = 64;
constexpr int tile_m = 64;                       // query rows of the CTA
constexpr int tile_n = 64;                       // keys of one tile
constexpr int warps_m = 2;
constexpr int warps_n = 2;
constexpr int walk = 2;                           // key tiles of the CTA
constexpr int stages = 2;                       // key tiles in shared memory
constexpr int m_tiles = 2;                     // tiles of 16 query rows of a warp
constexpr int n_tiles = 4;                     // tiles of keys of a warp
constexpr int threads = 32 * warps_m * warps_n;
constexpr int min_blocks = 1;               // CTAs that must fit on an SM, if there is no register cap
constexpr bool copies_run_ahead = true;
constexpr bool waits_for_launches = true;
enum class QueryOperand { global, registers, smem };
constexpr QueryOperand q_operand = QueryOperand::registers;
constexpr int m_step = 16;                              // rows from one of the m_tiles to the next
constexpr int row_chunks = head_dim / 16;               // chunks of 16 codes in a row
constexpr int tile_bytes = 4096;               // of a key tile in shared memory
constexpr int q_bytes = 4096;                     // of the query tile

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

constexpr int half_steps = 2;  // e4m3 products of depth 32
constexpr int halves = head_dim / 64;
// 16 rows of a, 64 codes of each.
typedef u32 RowsHalf[half_steps][4];

// Codes of depth 32 j .. 32 j + 31 as the products' operand. The f16 product of step 2 j takes codes 0, 1 of
// each register for its first eight depths and codes 2, 3 for the others; b rows are dealt out in the same
// order.
__device__ __forceinline__ void set_rows(RowsHalf& rows, int j, const e4m3x4 (&codes)[4]) {
#pragma unroll
  for (int i = 0; i < 4; ++i) rows[j][i] = codes[i];
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

// Rows `row` .. `row` + 15 of a shared tile.
__device__ __forceinline__ void load_rows_half(RowsHalf& rows, shared_address tile, int row, int half,
                                               int lane) {
#pragma unroll
  for (int j = 0; j < 2; ++j) {
    e4m3x4 codes[4];
    load_matrices(codes, chunk_address(tile, row + lane % 16, 4 * half + 2 * j + lane / 16));
    set_rows(rows, j, codes);
  }
}

// The half of eight rows from `row` on of a shared tile.
__device__ __forceinline__ void load_8_rows_half(e4m3x4 (&codes)[4], shared_address tile, int row, int half,
                                                 int lane) {
  load_matrices(codes, chunk_address(tile, row + lane % 8, 4 * half + lane / 8));
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
    for (int step = 0; step < 2; ++step) {
#pragma unroll
      for (int i = 0; i < interleave; ++i) {
#pragma unroll
        for (int m = 0; m < m_tiles; ++m)
          mma_e4m3(acc[m][n + i], a[m][step], b[i][2 * step], b[i][2 * step + 1]);
      }
    }
  }
}

// What scores have in common on their way out.
typedef float Score;

// Of scales and zero points: there is one for each head.
__device__ __forceinline__ int scale_index(int head) { return head; }

__device__ __forceinline__ float score_scale(const float* q_scales, const float* k_scales, int head) {
  const float scale = q_scales[scale_index(head)] * k_scales[scale_index(head)];
  if constexpr (!false) return scale;
  constexpr float inverse_root = 0.125f;  // 1 / sqrt(D)
  return scale * inverse_root;
}

// Stores of scores, one or several side by side. The vector forms need an address aligned to their size.

__device__ __forceinline__ void store_score(float* to, float first) {
  asm volatile("st.global.f32 [%0], %1;" ::"l"(to), "f"(first) : "memory");
}
__device__ __forceinline__ void store_score(half_bits* to, float first) {
  const half_bits bits = (half_bits)f16x2_from_f32(first, 0.0f);
  asm volatile("st.global.b16 [%0], %1;" ::"l"(to), "h"(bits) : "memory");
}

__device__ __forceinline__ void store_2_scores(float* to, float first, float second) {
  asm volatile("st.global.v2.f32 [%0], {%1, %2};" ::"l"(to), "f"(first), "f"(second) : "memory");
}
__device__ __forceinline__ void store_2_scores(half_bits* to, float first, float second) {
  asm volatile("st.global.b32 [%0], %1;" ::"l"(to), "r"(f16x2_from_f32(first, second)) : "memory");
}

__device__ __forceinline__ void store_4_scores(float* to, float4 scores) {
  asm volatile("st.global.v4.f32 [%0], {%1, %2, %3, %4};" ::"l"(to), "f"(scores.x), "f"(scores.y),
               "f"(scores.z), "f"(scores.w)
               : "memory");
}
__device__ __forceinline__ void store_4_scores(half_bits* to, float4 scores) {
  asm volatile("st.global.v2.b32 [%0], {%1, %2};" ::"l"(to), "r"(f16x2_from_f32(scores.x, scores.y)),
               "r"(f16x2_from_f32(scores.z, scores.w))
               : "memory");
}

// Four neighbouring scores of a row from key `key` on: at once where a row's length keeps them aligned, else
// one by one.
__device__ __forceinline__ void store_row_part(Score* row, int key, int N, float4 scores) {
  if (N % 4 == 0) {
    if (key < N) store_4_scores(row + key, scores);
    return;
  }
  if (key < N) store_score(row + key, scores.x);
  if (key + 1 < N) store_score(row + key + 1, scores.y);
  if (key + 2 < N) store_score(row + key + 2, scores.z);
  if (key + 3 < N) store_score(row + key + 3, scores.w);
}

// The CTA's tile of scores in shared memory, row by row: 16 bytes more than a row spread the rows over the banks.
constexpr int staged_row_bytes = tile_n * 4 + 16;

// Successive threads store successive parts of a row.
__device__ __forceinline__ void store_staged(Score* s, shared_address staging, float scale, int first_row,
                                             int first_key, int M, int N) {
  constexpr int parts = tile_n / 4;
#pragma unroll 8  // parts on their way at a time
  for (int i = 0; i < (tile_m * parts + threads - 1) / threads; ++i) {
    const int item = threadIdx.x + i * threads;
    const int row = item / parts;
    const int part = item % parts;
    if (tile_m * parts % threads != 0 && row >= tile_m) break;
    if (first_row + row >= M) break;
    float4 scores = load_shared_f32x4(staging + row * staged_row_bytes + part * 16);
    scores = make_float4(scores.x * scale, scores.y * scale, scores.z * scale, scores.w * scale);
    store_row_part(s + (long long)(first_row + row) * N, first_key + 4 * part, N, scores);
  }
}


// Neighbouring lanes exchange halves of two tiles of 8 keys, so that each stores four neighbouring scores:
// even lanes of a quad have those of the first tile, odd lanes those of the second.
__device__ __forceinline__ void store_scores(Score* s, const float (&scores)[m_tiles][n_tiles][4],
                                             float scale, int first_row, int first_key, int warp_row,
                                             int warp_key, int M, int N, int lane, shared_address) {
  const bool odd = lane % 2 != 0;
#pragma unroll
  for (int m = 0; m < m_tiles; ++m) {
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      const int row = first_row + warp_row + m_step * m + 8 * r + lane / 4;
#pragma unroll
      for (int n = 0; n < n_tiles; n += 2) {
        float kept[2];
        float got[2];
#pragma unroll
        for (int i = 0; i < 2; ++i) {
          const float in_first = scores[m][n][2 * r + i] * scale;
          const float in_second = scores[m][n + 1][2 * r + i] * scale;
          kept[i] = odd ? in_second : in_first;
          got[i] = __shfl_xor_sync(0xffffffffu, odd ? in_first : in_second, 1);
        }
        const float4 four = odd ? make_float4(got[0], got[1], kept[0], kept[1])
                                : make_float4(kept[0], kept[1], got[0], got[1]);
        const int key = first_key + warp_key + 8 * (n + lane % 2) + 4 * (lane % 4 / 2);
        if (row < M) store_row_part(s + (long long)row * N, key, N, four);
      }
    }
  }
}

extern "C" __global__ void __launch_bounds__(threads, min_blocks)
    fp8_qkt(const e4m3* __restrict__ q, const e4m3* __restrict__ k, const float* __restrict__ q_scale,
            const float* __restrict__ k_scale, Score* __restrict__ s, int M, int N) {
  // Where a thread's warp stands, where the CTA's tiles lie, and the copies that go ahead.
  extern __shared__ __align__(128) unsigned char smem_storage[];
  const int lane = threadIdx.x % 32;
  const int warp = threadIdx.x / 32;
  const int warp_row = warp % warps_m * 16 * m_tiles;
  const int warp_key = warp / warps_m * 8 * n_tiles;
  const int head = blockIdx.z;
  constexpr bool keys_first = true;
  const int first_row = (keys_first ? blockIdx.y : blockIdx.x) * tile_m;
  const int first_tile = (keys_first ? blockIdx.x : blockIdx.y) * walk;
  const shared_address smem = shared_address_of(smem_storage);
  const shared_address k_tiles = smem + q_bytes;
  const shared_address staging = k_tiles + stages * tile_bytes;

  if constexpr (waits_for_launches) {
    wait_for_launch_ahead();
    start_launch_behind();
  }
  const unsigned char* q_head = q + (long long)head * M * head_dim;
  const unsigned char* k_head = k + (long long)head * N * head_dim;
  Score* s_head = s + (long long)head * M * N;
  const int tiles = min(walk, (N + tile_n - 1) / tile_n - first_tile);

  if constexpr (q_operand != QueryOperand::global) {
    copy_tile<tile_m, threads>(smem, q_head, first_row, M, threadIdx.x);
    if constexpr (copies_run_ahead) commit_copies();
  }
  // Tile i goes to stage i % stages. Groups are closed for tiles past the last too, so that counting them is the same
  // all the way.
  const auto start_copy = [&](int i, int stage) {
    if (i < tiles) {
      copy_tile<tile_n, threads>(k_tiles + stage * tile_bytes, k_head, (first_tile + i) * tile_n, N, threadIdx.x);
    }
    commit_copies();
  };
  if constexpr (copies_run_ahead) {
#pragma unroll
    for (int stage = 0; stage < stages; ++stage) start_copy(stage, stage);
  }

  const float scale = score_scale(q_scale, k_scale, head);

  RowsHalf query[halves][m_tiles];
  if constexpr (q_operand == QueryOperand::global) {
    load_all_rows(query, [&](RowsHalf& rows, int m, int half) {
      load_rows_half(rows, q_head, first_row + warp_row + 16 * m, M, half, lane);
    });
  } else if constexpr (q_operand == QueryOperand::registers) {
    if constexpr (copies_run_ahead) wait_for_copies<stages>();
    __syncthreads();
    load_all_rows(query, [&](RowsHalf& rows, int m, int half) {
      load_rows_half(rows, smem, warp_row + 16 * m, half, lane);
    });
  }

  int stage = 0;
#pragma unroll 1
  for (int i = 0; i < (walk > 1 ? tiles : 1); ++i) {  // of at least one
    const int first_key = (first_tile + i) * tile_n;
    const shared_address k_tile = k_tiles + stage * tile_bytes;
    if constexpr (copies_run_ahead) {
      wait_for_copies<stages - 1>();
      __syncthreads();
    } else {
      if constexpr (walk > 1) __syncthreads();  // the tile before is done with
      copy_tile<tile_n, threads>(k_tile, k_head, first_key, N, threadIdx.x);
      __syncthreads();
    }

    float scores[m_tiles][n_tiles][4] = {};
#pragma unroll
    for (int half = 0; half < halves; ++half) {
      const auto load_keys = [&](e4m3x4(&codes)[4], int n) {
        load_8_rows_half(codes, k_tile, warp_key + 8 * n, half, lane);
      };
      if constexpr (q_operand == QueryOperand::smem) {
#pragma unroll
        for (int m = 0; m < m_tiles; ++m) load_rows_half(query[half][m], smem, warp_row + 16 * m, half, lane);
      }
      multiply_half(scores, query[half], load_keys);
    }
    if constexpr (copies_run_ahead && walk > 1) {
      if (i + stages < tiles) __syncthreads();  // every warp is done with the stage
      start_copy(i + stages, stage);
    }
    store_scores(s_head, scores, scale, first_row, first_key, warp_row, warp_key, M, N, lane, staging);
    stage = stage + 1 == stages ? 0 : stage + 1;
  }
}
