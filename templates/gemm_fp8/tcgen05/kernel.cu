// gemm_fp8/tcgen05: c = a b^T with e4m3 a [M, K], b [N, K] and bf16 c; scales: ${scaling}. A CTA makes a tile of
// 128 x ${tile_n} elements in tensor memory: a producer brings operands with TMA, one thread multiplies them, and four
// warps scale and store the sums.
#include "include/types.cuh"
#include "include/convert.cuh"
#include "include/memory.cuh"
#include "include/mbarrier.cuh"
#include "include/tma.cuh"
#include "include/tensor_memory.cuh"
#include "include/grid_dependency.cuh"

enum class Scaling { tensor, rows };
constexpr Scaling scaling = Scaling::${scaling};
constexpr int tile_m = 128;
constexpr int tile_n = ${tile_n};
constexpr int tile_k = ${tile_k};        // codes
constexpr int stages = ${stages};
constexpr int columns = ${columns};       // of tensor memory
constexpr int threads = ${threads};       // four warps of the epilogue, the producer's, the multiplier's
constexpr int min_blocks = ${min_blocks};  // that must fit on an SM
constexpr int loads = ${loads};          // of 16 columns, under way together
constexpr int a_bytes = tile_m * tile_k;
constexpr int b_bytes = tile_n * tile_k;
typedef half_bits Result;

#include "include/gemm/choices.cuh"
#include "include/gemm/results.cuh"
#include "include/gemm/work.cuh"

// Shared memory: stages x (tile of a, tile of b) | barriers | the address in tensor memory. Rows lie in panels of 128
// codes, swizzled.
struct SharedMemory {
  shared_address start;

  __device__ __forceinline__ shared_address a(int stage) const { return start + stage * (a_bytes + b_bytes); }
  __device__ __forceinline__ shared_address b(int stage) const { return a(stage) + a_bytes; }
  __device__ __forceinline__ shared_address full(int stage) const { return a(stages) + 8 * stage; }
  __device__ __forceinline__ shared_address free(int stage) const { return full(stages + stage); }
  __device__ __forceinline__ shared_address done() const { return full(2 * stages); }
  __device__ __forceinline__ shared_address sums() const { return full(2 * stages + 1); }
};

#include "roles.cuh"

extern "C" __global__ void __launch_bounds__(threads, min_blocks)
    gemm_fp8(const __grid_constant__ TensorMap a_map, const __grid_constant__ TensorMap b_map,
             const float* __restrict__ a_scale, const float* __restrict__ b_scale, Result* __restrict__ c, int M, int N,
             int K) {
  extern __shared__ unsigned char smem_storage[];
  const SharedMemory smem = {(shared_address_of(smem_storage) + 1023) & ~1023u};  // swizzle atoms are 1024 bytes
  const int warp = __shfl_sync(0xffffffffu, threadIdx.x / 32, 0);

  if (threadIdx.x == 0) {
    for (int stage = 0; stage < stages; ++stage) {
      init_barrier(smem.full(stage), 1);
      init_barrier(smem.free(stage), 1);
    }
    init_barrier(smem.done(), 1);
    publish_barriers();
  }
  if (warp == multiplier_warp) allocate_columns(smem.sums(), columns);
  before_tensor_sync();
  __syncthreads();
  after_tensor_sync();
  overlap_launches();

  const tensor_address sums = allocated_columns(smem.sums());
  const TilePlace place = tile_place(blockIdx.x, (M + tile_m - 1) / tile_m, (N + tile_n - 1) / tile_n);
  const int first_row = place.row * tile_m, first_column = place.column * tile_n;
  const int tiles = (K + tile_k - 1) / tile_k;
  if (warp == producer_warp) {
    if (threadIdx.x % 32 == 0) produce(smem, a_map, b_map, first_row, first_column, tiles);
  } else if (warp == multiplier_warp) {
    if (threadIdx.x % 32 == 0) multiply(smem, sums, tiles);
  } else {
    store_results(smem, sums + (warp * 32 << 16), a_scale, b_scale, c, first_row + threadIdx.x, first_column, M, N);
  }
  __syncwarp();
  before_tensor_sync();
  __syncthreads();
  after_tensor_sync();
  if (warp == multiplier_warp) free_columns(sums, columns);
}
