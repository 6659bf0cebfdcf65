#include <cuda_fp16.h>

__global__ void unpack(const unsigned char* codes, const __half* scales, const unsigned char* zeros, __half* weights,
                       int n, int k, int g) {
  const int bytes = n * (k / 2);
  for (int turn = 0; turn < BYTES; ++turn) {
    const int at = (blockIdx.x * BYTES + turn) * block_size_x + threadIdx.x;
    if (at >= bytes) continue;
    const int row = at / (k / 2), column = at % (k / 2) * 2;
    const int group = row * (k / g) + column / g;
    const float scale = __half2float(scales[group]);
    const int zero = zeros[group];
    const float low = ((codes[at] & 15) - zero) * scale, high = ((codes[at] >> 4) - zero) * scale;
#if PAIRS
    reinterpret_cast<__half2*>(weights)[at] = __floats2half2_rn(low, high);
#else
    weights[2 * at] = __float2half(low);
    weights[2 * at + 1] = __float2half(high);
#endif
  }
}

__global__ void unpack_naive(const unsigned char* codes, const __half* scales, const unsigned char* zeros,
                             __half* weights, int n, int k, int g) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n * k; i += gridDim.x * blockDim.x) {
    const int code = i % 2 == 0 ? codes[i / 2] & 15 : codes[i / 2] >> 4;
    weights[i] = __float2half((code - zeros[i / g]) * __half2float(scales[i / g]));
  }
}
