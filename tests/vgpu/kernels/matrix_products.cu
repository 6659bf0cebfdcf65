// C (m x n) = A (m x k) B (k x n), row-major, four ways.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <mma.h>

extern "C" __global__ void matmul_naive(float* c, const float* a, const float* b, int m, int n, int k) {
  const int col = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
  if (row >= m || col >= n) return;
  float sum = 0;
  for (int i = 0; i < k; ++i) sum += a[row * k + i] * b[i * n + col];
  c[row * n + col] = sum;
}

template <int kTile>
__global__ void matmul_tiled(float* c, const float* a, const float* b, int m, int n, int k) {
  __shared__ float a_tile[kTile][kTile], b_tile[kTile][kTile + 1];
  const int row = blockIdx.y * kTile + threadIdx.y, col = blockIdx.x * kTile + threadIdx.x;
  float sum = 0;
  for (int at = 0; at < k; at += kTile) {
    a_tile[threadIdx.y][threadIdx.x] = row < m && at + threadIdx.x < k ? a[row * k + at + threadIdx.x] : 0.0f;
    b_tile[threadIdx.y][threadIdx.x] = col < n && at + threadIdx.y < k ? b[(at + threadIdx.y) * n + col] : 0.0f;
    __syncthreads();
#pragma unroll
    for (int i = 0; i < kTile; ++i) sum += a_tile[threadIdx.y][i] * b_tile[i][threadIdx.x];
    __syncthreads();
  }
  if (row < m && col < n) c[row * n + col] = sum;
}
template __global__ void matmul_tiled<16>(float*, const float*, const float*, int, int, int);

// One warp, one 16x16 tile of C; T is half or __nv_bfloat16.
template <class T>
__device__ void wmma_tile(float* c, const T* a, const T* b, int n, int k) {
  using namespace nvcuda;
  wmma::fragment<wmma::matrix_a, 16, 16, 16, T, wmma::row_major> a_part;
  wmma::fragment<wmma::matrix_b, 16, 16, 16, T, wmma::row_major> b_part;
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum;
  wmma::fill_fragment(sum, 0.0f);
  const int row = blockIdx.y * 16, col = blockIdx.x * 16;
  for (int at = 0; at < k; at += 16) {
    wmma::load_matrix_sync(a_part, a + row * k + at, k);
    wmma::load_matrix_sync(b_part, b + at * n + col, n);
    wmma::mma_sync(sum, a_part, b_part, sum);
  }
  wmma::store_matrix_sync(c + row * n + col, sum, n, wmma::mem_row_major);
}
extern "C" __global__ void matmul_wmma_half(float* c, const half* a, const half* b, int n, int k) { wmma_tile(c, a, b, n, k); }
extern "C" __global__ void matmul_wmma_bf16(float* c, const __nv_bfloat16* a, const __nv_bfloat16* b, int n, int k) {
  wmma_tile(c, a, b, n, k);
}

// f16 accumulators, B column-major, the result column-major, through 32x8x16 fragments.
extern "C" __global__ void matmul_wmma_f16_sum(half* c, const half* a, const half* b, int k) {
  using namespace nvcuda;
  wmma::fragment<wmma::matrix_a, 32, 8, 16, half, wmma::row_major> a_part;
  wmma::fragment<wmma::matrix_b, 32, 8, 16, half, wmma::col_major> b_part;
  wmma::fragment<wmma::accumulator, 32, 8, 16, half> sum;
  wmma::fill_fragment(sum, __float2half(0.0f));
  for (int at = 0; at < k; at += 16) {
    wmma::load_matrix_sync(a_part, a + at, k);
    wmma::load_matrix_sync(b_part, b + at, k);
    wmma::mma_sync(sum, a_part, b_part, sum);
  }
  wmma::store_matrix_sync(c, sum, 32, wmma::mem_col_major);
}

extern "C" __global__ void matmul_wmma_s8(int* c, const signed char* a, const signed char* b, int n, int k) {
  using namespace nvcuda;
  wmma::fragment<wmma::matrix_a, 16, 16, 16, signed char, wmma::row_major> a_part;
  wmma::fragment<wmma::matrix_b, 16, 16, 16, signed char, wmma::row_major> b_part;
  wmma::fragment<wmma::accumulator, 16, 16, 16, int> sum;
  wmma::fill_fragment(sum, 0);
  for (int at = 0; at < k; at += 16) {
    wmma::load_matrix_sync(a_part, a + blockIdx.y * 16 * k + at, k);
    wmma::load_matrix_sync(b_part, b + at * n + blockIdx.x * 16, n);
    wmma::mma_sync(sum, a_part, b_part, sum);
  }
  wmma::store_matrix_sync(c + blockIdx.y * 16 * n + blockIdx.x * 16, sum, n, wmma::mem_row_major);
}

extern "C" __global__ void matmul_wmma_tf32(float* c, const float* a, const float* b, int n, int k) {
  using namespace nvcuda;
  wmma::fragment<wmma::matrix_a, 16, 16, 8, wmma::precision::tf32, wmma::row_major> a_part;
  wmma::fragment<wmma::matrix_b, 16, 16, 8, wmma::precision::tf32, wmma::row_major> b_part;
  wmma::fragment<wmma::accumulator, 16, 16, 8, float> sum;
  wmma::fill_fragment(sum, 0.0f);
  for (int at = 0; at < k; at += 8) {
    wmma::load_matrix_sync(a_part, a + blockIdx.y * 16 * k + at, k);
    wmma::load_matrix_sync(b_part, b + at * n + blockIdx.x * 16, n);
    for (int i = 0; i < a_part.num_elements; ++i) a_part.x[i] = wmma::__float_to_tf32(a_part.x[i]);
    for (int i = 0; i < b_part.num_elements; ++i) b_part.x[i] = wmma::__float_to_tf32(b_part.x[i]);
    wmma::mma_sync(sum, a_part, b_part, sum);
  }
  wmma::store_matrix_sync(c + blockIdx.y * 16 * n + blockIdx.x * 16, sum, n, wmma::mem_row_major);
}

extern "C" __global__ void matmul_wmma_f64(double* c, const double* a, const double* b, int n, int k) {
  using namespace nvcuda;
  wmma::fragment<wmma::matrix_a, 8, 8, 4, double, wmma::row_major> a_part;
  wmma::fragment<wmma::matrix_b, 8, 8, 4, double, wmma::row_major> b_part;
  wmma::fragment<wmma::accumulator, 8, 8, 4, double> sum;
  wmma::fill_fragment(sum, 0.0);
  for (int at = 0; at < k; at += 4) {
    wmma::load_matrix_sync(a_part, a + blockIdx.y * 8 * k + at, k);
    wmma::load_matrix_sync(b_part, b + at * n + blockIdx.x * 8, n);
    wmma::mma_sync(sum, a_part, b_part, sum);
  }
  wmma::store_matrix_sync(c + blockIdx.y * 8 * n + blockIdx.x * 8, sum, n, wmma::mem_row_major);
}

// One tile with C in half and the result in float, and the other way round.
template <class D, class C>
__device__ void wmma_mixed(D* d, const half* a, const half* b, const C* c) {
  using namespace nvcuda;
  wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> a_part;
  wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> b_part;
  wmma::fragment<wmma::accumulator, 16, 16, 16, C> before;
  wmma::fragment<wmma::accumulator, 16, 16, 16, D> sum;
  wmma::load_matrix_sync(a_part, a, 16);
  wmma::load_matrix_sync(b_part, b, 16);
  wmma::load_matrix_sync(before, c, 16, wmma::mem_row_major);
  wmma::mma_sync(sum, a_part, b_part, before);
  wmma::store_matrix_sync(d, sum, 16, wmma::mem_row_major);
}
extern "C" __global__ void matmul_wmma_half_c(float* d, const half* a, const half* b, const half* c) { wmma_mixed(d, a, b, c); }
extern "C" __global__ void matmul_wmma_half_d(half* d, const half* a, const half* b, const float* c) { wmma_mixed(d, a, b, c); }

// 8 x 8 counts of bits that rows of A and columns of B both have, plus 7, then of those that differ, plus 7.
extern "C" __global__ void multiply_bits(int* d, const unsigned* a, const unsigned* b) {
  asm volatile(
      "{ .reg .b32 a, b, c<2>, d<2>;\n"
      "wmma.load.a.sync.aligned.row.m8n8k128.global.b1 {a}, [%1], 128;\n"
      "wmma.load.b.sync.aligned.col.m8n8k128.global.b1 {b}, [%2], 128;\n"
      "mov.b32 c0, 7; mov.b32 c1, 7;\n"
      "wmma.mma.and.popc.sync.aligned.row.col.m8n8k128.s32.b1.b1.s32 {d0, d1}, {a}, {b}, {c0, c1};\n"
      "wmma.store.d.sync.aligned.row.m8n8k128.global.s32 [%0], {d0, d1}, 8;\n"
      "wmma.mma.xor.popc.sync.aligned.row.col.m8n8k128.s32.b1.b1.s32 {d0, d1}, {a}, {b}, {c0, c1};\n"
      "wmma.store.d.sync.aligned.row.m8n8k128.global.s32 [%0+256], {d0, d1}, 8; }\n"
      :: "l"(d), "l"(a), "l"(b) : "memory");
}
