// run: --block 32 --smem 128 --arg out=float[32]:unset --arg x=float[32]:normal
// finds: bad_access line 10: before the begin of 'row'
// What lies before the dynamic array is a static one.
__global__ void halo(float* out, const float* x) {
  __shared__ float scale[32];
  extern __shared__ float row[];
  const int t = threadIdx.x;
  row[t] = x[t], scale[t] = 0.5f;
  __syncwarp();
  out[t] = row[t - 1] * scale[t];
}
