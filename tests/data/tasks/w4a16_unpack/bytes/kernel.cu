__device__ __forceinline__ float to_float(unsigned short bits) {
  float value;
  asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(bits));
  return value;
}
__device__ __forceinline__ unsigned short to_half(float value) {
  unsigned short bits;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(value));
  return bits;
}

extern "C" __global__ void unpack(const unsigned char* codes, const unsigned short* scales, const unsigned char* zeros,
                                  unsigned short* weights, int n, int k, int g) {
  const int bytes = n * (k / 2);
#pragma unroll
  for (int turn = 0; turn < ${bytes_each}; ++turn) {
    const int at = (blockIdx.x * ${bytes_each} + turn) * ${threads} + threadIdx.x;
    if (at >= bytes) continue;
    const int row = at / (k / 2), column = at % (k / 2) * 2;
    const int group = row * (k / g) + column / g;
    const float scale = to_float(scales[group]);
    const int zero = zeros[group], byte = codes[at];
    const unsigned short low = to_half(((byte & 15) - zero) * scale), high = to_half(((byte >> 4) - zero) * scale);
//% if store == 'pairs'
    reinterpret_cast<unsigned*>(weights)[at] = low | (unsigned)high << 16;
//% else
    weights[2 * at] = low;
    weights[2 * at + 1] = high;
//% end
  }
}
