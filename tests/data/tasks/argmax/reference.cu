extern "C" __global__ void argmax_reference(const float* x, int* index, float* largest, int m) {
  const float* row = x + (long long)blockIdx.x * m;
  int best = 0;
  for (int i = 1; i < m; ++i)
    if (row[i] > row[best]) best = i;
  index[blockIdx.x] = best;
  largest[blockIdx.x] = row[best];
}
