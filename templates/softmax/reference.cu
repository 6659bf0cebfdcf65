// y = softmax(x) over rows of ${M} elements${causal ? ', causal' : ''}${logarithm ? ', or its logarithm' : ''}: one CTA for each row, in double
// precision on the exactly decoded elements.

#include "include/reference/elements.cuh"

extern "C" __global__ void softmax_reference(const Element* x, float* y, int N) {
  constexpr int M = ${M};
  __shared__ double of_thread[128];
  const long long row = (long long)blockIdx.x * M;
  constexpr bool logarithm = ${logarithm};
  const double unseen = logarithm ? -INFINITY : 0;
  constexpr bool causal = ${causal};
  const int visible = causal ? min(max((int)(blockIdx.x % N) + M - N + 1, 0), M) : M;
  double own_max = -1e300;
  for (int column = threadIdx.x; column < visible; column += 128) own_max = fmax(own_max, decode(x[row + column]));
  of_thread[threadIdx.x] = own_max;
  __syncthreads();
  double row_max = -1e300;
  for (int i = 0; i < 128; ++i) row_max = fmax(row_max, of_thread[i]);
  __syncthreads();
  double own_sum = 0;
  for (int column = threadIdx.x; column < visible; column += 128) own_sum += exp(decode(x[row + column]) - row_max);
  of_thread[threadIdx.x] = own_sum;
  __syncthreads();
  double row_sum = 0;
  for (int i = 0; i < 128; ++i) row_sum += of_thread[i];
  for (int column = threadIdx.x; column < M; column += 128) {
    const double exponent = decode(x[row + column]) - row_max;
    const double result = logarithm ? exponent - log(row_sum) : exp(exponent) / row_sum;
    y[row + column] = (float)(column < visible ? result : unseen);
  }
}
