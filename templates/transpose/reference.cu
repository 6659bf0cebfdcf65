// y[b][m][n] = x[b][n][m]: a CTA for 1024 elements of y.
typedef ${dtype == 'u8' ? 'unsigned char' : dtype in ('bf16', 'f16') ? 'unsigned short' : dtype == 's64' ? 'long long' : 'unsigned int'} Element;

extern "C" __global__ void transpose_reference(const Element* x, Element* y, unsigned long long elements, int N,
                                               int M) {
  const unsigned long long first = (unsigned long long)blockIdx.x * 1024 + threadIdx.x;
  for (unsigned long long i = first; i < elements && i < first + 1024; i += 256) {
    const unsigned long long n = i % N, m = i / N % M, b = i / N / M;
    y[i] = x[(b * N + n) * M + m];
  }
}
