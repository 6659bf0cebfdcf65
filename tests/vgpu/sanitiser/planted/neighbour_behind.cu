// run: --block 32 --arg out=int[64]:unset --arg x=int[64]:integers(5,9)
// finds: bad_access line 11: right behind the end of 'values'
__global__ void mode(int* out, const int* x) {
  __shared__ int values[64];
  __shared__ int starts[64];
  const int t = threadIdx.x;
  values[t] = x[t]; values[t + 32] = x[t + 32];
  starts[t] = 0; starts[t + 32] = 0;
  __syncthreads();
  starts[2 * t + 1] = values[2 * t] != values[2 * t + 1];
  const int next = values[2 * t + 2];  // The last thread reads values[64].
  __syncthreads();
  if (2 * t + 2 < 64) starts[2 * t + 2] = values[2 * t + 1] != next;
  __syncthreads();
  out[t] = starts[t]; out[t + 32] = starts[t + 32] + (t == 31 ? next : 0);
}
