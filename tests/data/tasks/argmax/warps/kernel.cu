__device__ __forceinline__ void take_better(float& value, int& index, float other, int other_index) {
//% if tie == 'first'
  if (other > value || (other == value && other_index < index)) {
//% else
  if (other >= value) {
//% end
    value = other;
    index = other_index;
  }
}

extern "C" __global__ void argmax(const float* x, int* index, float* largest, int m) {
  __shared__ float values[${threads}];
  __shared__ int indices[${threads}];
  const float* row = x + (size_t)blockIdx.x * m;
  float value = __int_as_float(0xff800000);
  int at = 0x7fffffff;
#pragma unroll ${unroll}
  for (int i = threadIdx.x; i < m; i += ${threads}) take_better(value, at, row[i], i);
  values[threadIdx.x] = value;
  indices[threadIdx.x] = at;
  __syncthreads();
  for (int half = ${threads / 2}; half > 0; half /= 2) {
    if (threadIdx.x < half && threadIdx.x + half < m) {
      take_better(value, at, values[threadIdx.x + half], indices[threadIdx.x + half]);
      values[threadIdx.x] = value;
      indices[threadIdx.x] = at;
    }
    __syncthreads();
  }
  if (threadIdx.x == 0) {
    index[blockIdx.x] = at;
    largest[blockIdx.x] = value;
  }
}
