// s = (q k^T) q_scale k_scale${scaled ? ' / sqrt(D)' : ''}: one thread for each score, in double precision on
// the exactly decoded codes.

#include "include/reference/e4m3.cuh"

extern "C" __global__ void fp8_qkt_reference(const unsigned char* q, const unsigned char* k,
                                             const float* q_scale, const float* k_scale, float* s, int M,
                                             int N) {
#include "include/reference/score_place.cuh"
  double dot = 0;
  for (int d = 0; d < D; ++d) dot += decode(query[d]) * decode(key[d]);
//% if scaled
  dot /= sqrt((double)D);
//% end
  s[((long long)head * M + row) * N + column] =
      (float)(dot * (double)q_scale[scale_of] * (double)k_scale[scale_of]);
}
