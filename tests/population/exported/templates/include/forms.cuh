struct Sizes {
  short rows;
  int columns;
  long long apart;
  double root;
};

__device__ __forceinline__ double bf16(unsigned short bits) {
  const unsigned wide = (unsigned)bits << 16;
  float value;
  memcpy(&value, &wide, sizeof value);
  return value;
}

__device__ __forceinline__ double e2m1(const unsigned char* codes, int i) {
  const unsigned code = codes[i / 2] >> (i % 2 * 4) & 15;
  const double magnitude = (code & 6) == 0 ? (code & 1) * 0.5 : (1 + (code & 1) * 0.5) * (1 << ((code >> 1 & 3) - 1));
  return (code & 8) != 0 ? -magnitude : magnitude;
}

__device__ __forceinline__ double e8m0(unsigned char code) {
  double value = 1;
  for (int i = code; i < 127; ++i) value /= 2;
  for (int i = code; i > 127; --i) value *= 2;
  return value;
}

// What is added to y[m][n].
__device__ __forceinline__ double addend(const unsigned char* w, const float* w_scale, const int* w_zero,
                                         const unsigned char* codes, const unsigned char* code_scale,
                                         const unsigned short* x, const long long* rows, const float* bias, int m, int n,
                                         double factor, const Sizes& sizes) {
  const int i = m * sizes.columns + n, group = m * (sizes.columns / 4) + n / 4;
  const double weight = (w[i] - w_zero[group]) * (double)w_scale[group];
  const double code = e2m1(codes, i) * e8m0(code_scale[n]);
  return (weight + code + bf16(x[rows[m] * (sizes.apart + 1) + n])) * factor + sizes.root + (bias ? bias[n] : 0);
}
