// run: --block 64 --arg out=float[2]:unset --arg in=float[64]:normal
// Each warp for itself, with __syncwarp where lanes meet.
__global__ void reduce(float* out, const float* in) {
  __shared__ float tile[64];
  const int i = threadIdx.x, lane = i % 32;
  tile[i] = in[i];
  __syncwarp();
  for (int step = 16; step > 0; step /= 2) {
    float other = 0;
    if (lane < step) other = tile[i + step];
    __syncwarp();
    if (lane < step) tile[i] += other;
    __syncwarp();
  }
  if (lane == 0) out[i / 32] = tile[i];
}
