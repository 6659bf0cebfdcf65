// y = (x - mean) / sqrt(variance + epsilon) * weight + bias: one CTA for each row, in double precision on the exactly
// decoded elements.

#include "include/reference/elements.cuh"

// The sum over the 128 threads of the CTA; every thread gets it.
__device__ double sum_of_threads(double own) {
  __shared__ double of_thread[128];
  __syncthreads();
  of_thread[threadIdx.x] = own;
  __syncthreads();
  double sum = 0;
  for (int i = 0; i < 128; ++i) sum += of_thread[i];
  return sum;
}

extern "C" __global__ void layer_norm_reference(const Element* x, const Element* weight, const Element* bias,
                                                float* y, float epsilon) {
  constexpr int M = ${M};
  const long long row = (long long)blockIdx.x * M;
  double own_sum = 0;
  for (int column = threadIdx.x; column < M; column += 128) own_sum += decode(x[row + column]);
  const double mean = sum_of_threads(own_sum) / M;
  double own_squares = 0;
  for (int column = threadIdx.x; column < M; column += 128) {
    const double deviation = decode(x[row + column]) - mean;
    own_squares += deviation * deviation;
  }
  const double inverse_deviation = 1.0 / sqrt(sum_of_threads(own_squares) / M + (double)epsilon);
  for (int column = threadIdx.x; column < M; column += 128) {
    const double normalised = (decode(x[row + column]) - mean) * inverse_deviation;
    const double shift = bias != nullptr ? decode(bias[column]) : 0;
    y[row + column] = (float)(normalised * decode(weight[column]) + shift);
  }
}
