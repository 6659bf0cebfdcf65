// y = x / sqrt(mean(x^2) + epsilon) * weight: one CTA for each row, in double precision on the exactly decoded
// elements.

#include "include/reference/elements.cuh"

constexpr bool adds_residual = ${residual};
constexpr bool has_codes = ${quant != 'none'};

// To the nearest ${dtype}, ties to even.
__device__ double rounded(double value) {
  if constexpr (dtype == Dtype::f32) return (float)value;
  int exponent;
  frexp(value, &exponent);
  const double step = ldexp(1.0, dtype == Dtype::bf16 ? max(exponent - 8, -133) : max(exponent - 11, -24));
  return rint(value / step) * step;
}

extern "C" __global__ void rms_norm_reference(const Element* x, const Element* weight, float* residual_sum,
                                              float* y, float* y_codes, float* y_scale, float epsilon) {
  constexpr int M = ${M};
  __shared__ double squares[128];
  const long long row = (long long)blockIdx.x * M;
  double own_squares = 0;
  for (int column = threadIdx.x; column < M; column += 128) {
    double value;
    if constexpr (adds_residual) {
      value = rounded((double)residual_sum[row + column] + decode(x[row + column]));
      residual_sum[row + column] = (float)value;
    } else {
      value = decode(x[row + column]);
    }
    own_squares += value * value;
  }
  squares[threadIdx.x] = own_squares;
  __syncthreads();
  double sum = 0;
  for (int i = 0; i < 128; ++i) sum += squares[i];
  const double inverse_rms = 1.0 / sqrt(sum / M + (double)epsilon);
  const auto normalised = [&](int column) {
    const double value = adds_residual ? residual_sum[row + column] : decode(x[row + column]);
    return value * inverse_rms * decode(weight[column]);
  };
  if constexpr (!has_codes) {
    for (int column = threadIdx.x; column < M; column += 128) y[row + column] = (float)normalised(column);
    return;
  }
  constexpr int group_columns = ${quant == 'group' ? 128 : M};
  constexpr int groups = M / group_columns;
  for (int group = threadIdx.x; group < groups; group += 128) {
    double amax = 0;
    for (int i = 0; i < group_columns; ++i) amax = fmax(amax, fabs(normalised(group * group_columns + i)));
    const double scale = amax > 0 ? amax / 448 : 1;
    y_scale[(long long)blockIdx.x * groups + group] = (float)scale;
    for (int i = 0; i < group_columns; ++i) {
      const int column = group * group_columns + i;
      y_codes[row + column] = (float)normalised(column);
    }
  }
}
