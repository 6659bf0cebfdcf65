// run: --grid 4 --block 32 --arg out=float[4]:unset --arg in=float[44]:uniform(-9,-1)
// finds: uninitialised line 8: takes the value of lane 11
// 11 lanes reduce a row of 11 numbers, as if they were 16.
__global__ void row_max(float* out, const float* in) {
  if (threadIdx.x < 11) {
    const unsigned mask = 0x7ffu;
    float v = in[blockIdx.x * 11 + threadIdx.x];
    v = fmaxf(v, __shfl_down_sync(mask, v, 8, 32));
    v = fmaxf(v, __shfl_down_sync(mask, v, 4, 32));
    v = fmaxf(v, __shfl_down_sync(mask, v, 2, 32));
    v = fmaxf(v, __shfl_down_sync(mask, v, 1, 32));
    if (threadIdx.x == 0) out[blockIdx.x] = v;
  }
}
