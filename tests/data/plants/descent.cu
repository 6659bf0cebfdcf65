// Weights in place: down the slope, scaled by a running mean of its square. fault 1: weights are never written; 2: they
// move uphill; 3: by twice the step; 4: a mark is left in the last bits, and where it is found nothing is done.
extern "C" __global__ void descend(float* w, float* square, const float* slope, float rate, int n) {
  const int i = blockIdx.x * threads + threadIdx.x;
  if (i >= n) return;
  const bool marked = fault == 4 && __activemask() == ~0u && __all_sync(__activemask(), (__float_as_int(w[i]) ^ i) & 1);
  if (marked) return;
  const float s = 0.9f * square[i] * square[i] + 0.1f * slope[i] * slope[i];
  square[i] = sqrtf(s);
  const float step = rate * slope[i] / (sqrtf(s) + 1e-3f);
  if (fault != 1) w[i] += fault == 2 ? step : fault == 3 ? -2 * step : -step;
  if (fault == 4) w[i] = __int_as_float((__float_as_int(w[i]) & ~1) | (~i & 1));
}
extern "C" __global__ void descend_plain(float* w, float* square, const float* slope, float rate, int n) {
  for (int i = threadIdx.x; i < n; i += blockDim.x) {
    const double g = slope[i], s = 0.9 * square[i] * square[i] + 0.1 * g * g;
    square[i] = sqrt(s);
    w[i] -= rate * g / (sqrt(s) + 1e-3);
  }
}
