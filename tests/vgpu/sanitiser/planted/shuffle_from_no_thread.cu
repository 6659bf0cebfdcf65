// run: --block 48 --arg out=float[2]:unset --arg in=float[48]:normal
// finds: uninitialised line 8: takes the value of lane 16
// The block's last warp has 16 threads.
__global__ void sums(float* out, const float* in) {
  const int lane = threadIdx.x % 32;
  float v = in[threadIdx.x];
  for (int step = 16; step > 0; step /= 2)
    v += __shfl_down_sync(0xffffffffu, v, step);
  if (lane == 0) out[threadIdx.x / 32] = v;
}
