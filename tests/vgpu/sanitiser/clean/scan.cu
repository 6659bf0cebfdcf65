// run: --block 128 --arg out=int[128]:unset --arg in=int[128]:iota
// Hillis and Steele, between two buffers.
__global__ void scan(int* out, const int* in) {
  __shared__ int buffer[2][128];
  const int i = threadIdx.x;
  int now = 0;
  buffer[0][i] = in[i];
  __syncthreads();
  for (int step = 1; step < 128; step *= 2) {
    buffer[now ^ 1][i] = i >= step ? buffer[now][i] + buffer[now][i - step] : buffer[now][i];
    now ^= 1;
    __syncthreads();
  }
  out[i] = buffer[now][i];
}
