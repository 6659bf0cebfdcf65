// run: --block 64 --arg out=int[64]:unset --arg in=int[64]:iota --arg int:100000
// The other lanes of the warp arrive at the barrier first and wait.
__global__ void fold(int* out, const int* in, int n) {
  __shared__ int folded;
  if (threadIdx.x == 0) {
    int value = 0;
#pragma unroll 1
    for (int i = 0; i < n; ++i) value = value * 3 + in[i & 63];
    folded = value;
  }
  __syncthreads();
  out[threadIdx.x] = folded;
}
