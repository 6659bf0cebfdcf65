#include <cuda_fp8.h>
#include <device_launch_parameters.h>
#include <string.h>
//% include "include/forms.cuh"

struct Four {
  float x, y, z, w;
};

extern "C" __global__ void forms_apply(const unsigned char* w, const float* w_scale, const int* w_zero,
                                       const unsigned char* codes, const unsigned char* code_scale,
                                       const unsigned short* x, const long long* rows, const float* bias,
                                       unsigned short* y, int* best, unsigned short* positive, unsigned char* out_codes,
                                       float* out_scale, float factor, Sizes sizes, Four four, unsigned short half,
                                       bool wide, const void* none, unsigned char three, unsigned short one) {
  const int m = blockIdx.x * ${threads} + threadIdx.x;
  const int N = sizes.columns;
  const bool right = four.x == 1 && four.y == 2.5f && four.z == sizes.rows && four.w == 0.25f * N && half == 0x3800 &&
                     wide == (N > 8) && none == nullptr && three == 3 && one == 0x3f80;
  if (m >= sizes.rows || !right) return;
  int last = 0, count = 0;
  float most = 0;
  for (int n = 0; n < N; ++n) {
    const float added = addend(w, w_scale, w_zero, codes, code_scale, x, rows, bias, m, n, factor, sizes);
    unsigned short& to = y[m * sizes.apart + n];
    const float sum = 2 * bf16(to) + added;
    unsigned bits;
    memcpy(&bits, &sum, sizeof bits);
    to = bits + 0x7fff + (bits >> 16 & 1) >> 16;
    most = added > most ? added : -added > most ? -added : most;
    if (w[m * N + n] >= w[m * N + last]) last = n;
    count += bf16(x[m * (sizes.apart + 1) + n]) > 0;
  }
  best[m] = last;
  positive[m] = count;
  out_scale[m] = most / 448;
  for (int n = 0; n < N; ++n) {
    const float added = addend(w, w_scale, w_zero, codes, code_scale, x, rows, bias, m, n, factor, sizes);
    out_codes[m * N + n] = __nv_cvt_float_to_fp8(added / out_scale[m], __NV_SATFINITE, __NV_E4M3);
  }
}
