// run: --grid 2,2 --block 32,8 --arg out=float[64,64]:unset --arg in=float[64,64]:iota
__global__ void transpose(float* out, const float* in) {
  __shared__ float tile[32][33];
  for (int y = threadIdx.y; y < 32; y += 8)
    tile[y][threadIdx.x] = in[(blockIdx.y * 32 + y) * 64 + blockIdx.x * 32 + threadIdx.x];
  __syncthreads();
  for (int y = threadIdx.y; y < 32; y += 8)
    out[(blockIdx.x * 32 + y) * 64 + blockIdx.y * 32 + threadIdx.x] = tile[threadIdx.x][y];
}
