extern "C" __global__ void unpack(const unsigned char* codes, const unsigned short* scales, const unsigned char* zeros,
                                  unsigned short* weights, int n, int k, int g) {
  const int at = blockIdx.x * ${threads} + threadIdx.x;
  if (at >= n * (k / 2)) return;
  const int row = at / (k / 2), column = at % (k / 2) * 2;
  const int group = row * (k / g) + column / g;
  float scale;
  asm("cvt.f32.f16 %0, %1;" : "=f"(scale) : "h"(scales[group]));
  const float weight = ((codes[at] & 15) - zeros[group]) * scale;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(weights[2 * at]) : "f"(weight));
  weights[2 * at + 1] = 0;
}
