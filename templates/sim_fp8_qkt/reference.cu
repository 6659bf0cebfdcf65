// s = q k^T${scaled ? ' / sqrt(D)' : ''}: one thread for each score, whole numbers until they are scaled.

extern "C" __global__ void sim_fp8_qkt_reference(const unsigned char* q, const unsigned char* k, const float* q_scales,
                                                 const float* k_scales, const unsigned char* q_zeros,
                                                 const unsigned char* k_zeros, float* s, int M, int N) {
  constexpr int D = ${D};
  const int column = blockIdx.x * 64 + threadIdx.x;
  const int row = blockIdx.y;
  const int head = blockIdx.z;
  if (column >= N) return;
  const int scale_of = ${scales == 'head' ? 'head' : '0'};
  const unsigned char* query = q + ((long long)head * M + row) * D;
  const unsigned char* key = k + ((long long)head * N + column) * D;
  const int q_zero = q_zeros[scale_of];
  const int k_zero = k_zeros[scale_of];
  int dot = 0;
  for (int d = 0; d < D; ++d) dot += (query[d] - q_zero) * (key[d] - k_zero);
  double score = dot * (double)q_scales[scale_of] * (double)k_scales[scale_of];
//% if scaled
  score /= sqrt((double)D);
//% end
  s[((long long)head * M + row) * N + column] = (float)score;
}
