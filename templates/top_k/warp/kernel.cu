// top_k/warp: a warp for each row. A lane knows the best of its elements; that of all lanes is the next result, and its
// lane looks for the best one behind it.

#include "include/types.cuh"
#include "include/convert.cuh"
#include "include/grid_dependency.cuh"

#include "include/elements.cuh"
#include "include/scalars.cuh"
#include "top_k/ranks.cuh"

constexpr int results = ${K};
constexpr int cta_warps = ${cta_warps};
constexpr bool waits_for_launches = ${dependent_launch && pdl};

// The best of a lane's elements that is behind `limit`.
__device__ __forceinline__ Rank best_behind(const Element* row, int M, Rank limit) {
  Rank best = 0;
#pragma unroll ${batch}
  for (int i = threadIdx.x % 32; i < M; i += 32) {
    const Rank rank = rank_of(value_of(row[i]), i);
    if (rank < limit && rank > best) best = rank;
  }
  return best;
}

extern "C" __global__ void __launch_bounds__(32 * cta_warps) top_k(const Element* __restrict__ x,
                                                                   Element* __restrict__ value,
                                                                   long long* __restrict__ index, int N, int M) {
  if constexpr (waits_for_launches) {
    wait_for_launch_ahead();
    start_launch_behind();
  }
  const int row = blockIdx.x * cta_warps + (int)threadIdx.x / 32;
  if (row >= N) return;
  const Element* of_row = x + (long long)row * M;
  Rank own = best_behind(of_row, M, ~(Rank)0);
#pragma unroll 1
  for (int i = 0; i < results; ++i) {
    Rank best = own;
#pragma unroll
    for (int mask = 16; mask > 0; mask /= 2) best = max(best, __shfl_xor_sync(0xffffffffu, best, mask));
    if (best != own) continue;
    value[(long long)row * results + i] = of_row[index_of(best)];
    index[(long long)row * results + i] = index_of(best);
    own = best_behind(of_row, M, best);
  }
}
