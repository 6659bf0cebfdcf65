// run: --block 32 --arg out=int[32]:unset --arg in=int[32]:iota
// The function leaves its out parameter alone when it finds nothing, and the caller then uses another value.
__device__ __noinline__ bool find(const int* in, int wanted, int& at) {
  for (int i = 0; i < 16; ++i) {
    if (in[i] != wanted) continue;
    at = i;
    return true;
  }
  return false;
}
__global__ void positions(int* out, const int* in) {
  int at;
  out[threadIdx.x] = find(in, threadIdx.x, at) ? at : 99;
}
