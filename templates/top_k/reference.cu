// The K largest elements of each row, one after another: a CTA finds the first element behind the one before.

#include "include/reference/elements.cuh"

constexpr int threads = 256;

// NaN comes first, then the larger one, of equal ones the lower index.
__device__ bool comes_before(double a, int a_index, double b, int b_index) {
  if (isnan(a) != isnan(b)) return isnan(a);
  if (isnan(a) || a == b) return a_index < b_index;
  return a > b;
}

extern "C" __global__ void top_k_reference(const Element* x, float* value, long long* index, int M) {
  __shared__ double of_thread[threads];
  __shared__ int at_of_thread[threads];
  __shared__ double last;
  __shared__ int last_at;
  const Element* row = x + (long long)blockIdx.x * M;
  if (threadIdx.x == 0) last_at = -1;
  __syncthreads();
  for (int rank = 0; rank < ${K}; ++rank) {
    double best = 0;
    int best_at = -1;
    for (int i = threadIdx.x; i < M; i += threads) {
      const double element = decode(row[i]);
      if (last_at >= 0 && !comes_before(last, last_at, element, i)) continue;
      if (best_at >= 0 && !comes_before(element, i, best, best_at)) continue;
      best = element;
      best_at = i;
    }
    of_thread[threadIdx.x] = best;
    at_of_thread[threadIdx.x] = best_at;
    for (int distance = threads / 2; distance > 0; distance /= 2) {
      __syncthreads();
      const int other = threadIdx.x + distance;
      if (threadIdx.x >= distance || at_of_thread[other] < 0) continue;
      if (at_of_thread[threadIdx.x] >= 0 && comes_before(of_thread[threadIdx.x], at_of_thread[threadIdx.x],
                                                         of_thread[other], at_of_thread[other])) continue;
      of_thread[threadIdx.x] = of_thread[other];
      at_of_thread[threadIdx.x] = at_of_thread[other];
    }
    __syncthreads();
    if (threadIdx.x == 0) {
      last = of_thread[0];
      last_at = at_of_thread[0];
      value[(long long)blockIdx.x * ${K} + rank] = (float)last;
      index[(long long)blockIdx.x * ${K} + rank] = last_at;
    }
    __syncthreads();
  }
}
