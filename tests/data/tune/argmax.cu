// Which of equal values is found depends on the genes.
__device__ void take_better(float& value, int& index, float other, int other_index) {
  if (other > value) {
    value = other;
    index = other_index;
  }
}

__global__ void argmax(const float* x, int* index, float* largest, int m) {
  __shared__ float values[block_size_x];
  __shared__ int indices[block_size_x];
  const float* row = x + (size_t)blockIdx.x * m;
  float value = __int_as_float(0xff800000);
  int at = 0;
#pragma unroll UNROLL
  for (int i = threadIdx.x; i < m; i += block_size_x) take_better(value, at, row[i], i);
  values[threadIdx.x] = value;
  indices[threadIdx.x] = at;
  __syncthreads();
  for (int half = block_size_x / 2; half > 0; half /= 2) {
    if (threadIdx.x < half)
      take_better(values[threadIdx.x], indices[threadIdx.x], values[threadIdx.x + half], indices[threadIdx.x + half]);
    __syncthreads();
  }
  if (threadIdx.x == 0) {
    index[blockIdx.x] = indices[0];
    largest[blockIdx.x] = values[0];
  }
}

__global__ void argmax_naive(const float* x, int* index, float* largest, int m) {
  if (threadIdx.x > 0) return;
  const float* row = x + (size_t)blockIdx.x * m;
  int best = 0;
  for (int i = 1; i < m; ++i)
    if (row[i] > row[best]) best = i;
  index[blockIdx.x] = best;
  largest[blockIdx.x] = row[best];
}
