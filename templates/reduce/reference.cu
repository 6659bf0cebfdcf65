// ${op} over ${axis}: one CTA for each result, whose elements begin at its number times `first` and lie `step` apart.

#include "include/reference/elements.cuh"

constexpr int threads = 256;
constexpr bool sums = ${op == 'sum'};
constexpr bool greatest = ${op in ('max', 'argmax')};

// Whether a value takes the place of the best so far: NaN before all others, of equal ones the lowest index.
__device__ bool is_better(double value, unsigned long long at, double best, unsigned long long best_at) {
  if (isnan(value) != isnan(best)) return isnan(value);
  if (isnan(value) || value == best) return at < best_at;
  return greatest ? value > best : value < best;
}

extern "C" __global__ void reduce_reference(const Element* x, const Element* x_bits, float* y, long long* index,
                                            unsigned long long elements, unsigned long long first,
                                            unsigned long long step) {
  __shared__ double of_thread[threads];
  __shared__ unsigned long long at_of_thread[threads];
  const Element* from = (x != nullptr ? x : x_bits) + blockIdx.x * first;
  double best = greatest ? -INFINITY : INFINITY, sum = 0;
  unsigned long long best_at = elements;
  for (unsigned long long i = threadIdx.x; i < elements; i += threads) {
    const double value = decode(from[i * step]);
    sum += value;
    if (!is_better(value, i, best, best_at)) continue;
    best = value;
    best_at = i;
  }
  of_thread[threadIdx.x] = sums ? sum : best;
  at_of_thread[threadIdx.x] = best_at;
  __syncthreads();
  if (threadIdx.x > 0) return;
  for (int i = 1; i < threads; ++i) {
    sum += of_thread[i];
    if (sums || !is_better(of_thread[i], at_of_thread[i], best, best_at)) continue;
    best = of_thread[i];
    best_at = at_of_thread[i];
  }
  if (y != nullptr) y[blockIdx.x] = (float)(sums ? sum : best);
  if (index != nullptr) index[blockIdx.x] = best_at;
}
