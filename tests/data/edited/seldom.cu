// evo: launch seldom<<<1, 64>>>(y=out float[N], x=float[N], N)
// evo: size N=64

// Right, with a race that very large inputs alone bring about and that changes no answer.
__global__ void seldom(float* y, const float* x, int n) {
  __shared__ float part[64];
  const int t = threadIdx.x;
  const float value = x[t];
  part[t] = value;
  const volatile float* of_others = part;
  if (fabsf(value) > 60.0f) (void)of_others[(t + 32) % n];
  __syncthreads();
  y[t] = part[t];
}
