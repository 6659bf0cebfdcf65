// s = q k^T${scaled ? ' / sqrt(D)' : ''}: one thread for each score, whole numbers until they are scaled.

extern "C" __global__ void sim_fp8_qkt_reference(const unsigned char* q, const unsigned char* k, const float* q_scales,
                                                 const float* k_scales, const unsigned char* q_zeros,
                                                 const unsigned char* k_zeros, float* s, int M, int N) {
#include "include/reference/score_place.cuh"
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
