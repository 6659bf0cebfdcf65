// y = x / sqrt(mean(x^2) + epsilon) * weight: one CTA for each row, in double precision on the exactly decoded
// elements.

#include "include/reference/elements.cuh"

// To the nearest ${dtype}, ties to even.
__device__ double rounded(double value) {
//% if dtype == 'f32'
  return (float)value;
//% else
  int exponent;
  frexp(value, &exponent);
//%   if dtype == 'bf16'
  const double step = ldexp(1.0, max(exponent - 8, -133));
//%   else
  const double step = ldexp(1.0, max(exponent - 11, -24));
//%   end
  return rint(value / step) * step;
//% end
}

extern "C" __global__ void rms_norm_reference(const Element* x, const Element* weight, float* residual_sum,
                                              float* y, float* y_codes, float* y_scale, float epsilon) {
  constexpr int M = ${M};
  __shared__ double squares[128];
  const long long row = (long long)blockIdx.x * M;
  double own_squares = 0;
  for (int column = threadIdx.x; column < M; column += 128) {
//% if residual
    const double value = rounded((double)residual_sum[row + column] + decode(x[row + column]));
    residual_sum[row + column] = (float)value;
//% else
    const double value = decode(x[row + column]);
//% end
    own_squares += value * value;
  }
  squares[threadIdx.x] = own_squares;
  __syncthreads();
  double sum = 0;
  for (int i = 0; i < 128; ++i) sum += squares[i];
  const double inverse_rms = 1.0 / sqrt(sum / M + (double)epsilon);
  const auto normalised = [&](int column) {
//% if residual
    return residual_sum[row + column] * inverse_rms * decode(weight[column]);
//% else
    return decode(x[row + column]) * inverse_rms * decode(weight[column]);
//% end
  };
//% if quant == 'none'
  for (int column = threadIdx.x; column < M; column += 128) {
    y[row + column] = (float)normalised(column);
  }
//% else
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
//% end
}
