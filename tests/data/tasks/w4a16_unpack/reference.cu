__device__ float half_to_float(unsigned short bits) {
  float value;
  asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(bits));
  return value;
}

extern "C" __global__ void unpack_reference(const unsigned char* codes, const unsigned short* scales,
                                            const unsigned char* zeros, float* weights, int k, int g) {
  const int row = blockIdx.x;
  for (int i = threadIdx.x; i < k; i += blockDim.x) {
    const int byte = codes[row * (k / 2) + i / 2];
    const int code = i % 2 == 0 ? byte & 15 : byte >> 4;
    const int group = row * (k / g) + i / g;
    weights[row * k + i] = (code - zeros[group]) * half_to_float(scales[group]);
  }
}
