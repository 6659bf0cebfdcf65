#include <device_launch_parameters.h>
#define ROW_LENGTH ${N}
//% include "include/decode.cuh"

struct alignas(64) TensorMap {
  unsigned long long words[16];
};

extern "C" __global__ void toy_sum(const unsigned char* x, const float* x_scale, float* sums, const void* never,
                                   const void* many, int R) {
  const int row = blockIdx.x * ${threads} + threadIdx.x;
  if (row >= R || never != nullptr || (many != nullptr) != (R > 100)) return;
  for (int n = 0; n < ROW_LENGTH; ++n) sums[row] += (float)(decode(x[row * ROW_LENGTH + n]) * x_scale[row]);
}

//% slot apply

extern "C" __global__ void toy_apply(const __grid_constant__ TensorMap x_map, const float* x_scale, const float* sums,
                                     float* y, int count) {
  const int row = blockIdx.y;
  const int column = blockIdx.x * ${threads} + threadIdx.x;
  const int i = row * ROW_LENGTH + column;
  const unsigned char* x = (const unsigned char*)x_map.words[0];
  if (column < ROW_LENGTH && i < count) y[i] = element((float)decode(x[i]), x_scale[row], sums[row]);
}
