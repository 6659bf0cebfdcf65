// run: --block 64 --arg out=float[32]:unset --arg in=float[256]:iota
// One warp produces, one consumes: bar.arrive and bar.sync of two named barriers.
__global__ void sums(float* out, const float* in) {
  __shared__ float tile[32];
  const int lane = threadIdx.x % 32;
  if (threadIdx.x < 32) {
    for (int t = 0; t < 8; ++t) {
      if (t > 0) asm volatile("bar.sync 2, 64;" ::: "memory");
      tile[lane] = in[t * 32 + lane];
      asm volatile("bar.arrive 1, 64;" ::: "memory");
    }
  } else {
    float sum = 0;
    for (int t = 0; t < 8; ++t) {
      asm volatile("bar.sync 1, 64;" ::: "memory");
      for (int k = 0; k < 32; ++k) sum += tile[k];
      if (t < 7) asm volatile("bar.arrive 2, 64;" ::: "memory");
    }
    out[lane] = sum;
  }
}
