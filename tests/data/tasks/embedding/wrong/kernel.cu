extern "C" __global__ void gather(const float* table, const long long* tokens, float* rows, int d) {
  const unsigned short token = (unsigned short)tokens[blockIdx.x];
  for (int i = threadIdx.x; i < d; i += ${threads}) rows[(long long)blockIdx.x * d + i] = table[token * d + i];
}
