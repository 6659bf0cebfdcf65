// run: --block 32 --arg out=float[32]:unset --arg x=float[64]:normal
// finds: bad_access line 4: right behind the end of 'lower'
// The function that is not inlined gets the address of one array and goes on into the next one.
__device__ __noinline__ float both(const float* p, int i) { return p[i] + p[i + 1]; }
__global__ void pairs(float* out, const float* x) {
  __shared__ float lower[32], upper[32];
  const int t = threadIdx.x;
  lower[t] = x[t], upper[t] = x[32 + t];
  __syncwarp();
  out[t] = both(lower, t) + upper[t];
}
