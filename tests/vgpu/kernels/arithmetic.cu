// The mathematical functions of the compiler's library in double precision, 128-bit integers, a chained scan over blocks.

extern "C" __global__ void functions(double* out, const double* in) {
  const double x = in[threadIdx.x];
  double* const y = out + threadIdx.x * 12;
  y[0] = sin(x * 1e5);
  y[1] = cos(x * 1e10);
  y[2] = exp(x * 5);
  y[3] = log(fabs(x));
  y[4] = pow(fabs(x), 3.7);
  y[5] = erf(x);
  y[6] = tgamma(fabs(x) + 1);
  y[7] = atan2(x, 0.3);
  y[8] = cbrt(x);
  y[9] = fmod(x * 100, 7);
  y[10] = rsqrt(fabs(x));
  y[11] = 1 / x;
}

typedef unsigned long long Word;
typedef unsigned __int128 Wide;

extern "C" __global__ void wide_integers(Word* out, const Word* a) {
  const int i = threadIdx.x;
  const Wide x = Wide(a[i]) << 64 | a[31 - i];
  const Wide quotient = x / (a[(i + 5) % 32] | 1), rest = x * a[i] + quotient % 1000003;
  out[i * 4] = Word(quotient);
  out[i * 4 + 1] = Word(quotient >> 64);
  out[i * 4 + 2] = Word(rest);
  out[i * 4 + 3] = Word(rest >> 64);
}

// Each block awaits its predecessor's sum. state: for each block whether it is ready, and the sum.
extern "C" __global__ void chained_scan(int* out, const int* in, volatile int* state) {
  __shared__ int sums[128];
  __shared__ int before;
  const int t = threadIdx.x, block = blockIdx.x;
  sums[t] = in[block * 128 + t];
  __syncthreads();
  for (int distance = 1; distance < 128; distance *= 2) {
    const int left = t >= distance ? sums[t - distance] : 0;
    __syncthreads();
    sums[t] += left;
    __syncthreads();
  }
  if (t == 127) {
    int base = 0;
    if (block > 0) {
      while (state[2 * (block - 1)] == 0) {}
      __threadfence();
      base = state[2 * (block - 1) + 1];
    }
    state[2 * block + 1] = base + sums[127];
    __threadfence();
    state[2 * block] = 1;
    before = base;
  }
  __syncthreads();
  out[block * 128 + t] = sums[t] + before;
}
