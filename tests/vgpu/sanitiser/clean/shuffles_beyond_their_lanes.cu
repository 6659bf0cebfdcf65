// run: --block 48 --arg out=float[5]:unset --arg wide=double[48]:unset --arg in=float[48]:normal
// Lanes read others that do not take part, and what they get is thrown away: by a sum's higher lanes, which nobody asks
// for, by a condition, by a selection, by a predicate of the shuffle itself.
__global__ void sums(float* out, double* wide, const float* in) {
  const int lane = threadIdx.x % 32;
  const int lanes = threadIdx.x < 32 ? 32 : 16;
  const unsigned mask = threadIdx.x < 32 ? 0xffffffffu : 0xffffu;
  float v = in[threadIdx.x];
  for (int step = lanes / 2; step > 0; step /= 2) v += __shfl_down_sync(mask, v, step);  // only lane 0's sum counts
  if (lane == 0) out[threadIdx.x / 32] = v;
  float scan = in[threadIdx.x];
  for (int step = 1; step < lanes; step *= 2) {
    const float other = __shfl_up_sync(mask, scan, step);
    if (lane >= step) scan += other;
  }
  if (lane == lanes - 1) out[2 + threadIdx.x / 32] = scan;
  const double next = __shfl_down_sync(mask, static_cast<double>(in[threadIdx.x]), 1);
  wide[threadIdx.x] = lane + 1 < lanes ? next : 0;
  if (threadIdx.x < 11) {
    float sum = in[threadIdx.x];
    for (int step = 8; step > 0; step /= 2) {
      const float other = __shfl_down_sync(0x7ffu, sum, step);
      sum = lane + step < 11 ? sum + other : sum;
    }
    if (lane == 0) out[4] = sum;
  }
}
