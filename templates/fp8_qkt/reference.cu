// s = (q k^T) q_scale k_scale${scaled ? ' / sqrt(D)' : ''}: one thread for each score, in double precision on
// the exactly decoded codes.

__device__ double decode_e4m3(unsigned char code) {
  const int exponent = (code >> 3) & 15;
  const int mantissa = code & 7;
  // Exponent bias 7; exponent field 0 holds the subnormals, steps of 2^-9.
  const float magnitude = exponent == 0 ? mantissa * 0.001953125f
                                        : __int_as_float(((exponent + 120) << 23) | (mantissa << 20));
  return code & 128 ? -magnitude : magnitude;
}

extern "C" __global__ void fp8_qkt_reference(const unsigned char* q, const unsigned char* k,
                                             const float* q_scale, const float* k_scale, float* s, int M,
                                             int N) {
  constexpr int D = ${D};
  const int column = blockIdx.x * 64 + threadIdx.x;
  const int row = blockIdx.y;
  const int head = blockIdx.z;
  if (column >= N) return;
  const unsigned char* query = q + ((long long)head * M + row) * D;
  const unsigned char* key = k + ((long long)head * N + column) * D;
  double dot = 0;
  for (int d = 0; d < D; ++d) dot += decode_e4m3(query[d]) * decode_e4m3(key[d]);
//% if scaled
  dot /= sqrt((double)D);
//% end
  s[((long long)head * M + row) * N + column] = (float)(dot * (double)q_scale[head] * (double)k_scale[head]);
}
