#include <device_launch_parameters.h>
#include <string.h>
//% include "include/forms.cuh"

extern "C" __global__ void forms_reference(const unsigned char* w, const float* w_scale, const int* w_zero,
                                           const unsigned char* codes, const unsigned char* code_scale,
                                           const unsigned short* x, const long long* rows, const float* bias, float* y,
                                           int* best, unsigned short* positive, float* out, float* out_scale, float factor,
                                           Sizes sizes) {
  const int m = blockIdx.x * 32 + threadIdx.x;
  if (m >= sizes.rows) return;
  int first = 0, count = 0;
  double most = 0;
  for (int n = 0; n < sizes.columns; ++n) {
    const double added = addend(w, w_scale, w_zero, codes, code_scale, x, rows, bias, m, n, factor, sizes);
    float& to = y[m * sizes.apart + n];
    out[m * sizes.columns + n] = added;
    to = 2 * to + added;
    most = added > most ? added : -added > most ? -added : most;
    if (w[m * sizes.columns + n] > w[m * sizes.columns + first]) first = n;
    count += bf16(x[m * (sizes.apart + 1) + n]) > 0;
  }
  best[m] = first;
  positive[m] = count;
  out_scale[m] = most / 448;
}
