// run: --block 32 --arg out=int[32]:unset --arg in=int[32]:iota
// finds: uninitialised line 7: takes the value of lane 31
// The lane that has the answer does not take part: an index that nobody knows.
__global__ void gather(int* out, const int* in) {
  const int t = threadIdx.x;
  if (t < 16) {
    const int last = __shfl_sync(0xffffu, in[t], 31);
    out[t] = in[last & 31];
  }
}
