// Loss and lse of rows of logits: one CTA for each row, in double precision on the exactly decoded elements.

#include "include/reference/elements.cuh"

constexpr int threads = 256;

extern "C" __global__ void cross_entropy_reference(const Element* logits, const long long* target, float* loss,
                                                   float* lse, int V, float z_loss, int ignore_index) {
  __shared__ double of_thread[threads];
  const Element* row = logits + (long long)blockIdx.x * V;
  // Of a row of minus infinity alone the sum is 0 and lse minus infinity; with plus infinity in it, it is NaN.
  double own_max = -1e300;
  for (int column = threadIdx.x; column < V; column += threads) own_max = fmax(own_max, decode(row[column]));
  of_thread[threadIdx.x] = own_max;
  __syncthreads();
  double row_max = -1e300;
  for (int i = 0; i < threads; ++i) row_max = fmax(row_max, of_thread[i]);
  __syncthreads();
  double own_sum = 0;
  for (int column = threadIdx.x; column < V; column += threads) own_sum += exp(decode(row[column]) - row_max);
  of_thread[threadIdx.x] = own_sum;
  __syncthreads();
  if (threadIdx.x > 0) return;
  double row_sum = 0;
  for (int i = 0; i < threads; ++i) row_sum += of_thread[i];
  const double log_sum = row_max + log(row_sum);
  const long long index = target[blockIdx.x];
  const bool ignored = index == ignore_index || index < 0 || index >= V;
  lse[blockIdx.x] = (float)log_sum;
  loss[blockIdx.x] = ignored ? 0.0f : (float)(log_sum - decode(row[index]) + (double)z_loss * log_sum * log_sum);
}
