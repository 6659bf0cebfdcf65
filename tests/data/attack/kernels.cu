// Small kernels that `evo attack` is tried on, each with its reference in double precision. Macros make a fault of one.
#include <cuda_fp16.h>
#include <cuda_fp8.h>
#ifndef LOWEST
#define LOWEST -INFINITY
#endif
#ifndef ACC
#define ACC float
#endif
#ifndef COMPENSATED
#define COMPENSATED 1
#endif
#ifndef ROUND
#define ROUND rintf
#endif
#ifndef FIRST_TILE
#define FIRST_TILE 0
#endif
#ifndef SCORE
#define SCORE float
#endif
#ifndef SUM_OF_CODES
#define SUM_OF_CODES 0
#endif
#ifndef TOTAL
#define TOTAL int
#endif

__device__ float warp_max(float v) {
  for (int d = 16; d > 0; d >>= 1) v = fmaxf(v, __shfl_xor_sync(~0u, v, d));
  return v;
}
__device__ float warp_sum(float v) {
  for (int d = 16; d > 0; d >>= 1) v += __shfl_xor_sync(~0u, v, d);
  return v;
}

// ---- Softmax: a warp a row, a thread a row, online.
__global__ void softmax(float* y, const float* x, int m) {
  const float* row = x + blockIdx.x * m;
  float top = LOWEST, sum = 0;
  for (int i = threadIdx.x; i < (FIRST_TILE ? min(m, 32) : m); i += 32) top = fmaxf(top, row[i]);
  top = warp_max(top);
  for (int i = threadIdx.x; i < m; i += 32) sum += expf(row[i] - top);
  sum = warp_sum(sum);
  for (int i = threadIdx.x; i < m; i += 32) y[blockIdx.x * m + i] = expf(row[i] - top) / sum;
}
__global__ void softmax_serial(float* y, const float* x, int n, int m) {
  const int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r >= n) return;
  float top = -INFINITY, sum = 0;
  for (int i = 0; i < m; ++i) top = fmaxf(top, x[r * m + i]);
  for (int i = 0; i < m; ++i) sum += expf(x[r * m + i] - top);
  for (int i = 0; i < m; ++i) y[r * m + i] = expf(x[r * m + i] - top) / sum;
}
__global__ void softmax_online(float* y, const float* x, int m) {
  const float* row = x + blockIdx.x * m;
  float top = LOWEST, sum = 0;
  for (int i = threadIdx.x; i < m; i += 32) {
    const float next = fmaxf(top, row[i]);
    sum = sum * (top == next ? 1.0f : expf(top - next)) + expf(row[i] - next);
    top = next;
  }
  const float all = warp_max(top);
  sum = warp_sum(sum > 0 ? sum * expf(top - all) : 0.0f);
  for (int i = threadIdx.x; i < m; i += 32) y[blockIdx.x * m + i] = expf(row[i] - all) / sum;
}
__global__ void softmax_plain(float* y, const float* x, int m) {
  const float* row = x + blockIdx.x * m;
  double top = row[0], sum = 0;
  for (int i = 1; i < m; ++i) top = fmax(top, (double)row[i]);
  for (int i = 0; i < m; ++i) sum += exp((double)row[i] - top);
  for (int i = 0; i < m; ++i) y[blockIdx.x * m + i] = exp((double)row[i] - top) / sum;
}

// ---- Layer norm in two passes; f16 root mean square norm.
__global__ void layer_norm(float* y, const float* x, const float* g, int m) {
  const float* row = x + blockIdx.x * m;
  float sum = 0, squares = 0;
  for (int i = threadIdx.x; i < m; i += 32) sum += row[i];
  const float mean = warp_sum(sum) / m;
  for (int i = threadIdx.x; i < m; i += 32) squares += (row[i] - mean) * (row[i] - mean);
  const float scale = rsqrtf(warp_sum(squares) / m + 1e-5f);
  for (int i = threadIdx.x; i < m; i += 32) y[blockIdx.x * m + i] = (row[i] - mean) * scale * g[i];
}
__global__ void layer_norm_plain(float* y, const float* x, const float* g, int m) {
  const float* row = x + blockIdx.x * m;
  double mean = 0, squares = 0;
  for (int i = 0; i < m; ++i) mean += row[i];
  mean /= m;
  for (int i = 0; i < m; ++i) squares += (row[i] - mean) * (row[i] - mean);
  for (int i = 0; i < m; ++i) y[blockIdx.x * m + i] = (row[i] - mean) / sqrt(squares / m + 1e-5) * g[i];
}
__global__ void rms_norm(half* y, const half* x, int m) {
  ACC squares = 0;
  for (int i = threadIdx.x; i < m; i += 32) {
    const float v = __half2float(x[blockIdx.x * m + i]);
    squares = (ACC)((float)squares + v * v);
  }
  const float scale = rsqrtf(warp_sum((float)squares) / m + 1e-5f);
  for (int i = threadIdx.x; i < m; i += 32)
    y[blockIdx.x * m + i] = __float2half(__half2float(x[blockIdx.x * m + i]) * scale);
}
__global__ void rms_norm_plain(half* y, const half* x, int m) {
  double squares = 0;
  for (int i = 0; i < m; ++i) squares += (double)(float)x[blockIdx.x * m + i] * (double)(float)x[blockIdx.x * m + i];
  for (int i = 0; i < m; ++i)
    y[blockIdx.x * m + i] = (half)(float)((double)(float)x[blockIdx.x * m + i] / sqrt(squares / m + 1e-5));
}

// ---- Sums: of a row by a warp and by a thread, a dot product, a scan, the error of a classifier.
__global__ void row_sum(float* y, const float* x, int m) {
  float sum = 0, lost = 0;
  for (int i = threadIdx.x; i < m; i += 32) {
    const float add = COMPENSATED ? __fsub_rn(x[blockIdx.x * m + i], lost) : x[blockIdx.x * m + i];
    const float next = __fadd_rn(sum, add);
    lost = __fsub_rn(__fsub_rn(next, sum), add);
    sum = next;
  }
  double all = COMPENSATED ? (double)sum - lost : sum;
  for (int d = 16; d > 0; d >>= 1) all += __shfl_xor_sync(~0u, all, d);
  if (threadIdx.x == 0) y[blockIdx.x] = all;
}
__global__ void row_sum_serial(float* y, const float* x, int n, int m) {
  const int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r >= n) return;
  float sum = 0;
  for (int i = 0; i < m; ++i) sum += x[r * m + i];
  y[r] = sum;
}
__global__ void row_sum_plain(float* y, const float* x, int m) {
  double sum = 0;
  for (int i = 0; i < m; ++i) sum += x[blockIdx.x * m + i];
  y[blockIdx.x] = sum;
}
__global__ void dot(float* y, const float* a, const float* b, int m) {
  __shared__ float parts[4];
  float sum = 0;
  for (int i = threadIdx.x; i < m; i += 128) sum += a[blockIdx.x * m + i] * b[blockIdx.x * m + i];
  sum = warp_sum(sum);
  if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = sum;
  __syncthreads();
  if (threadIdx.x == 0) y[blockIdx.x] = parts[0] + parts[1] + parts[2] + parts[3];
}
__global__ void dot_plain(float* y, const float* a, const float* b, int m) {
  double sum = 0;
  for (int i = 0; i < m; ++i) sum += (double)a[blockIdx.x * m + i] * b[blockIdx.x * m + i];
  y[blockIdx.x] = sum;
}
__global__ void scan(float* y, const float* x, int m) {
  const float* row = x + blockIdx.x * m;
  float before = 0;
  for (int begin = 0; begin < m; begin += 32) {
    const int i = begin + threadIdx.x;
    float v = i < m ? row[i] : 0;
    for (int d = 1; d < 32; d <<= 1) {
      const float other = __shfl_up_sync(~0u, v, d);
      if (threadIdx.x >= d) v += other;
    }
    v += before;
    if (i < m) y[blockIdx.x * m + i] = v;
    before = __shfl_sync(~0u, v, 31);
  }
}
__global__ void scan_plain(float* y, const float* x, int m) {
  double sum = 0;
  for (int i = 0; i < m; ++i) y[blockIdx.x * m + i] = sum += x[blockIdx.x * m + i];
}
__global__ void cross_entropy(float* y, const float* x, const int* label, int m) {
  const float* row = x + blockIdx.x * m;
  float top = LOWEST, sum = 0;
  for (int i = threadIdx.x; i < m; i += 32) top = fmaxf(top, row[i]);
  top = warp_max(top);
  for (int i = threadIdx.x; i < m; i += 32) sum += expf(row[i] - top);
  sum = warp_sum(sum);
  if (threadIdx.x == 0) y[blockIdx.x] = logf(sum) + top - row[label[blockIdx.x]];
}
__global__ void cross_entropy_plain(float* y, const float* x, const int* label, int m) {
  const float* row = x + blockIdx.x * m;
  double top = row[0], sum = 0;
  for (int i = 1; i < m; ++i) top = fmax(top, (double)row[i]);
  for (int i = 0; i < m; ++i) sum += exp((double)row[i] - top);
  y[blockIdx.x] = log(sum) + top - row[label[blockIdx.x]];
}

// ---- Products.
__global__ void gemm(half* c, const half* a, const half* b, int n, int k) {
  ACC sum = 0;
  for (int i = 0; i < k; ++i)
    sum = (ACC)((float)sum + (float)a[blockIdx.x * k + i] * (float)b[i * n + threadIdx.x]);
  c[blockIdx.x * n + threadIdx.x] = (half)sum;
}
__global__ void gemm_plain(half* c, const half* a, const half* b, int n, int k) {
  double sum = 0;
  for (int i = 0; i < k; ++i) sum += (double)(float)a[blockIdx.x * k + i] * (double)(float)b[i * n + threadIdx.x];
  c[blockIdx.x * n + threadIdx.x] = (half)sum;
}
__global__ void gelu(float* y, const float* x, int n) {
  const int i = blockIdx.x * 128 + threadIdx.x;
  if (i < n) y[i] = 0.5f * x[i] * (1 + erff(x[i] * 0.70710678f));
}
__global__ void gelu_plain(float* y, const float* x, int n) {
  const int i = blockIdx.x * 128 + threadIdx.x;
  if (i < n) y[i] = 0.5 * x[i] * (1 + erf(x[i] * 0.70710678118654752));
}

// ---- Attention of one head, 16 values a row, weights in e4m3.
__global__ void attention(float* o, const float* q, const float* k, const float* v, int s) {
  float top = LOWEST, sum = 0, acc[16] = {};
  for (int j = threadIdx.x; j < s; j += 32) {
    float score = 0;
    for (int d = 0; d < 16; ++d) score += q[blockIdx.x * 16 + d] * k[j * 16 + d];
    score = (float)(SCORE)(score * 0.25f);
    if (score > top) {
      const float less = expf(top - score);
      for (float& a : acc) a *= less;
      sum *= less;
      top = score;
    }
    const float weight = expf(score - top), code = (float)__nv_fp8_e4m3(weight * 256) / 256;
    sum += SUM_OF_CODES ? code : weight;
    for (int d = 0; d < 16; ++d) acc[d] += code * v[j * 16 + d];
  }
  const float all = warp_max(top), less = top == -INFINITY ? 0 : expf(top - all);
  sum = warp_sum(sum * less);
  for (int d = 0; d < 16; ++d) {
    const float value = warp_sum(acc[d] * less) / sum;
    if (threadIdx.x == 0) o[blockIdx.x * 16 + d] = value;
  }
}
__global__ void attention_plain(float* o, const float* q, const float* k, const float* v, int s) {
  double top = -INFINITY, sum = 0, acc[16] = {};
  for (int pass = 0; pass < 2; ++pass) {
    for (int j = threadIdx.x; j < s; j += 32) {
      double score = 0;
      for (int d = 0; d < 16; ++d) score += (double)q[blockIdx.x * 16 + d] * k[j * 16 + d];
      score *= 0.25;
      if (pass == 0) {
        top = fmax(top, score);
        continue;
      }
      sum += exp(score - top);
      for (int d = 0; d < 16; ++d) acc[d] += exp(score - top) * v[j * 16 + d];
    }
    for (int d = 16; d > 0 && pass == 0; d >>= 1) top = fmax(top, __shfl_xor_sync(~0u, top, d));
  }
  for (int e = 16; e > 0; e >>= 1) sum += __shfl_xor_sync(~0u, sum, e);
  for (int d = 0; d < 16; ++d) {
    for (int e = 16; e > 0; e >>= 1) acc[d] += __shfl_xor_sync(~0u, acc[d], e);
    if (threadIdx.x == 0) o[blockIdx.x * 16 + d] = acc[d] / sum;
  }
}

// ---- Integers.
__global__ void quantise(signed char* y, const float* x, int m) {
  const float* row = x + blockIdx.x * m;
  float top = 0;
  for (int i = threadIdx.x; i < m; i += 32) top = fmaxf(top, fabsf(row[i]));
  const float scale = fmaxf(warp_max(top), 1e-20f) / 127;
  for (int i = threadIdx.x; i < m; i += 32) y[blockIdx.x * m + i] = (signed char)ROUND(row[i] / scale);
}
__global__ void quantise_times(signed char* y, const float* x, int m) {
  const float* row = x + blockIdx.x * m;
  float top = 0;
  for (int i = threadIdx.x; i < m; i += 32) top = fmaxf(top, fabsf(row[i]));
  const float times = 127 / fmaxf(warp_max(top), 1e-20f);
  for (int i = threadIdx.x; i < m; i += 32) y[blockIdx.x * m + i] = (signed char)rintf(row[i] * times);
}
__global__ void quantise_plain(signed char* y, const float* x, int m) {
  const float* row = x + blockIdx.x * m;
  double top = 0;
  for (int i = 0; i < m; ++i) top = fmax(top, fabs((double)row[i]));
  const double scale = fmax(top, 1e-20) / 127;
  for (int i = 0; i < m; ++i) y[blockIdx.x * m + i] = (signed char)rint(row[i] / scale);
}
__global__ void gemm_s8(int* c, const signed char* a, const signed char* b, int n, int k) {
  TOTAL sum = 0;
  for (int i = 0; i < k; ++i) sum += a[blockIdx.x * k + i] * b[i * n + threadIdx.x];
  c[blockIdx.x * n + threadIdx.x] = sum;
}
__global__ void gemm_s8_plain(int* c, const signed char* a, const signed char* b, int n, int k) {
  long long sum = 0;
  for (int i = 0; i < k; ++i) sum += a[blockIdx.x * k + i] * b[i * n + threadIdx.x];
  c[blockIdx.x * n + threadIdx.x] = (int)sum;
}
// The sum of squares, as real numbers: beyond 2^31 for more than 131,071 times 128 squared.
__global__ void squares_s16(float* y, const short* x, int m) {
  TOTAL sum = 0;
  for (int i = threadIdx.x; i < m; i += 32) sum += (TOTAL)x[blockIdx.x * m + i] * x[blockIdx.x * m + i];
  for (int d = 16; d > 0; d >>= 1) sum += __shfl_xor_sync(~0u, sum, d);
  if (threadIdx.x == 0) y[blockIdx.x] = (float)sum;
}
__global__ void squares_s16_plain(float* y, const short* x, int m) {
  double sum = 0;
  for (int i = 0; i < m; ++i) sum += (double)x[blockIdx.x * m + i] * x[blockIdx.x * m + i];
  y[blockIdx.x] = sum;
}
// The place of the first largest number of a row.
#define LAST(other, mine, there, here) (other >= mine)
#ifndef LATER
#define LATER(other, mine, there, here) (other > mine || (other == mine && there < here))
#endif
__global__ void argmax(int* y, const int* x, int m) {
  int best = x[blockIdx.x * m], at = 0;
  for (int i = threadIdx.x; i < m; i += 32)
    if (LATER(x[blockIdx.x * m + i], best, i, at)) best = x[blockIdx.x * m + i], at = i;
  for (int d = 16; d > 0; d >>= 1) {
    const int other = __shfl_xor_sync(~0u, best, d), there = __shfl_xor_sync(~0u, at, d);
    if (LATER(other, best, there, at)) best = other, at = there;
  }
  if (threadIdx.x == 0) y[blockIdx.x] = at;
}
__global__ void argmax_plain(int* y, const int* x, int m) {
  int at = 0;
  for (int i = 1; i < m; ++i)
    if (x[blockIdx.x * m + i] > x[blockIdx.x * m + at]) at = i;
  y[blockIdx.x] = at;
}
// Distance to a zero point, saturated.
#define NARROW(x, z) abs((signed char)(x - z))
#ifndef DISTANCE
#define DISTANCE(x, z) abs((int)x - (int)z)
#endif
__global__ void distance(unsigned char* y, const signed char* x, const signed char* z, int n) {
  const int i = blockIdx.x * 128 + threadIdx.x;
  if (i < n) y[i] = (unsigned char)DISTANCE(x[i], z[i]);
}
__global__ void distance_plain(unsigned char* y, const signed char* x, const signed char* z, int n) {
  const int i = blockIdx.x * 128 + threadIdx.x;
  if (i < n) y[i] = (unsigned char)(x[i] > z[i] ? x[i] - z[i] : z[i] - x[i]);
}

// ---- Written after the attack's generator was tuned: each with an honest twin.
#ifndef ONE_PASS
#define ONE_PASS 0
#endif
#ifndef WITH_MAX
#define WITH_MAX 1
#endif
// The deviation of a row.
__global__ void deviation(float* y, const float* x, int m) {
  const float* row = x + blockIdx.x * m;
  float sum = 0, squares = 0;
  for (int i = threadIdx.x; i < m; i += 32) sum += row[i];
  const float mean = warp_sum(sum) / m;
  for (int i = threadIdx.x; i < m; i += 32) {
    const float v = ONE_PASS ? row[i] : row[i] - mean;
    squares += v * v;
  }
  squares = warp_sum(squares) / m;
  for (int i = threadIdx.x; i < m; i += 32)
    y[blockIdx.x * m + i] = (row[i] - mean) * rsqrtf((ONE_PASS ? squares - mean * mean : squares) + 1e-5f);
}
__global__ void deviation_plain(float* y, const float* x, int m) {
  const float* row = x + blockIdx.x * m;
  double mean = 0, squares = 0;
  for (int i = 0; i < m; ++i) mean += row[i];
  mean /= m;
  for (int i = 0; i < m; ++i) squares += (row[i] - mean) * (row[i] - mean);
  for (int i = 0; i < m; ++i) y[blockIdx.x * m + i] = (row[i] - mean) / sqrt(squares / m + 1e-5);
}
// The logarithm of a row's sum of exponentials.
__global__ void log_sum_exp(float* y, const float* x, int m) {
  const float* row = x + blockIdx.x * m;
  float top = -INFINITY, sum = 0;
  for (int i = threadIdx.x; i < m; i += 32) top = fmaxf(top, row[i]);
  top = WITH_MAX ? warp_max(top) : 0;
  for (int i = threadIdx.x; i < m; i += 32) sum += expf(row[i] - top);
  sum = warp_sum(sum);
  if (threadIdx.x == 0) y[blockIdx.x] = logf(sum) + top;
}
__global__ void log_sum_exp_plain(float* y, const float* x, int m) {
  const float* row = x + blockIdx.x * m;
  double top = row[0], sum = 0;
  for (int i = 1; i < m; ++i) top = fmax(top, (double)row[i]);
  for (int i = 0; i < m; ++i) sum += exp((double)row[i] - top);
  y[blockIdx.x] = log(sum) + top;
}
// The mean of a row.
__global__ void row_mean(half* y, const half* x, int m) {
  ACC sum = 0;
  for (int i = threadIdx.x; i < m; i += 32) sum = (ACC)((float)sum + __half2float(x[blockIdx.x * m + i]));
  const float mean = warp_sum((float)sum) / m;
  if (threadIdx.x == 0) y[blockIdx.x] = __float2half(mean);
}
__global__ void row_mean_plain(half* y, const half* x, int m) {
  double sum = 0;
  for (int i = 0; i < m; ++i) sum += (double)(float)x[blockIdx.x * m + i];
  y[blockIdx.x] = (half)(float)(sum / m);
}
// The probability of the columns that a row is paired with: a product of two softmaxes.
__global__ void agreement(float* y, const float* a, const float* b, int m) {
  const float *one = a + blockIdx.x * m, *other = b + blockIdx.x * m;
  float top = -INFINITY, far = -INFINITY, sum = 0, all = 0, both = 0;
  for (int i = threadIdx.x; i < m; i += 32) top = fmaxf(top, one[i]), far = fmaxf(far, other[i]);
  top = warp_max(top), far = warp_max(far);
  for (int i = threadIdx.x; i < m; i += 32) sum += expf(one[i] - top), all += expf(other[i] - far);
  sum = warp_sum(sum), all = warp_sum(all);
  for (int i = threadIdx.x; i < m; i += 32)
    both += (float)(SCORE)((float)(SCORE)(expf(one[i] - top) / sum) * (float)(SCORE)(expf(other[i] - far) / all));
  both = warp_sum(both);
  if (threadIdx.x == 0) y[blockIdx.x] = both;
}
__global__ void agreement_plain(float* y, const float* a, const float* b, int m) {
  const float *one = a + blockIdx.x * m, *other = b + blockIdx.x * m;
  double top = one[0], far = other[0], sum = 0, all = 0, both = 0;
  for (int i = 1; i < m; ++i) top = fmax(top, (double)one[i]), far = fmax(far, (double)other[i]);
  for (int i = 0; i < m; ++i) sum += exp(one[i] - top), all += exp(other[i] - far);
  for (int i = 0; i < m; ++i) both += exp(one[i] - top) / sum * (exp(other[i] - far) / all);
  y[blockIdx.x] = both;
}

// ---- Attention whose row has one maximum: the scores are computed twice.
__global__ void attention_two_pass(float* o, const float* q, const float* k, const float* v, int s) {
  float top = LOWEST, sum = 0, acc[16] = {};
  for (int pass = 0; pass < 2; ++pass) {
    for (int j = threadIdx.x; j < s; j += 32) {
      float score = 0;
      for (int d = 0; d < 16; ++d) score += q[blockIdx.x * 16 + d] * k[j * 16 + d];
      score = (float)(SCORE)(score * 0.25f);
      if (pass == 0) {
        top = fmaxf(top, score);
        continue;
      }
      const float weight = expf(score - top), code = (float)__nv_fp8_e4m3(weight * 256) / 256;
      sum += SUM_OF_CODES ? code : weight;
      for (int d = 0; d < 16; ++d) acc[d] += code * v[j * 16 + d];
    }
    if (pass == 0) top = warp_max(top);
  }
  sum = warp_sum(sum);
  for (int d = 0; d < 16; ++d) {
    const float value = warp_sum(acc[d]) / sum;
    if (threadIdx.x == 0) o[blockIdx.x * 16 + d] = value;
  }
}

// ---- Faults at one size, or where a row is empty.
#ifndef ROW
#define ROW int
#endif
#ifndef LEAST_SCALE
#define LEAST_SCALE 1.0f
#endif
// Twice each row.
__global__ void twice(float* y, const float* x, int n, int m) {
  const int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r >= n) return;
  const int from = (ROW)r;
  for (int i = 0; i < m; ++i) y[r * m + i] = 2 * x[from * m + i];
}
__global__ void twice_plain(float* y, const float* x, int n, int m) {
  const int r = blockIdx.x * blockDim.x + threadIdx.x;
  for (int i = 0; i < m && r < n; ++i) y[r * m + i] = 2 * x[r * m + i];
}
// Codes and the scale of each row; that of zeros is 1.
__global__ void codes(signed char* y, float* scales, const float* x, int m) {
  const float* row = x + blockIdx.x * m;
  float top = 0;
  for (int i = threadIdx.x; i < m; i += 32) top = fmaxf(top, fabsf(row[i]));
  top = warp_max(top);
  const float scale = top > 0 ? top / 127 : LEAST_SCALE;
  for (int i = threadIdx.x; i < m; i += 32) y[blockIdx.x * m + i] = (signed char)rintf(row[i] / scale);
  if (threadIdx.x == 0) scales[blockIdx.x] = scale;
}
__global__ void codes_plain(signed char* y, float* scales, const float* x, int m) {
  const float* row = x + blockIdx.x * m;
  double top = 0;
  for (int i = 0; i < m; ++i) top = fmax(top, fabs((double)row[i]));
  const double scale = top > 0 ? top / 127 : 1;
  for (int i = 0; i < m; ++i) y[blockIdx.x * m + i] = (signed char)rint(row[i] / scale);
  scales[blockIdx.x] = scale;
}
