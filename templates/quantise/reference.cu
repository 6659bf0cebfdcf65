// One CTA for each scale: the extremes of its finite elements, then scale, zero point and codes. All results are
// defined in f32 arithmetic, each operation rounded once, so that there is one right answer.

#include "include/reference/elements.cuh"

constexpr bool affine = ${codes == 'affine'};  // codes with a zero point; else E4M3
enum class Scope { tensor, head, group };
constexpr Scope scope = Scope::${scales};      // whose elements share a scale

constexpr float least_scale = 5.421010862427522e-20f;  // 2^-64: quotients below are not subnormal
constexpr float largest = 3.402823466e38f;

__device__ int clamped(int value, int low, int high) { return min(max(value, low), high); }

// NaN has the zero point, infinities the ends of the codes.
__device__ unsigned char affine_code_of(float value, float scale, int zero_point) {
  if (isnan(value)) return zero_point;
  if (isinf(value)) return value > 0 ? 255 : 0;
  return clamped((int)rintf(__fdiv_rn(value, scale)) + zero_point, 0, 255);
}

// To the nearest of the 127 magnitudes, ties to the even code; NaN is 127, infinities are 448.
__device__ unsigned char e4m3_code_of(float value, float scale) {
  if (isnan(value)) return 127;
  const float quotient = __fdiv_rn(value, scale);
  const double magnitude = fmin(fabs((double)quotient), 448.0);
  int exponent;
  frexp(magnitude, &exponent);
  const double step = ldexp(1.0, max(exponent - 4, -9));
  const double rounded = rint(magnitude / step) * step;
  int code = 0;  // of the largest magnitude that is not above `rounded`
  for (int i = 1; i < 127; ++i) {
    const double of_code = i < 8 ? i * 0.001953125 : ldexp(1.0 + (i & 7) / 8.0, (i >> 3) - 7);
    if (of_code <= rounded) code = i;
  }
  return code | (signbit(quotient) ? 128 : 0);
}

extern "C" __global__ void quantise_reference(const Element* x_drawn, const Element* x_bits, unsigned char* y,
                                              float* scales, unsigned char* zero_points, int H, int N) {
  const Element* x = ${any_bits ? 'x_bits' : 'x_drawn'};
  __shared__ float low[256];
  __shared__ float high[256];
  long long begin = 0;
  long long end = (long long)H * N;
  if constexpr (scope == Scope::head) {
    begin = (long long)blockIdx.x * N;
    end = begin + N;
  } else if constexpr (scope == Scope::group) {
    begin = (long long)blockIdx.x * N + blockIdx.y * 128;
    end = min(begin + 128, (long long)(blockIdx.x + 1) * N);
  }
  low[threadIdx.x] = high[threadIdx.x] = 0;
  for (long long i = begin + threadIdx.x; i < end; i += 256) {
    const float value = decode(x[i]);
    if (!(fabsf(value) <= largest)) continue;
    low[threadIdx.x] = fminf(low[threadIdx.x], value);
    high[threadIdx.x] = fmaxf(high[threadIdx.x], value);
  }
  __syncthreads();
  float lowest = 0;
  float highest = 0;
  for (int i = 0; i < 256; ++i) {
    lowest = fminf(lowest, low[i]);
    highest = fmaxf(highest, high[i]);
  }
  float scale = 1;
  int zero_point = 128;
  if (lowest < highest) {
    if constexpr (affine) {
      scale = fmaxf(__fsub_rn(__fdiv_rn(highest, 255.0f), __fdiv_rn(lowest, 255.0f)), least_scale);
      zero_point = clamped((int)rintf(__fdiv_rn(-lowest, scale)), 0, 255);
    } else {
      scale = fmaxf(__fdiv_rn(fmaxf(highest, -lowest), 448.0f), least_scale);
    }
  }
  if (threadIdx.x == 0) {
    const int group = blockIdx.x * gridDim.y + blockIdx.y;
    scales[group] = scale;
    if constexpr (affine) zero_points[group] = zero_point;
  }
  for (long long i = begin + threadIdx.x; i < end; i += 256) {
    const float value = decode(x[i]);
    y[i] = affine ? affine_code_of(value, scale, zero_point) : e4m3_code_of(value, scale);
  }
}
