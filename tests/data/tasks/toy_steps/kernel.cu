extern "C" __global__ void toy(const float* a, const float* b, float* c, int N) {
  unsigned state = N;  // xorshift: never 0, which no compiler knows
  for (int i = 0; i < ${step} * 50; ++i) {
    state ^= state << 13;
    state ^= state >> 17;
    state ^= state << 5;
  }
  const int i = blockIdx.x * 128 + threadIdx.x;
  if (i < N && state != 0) c[i] = a[i] + b[i];
}
