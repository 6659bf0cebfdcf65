// Sums of n numbers: shuffles, cooperative groups, CUB, f64, the threadfence pattern.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
#include <cub/cub.cuh>

namespace cg = cooperative_groups;

extern "C" __global__ void sum_shuffle(float* out, const float* in, int n) {
  float sum = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) sum += in[i];
  for (int step = 16; step > 0; step /= 2) sum += __shfl_down_sync(0xffffffffu, sum, step);
  __shared__ float of_warp[32];
  if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = sum;
  __syncthreads();
  if (threadIdx.x >= 32) return;
  sum = threadIdx.x < blockDim.x / 32 ? of_warp[threadIdx.x] : 0;
  for (int step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, step);
  if (threadIdx.x == 0) atomicAdd(out, sum);
}

extern "C" __global__ void sum_groups(int* out, const int* in, int n) {
  const cg::thread_block block = cg::this_thread_block();
  const auto warp = cg::tiled_partition<32>(block);
  const auto quarter = cg::tiled_partition<8>(warp);
  int sum = 0;
  for (int i = cg::this_grid().thread_rank(); i < n; i += cg::this_grid().size()) sum += in[i];
  const int of_quarter = cg::reduce(quarter, sum, cg::plus<int>());
  const int of_warp = cg::reduce(warp, quarter.thread_rank() == 0 ? of_quarter : 0, cg::plus<int>());
  if (warp.thread_rank() == 0) atomicAdd(&out[0], of_warp);
  atomicMax(&out[1], cg::reduce(warp, sum, cg::greater<int>()));
  if (sum % 2 != 0) {  // One of the lanes with odd sums counts them.
    const cg::coalesced_group odd = cg::coalesced_threads();
    if (odd.thread_rank() == 0) atomicAdd(&out[2], odd.size());
  }
  const int before = cg::exclusive_scan(warp, 1);
  if (before != warp.thread_rank()) atomicAdd(&out[3], 1);
  const auto labeled = cg::labeled_partition(warp, threadIdx.x % 3);
  if (labeled.thread_rank() == 0) atomicAdd(&out[4], labeled.size());
  block.sync();
}

extern "C" __global__ void sum_cub(float* out, const float* in, int n) {
  using Reduce = cub::BlockReduce<float, 128>;
  __shared__ typename Reduce::TempStorage storage;
  const int i = blockIdx.x * 128 + threadIdx.x;
  const float sum = Reduce(storage).Sum(i < n ? in[i] : 0.0f);
  if (threadIdx.x == 0) out[blockIdx.x] = sum;
}

// The last block to end adds the blocks' sums up.
__device__ unsigned blocks_done = 0;
extern "C" __global__ void sum_f64_last_block(double* out, double* of_block, const double* in, int n) {
  __shared__ double part[256];
  double sum = 0;
  for (int i = blockIdx.x * 256 + threadIdx.x; i < n; i += gridDim.x * 256) sum += in[i];
  part[threadIdx.x] = sum;
  for (int step = 128; step > 0; step /= 2) {
    __syncthreads();
    if (threadIdx.x < step) part[threadIdx.x] += part[threadIdx.x + step];
  }
  __shared__ bool last;
  if (threadIdx.x == 0) {
    of_block[blockIdx.x] = part[0];
    __threadfence();
    last = atomicInc(&blocks_done, gridDim.x - 1) == gridDim.x - 1;
  }
  __syncthreads();
  if (!last || threadIdx.x != 0) return;
  double all = 0;
  for (int i = 0; i < gridDim.x; ++i) all += reinterpret_cast<volatile double*>(of_block)[i];
  *out = all;
}

// Warp intrinsics: redux, ballot, match, any and all.
extern "C" __global__ void warp_votes(unsigned* out, const unsigned* in) {
  const unsigned x = in[threadIdx.x], lane = threadIdx.x % 32;
  unsigned* row = out + 10 * threadIdx.x;
  row[0] = __reduce_add_sync(0xffffffffu, x);
  row[1] = __reduce_min_sync(0xffffffffu, x);
  row[2] = static_cast<unsigned>(__reduce_max_sync(0xffffffffu, static_cast<int>(x)));
  row[3] = __reduce_xor_sync(0xffffffffu, x);
  row[4] = __ballot_sync(0xffffffffu, x % 3 == 0);
  row[5] = __match_any_sync(0xffffffffu, x % 4);
  int same = 0;
  row[6] = __match_all_sync(0xffffffffu, x / 1000, &same) + same;
  row[7] = __any_sync(0xffffffffu, x == 7) * 2 + __all_sync(0xffffffffu, x < 1000);
  row[8] = __shfl_up_sync(0xffffffffu, x, 3, 16);
  row[9] = lane % 2 != 0 ? __reduce_or_sync(0xaaaaaaaau, x) : __reduce_and_sync(0x55555555u, x);
}
