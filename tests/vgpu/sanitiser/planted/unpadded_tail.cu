// run: --block 64 --arg out=float[64]:unset --arg v=float[100]:normal --arg int:100
// finds: uninitialised line 12: of 'last' (shared memory, 256 bytes)
// The last tile has 36 keys; the rest is not filled with zeros.
__global__ void sum_tiles(float* out, const float* v, int n) {
  __shared__ float tile[64];
  float sum = 0;
  for (int begin = 0; begin < 64 * 2; begin += 64) {
    __shared__ float last[64];
    float* to = begin == 0 ? tile : last;
    if (begin + threadIdx.x < n) to[threadIdx.x] = v[begin + threadIdx.x];
    __syncthreads();
    for (int i = 0; i < 64; ++i) sum += to[i];
  }
  out[threadIdx.x] = sum;
}
