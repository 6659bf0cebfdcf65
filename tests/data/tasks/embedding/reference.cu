extern "C" __global__ void embedding_reference(const float* table, const long long* tokens, float* rows, int d) {
  const long long token = tokens[blockIdx.x];
  for (int i = threadIdx.x; i < d; i += blockDim.x) rows[(long long)blockIdx.x * d + i] = table[token * d + i];
}
