// run: --block 32 --arg out=float[32]:unset --arg x=float[32]:normal
// finds: bad_access line 12: 4 bytes before the begin of
// The first thread's left neighbour lies before one of the arrays, in the other one.
__global__ void difference(float* out, const float* x) {
  __shared__ float first[32];
  __shared__ float second[32];
  const int t = threadIdx.x;
  first[t] = x[t];
  second[t] = x[t] * 2;
  __syncwarp();
  const float* const higher = &first[0] < &second[0] ? second : first;
  out[t] = higher[t - 1];
}
