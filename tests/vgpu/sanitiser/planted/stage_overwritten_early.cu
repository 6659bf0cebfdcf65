// run: --block 64 --arg out=float[64]:zeros --arg in=float[256]:iota
// finds: race line 13: in line 15 (a read)
// One barrier an iteration is not enough: the next tile is written while others still read this one.
__global__ void sums(float* out, const float* in) {
  __shared__ float tile[64];
  float sum = 0;
  for (int i = 0; i < 4; ++i) {
    const float next = in[i * 64 + threadIdx.x];




    tile[threadIdx.x] = next;
    __syncthreads();
    for (int k = 0; k < 64; ++k) sum += tile[k];
  }
  out[threadIdx.x] = sum;
}
