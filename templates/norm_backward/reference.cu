// The gradients of ${norm} norm: one CTA goes through all rows, in double precision on the exactly decoded elements.

#include "include/reference/elements.cuh"

constexpr int threads = 512;

// The sum over the threads of the CTA; every thread gets it.
__device__ double sum_of_threads(double own) {
  __shared__ double of_thread[threads];
  __syncthreads();
  of_thread[threadIdx.x] = own;
  for (int distance = threads / 2; distance > 0; distance /= 2) {
    __syncthreads();
    if (threadIdx.x < distance) of_thread[threadIdx.x] += of_thread[threadIdx.x + distance];
  }
  __syncthreads();
  return of_thread[0];
}

extern "C" __global__ void norm_backward_reference(const Element* x, const Element* weight, const Element* dy,
                                                   float* dx, float* dweight, float* dbias, int N, float epsilon) {
  constexpr int M = ${M};
  constexpr bool centred = ${norm == 'layer'};
  double weight_sum[(M + threads - 1) / threads] = {};
  double bias_sum[(M + threads - 1) / threads] = {};
  for (int row = 0; row < N; ++row) {
    const Element* x_row = x + (long long)row * M;
    const Element* dy_row = dy + (long long)row * M;
    double own = 0;
    for (int column = threadIdx.x; column < M; column += threads) own += decode(x_row[column]);
    const double mean = centred ? sum_of_threads(own) / M : 0;
    own = 0;
    for (int column = threadIdx.x; column < M; column += threads) {
      const double deviation = decode(x_row[column]) - mean;
      own += deviation * deviation;
    }
    const double inverse = 1.0 / sqrt(sum_of_threads(own) / M + (double)epsilon);
    // Of dy times weight: the mean, and the mean of the product with the normalised row.
    double own_gradient = 0, own_product = 0;
    for (int column = threadIdx.x; column < M; column += threads) {
      const double gradient = decode(dy_row[column]) * decode(weight[column]);
      own_gradient += gradient;
      own_product += gradient * (decode(x_row[column]) - mean) * inverse;
    }
    const double mean_gradient = centred ? sum_of_threads(own_gradient) / M : 0;
    const double mean_product = sum_of_threads(own_product) / M;
    for (int column = threadIdx.x, slot = 0; column < M; column += threads, ++slot) {
      const double normalised = (decode(x_row[column]) - mean) * inverse;
      const double gradient = decode(dy_row[column]) * decode(weight[column]);
      const double result = inverse * (gradient - mean_gradient - normalised * mean_product);
      dx[(long long)row * M + column] = (float)result;
      weight_sum[slot] += decode(dy_row[column]) * normalised;
      bias_sum[slot] += decode(dy_row[column]);
    }
  }
  for (int column = threadIdx.x, slot = 0; column < M; column += threads, ++slot) {
    dweight[column] = (float)weight_sum[slot];
    if (dbias != nullptr) dbias[column] = (float)bias_sum[slot];
  }
}
