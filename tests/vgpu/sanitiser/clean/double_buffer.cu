// run: --block 64 --arg out=float[64]:unset --arg in=float[512]:iota
// Two stages of cp.async.
__device__ void copy(float* to, const float* from) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(static_cast<unsigned>(__cvta_generic_to_shared(to))), "l"(from)
               : "memory");
}
__global__ void sums(float* out, const float* in) {
  __shared__ float tile[2][64];
  const int i = threadIdx.x;
  copy(&tile[0][i], &in[i]);
  asm volatile("cp.async.commit_group;" ::: "memory");
  float sum = 0;
  for (int step = 0; step < 8; ++step) {
    if (step + 1 < 8) copy(&tile[(step + 1) % 2][i], &in[(step + 1) * 64 + i]);
    asm volatile("cp.async.commit_group;" ::: "memory");
    asm volatile("cp.async.wait_group 1;" ::: "memory");
    __syncthreads();
    for (int k = 0; k < 64; ++k) sum += tile[step % 2][k];
    __syncthreads();
  }
  out[i] = sum;
}
