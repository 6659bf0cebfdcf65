// s = (q k^T) q_scale k_scale${scaled ? ' / sqrt(D)' : ''}: one thread for each score, in double precision on
// the exactly decoded codes.

//% include "include/reference/e4m3.cuh"

extern "C" __global__ void fp8_qkt_reference(const unsigned char* q, const unsigned char* k,
                                             const float* q_scale, const float* k_scale, float* s, int M,
                                             int N) {
  constexpr int D = ${D};
  const int column = blockIdx.x * 64 + threadIdx.x;
  const int row = blockIdx.y;
  const int head = blockIdx.z;
  if (column >= N) return;
  const int scale_of = ${scales == 'head' ? 'head' : '0'};
  const unsigned char* query = q + ((long long)head * M + row) * D;
  const unsigned char* key = k + ((long long)head * N + column) * D;
  double dot = 0;
  for (int d = 0; d < D; ++d) dot += decode(query[d]) * decode(key[d]);
//% if scaled
  dot /= sqrt((double)D);
//% end
  s[((long long)head * M + row) * N + column] =
      (float)(dot * (double)q_scale[scale_of] * (double)k_scale[scale_of]);
}
