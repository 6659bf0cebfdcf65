// run: --block 32 --arg out=float[32]:unset --arg x=float[32]:normal
// finds: bad_access line 13: right behind the end of 'even'
// Each lane chooses its array by a condition, in a loop: one step too many.
__global__ void chosen(float* out, const float* x) {
  __shared__ float even[32], odd[33];
  const int t = threadIdx.x;
  even[t] = odd[t] = x[t];
  if (t == 0) odd[32] = 0;
  __syncwarp();
  const float* from = x[t] < 0 ? odd : even;
  float sum = 0;
  for (int i = 0; i < 2; ++i) {
    sum += from[(t + 1) % 33];
    from = from == odd ? even : odd;
  }
  out[t] = sum;
}
