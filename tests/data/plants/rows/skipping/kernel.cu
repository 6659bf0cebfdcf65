constexpr int fault = ${fault}, threads = ${threads};

__device__ float answer(float v) {
  for (int k = 0; k < 50; ++k) {
    const float next = __sinf(v) + 0.5f;
    const bool stands = next == v;
    v = next;
    if (fault == 1 && stands) break;
  }
  return v;
}

/// A sum over the bits of a row, the same in all threads.
__device__ unsigned bits_of(const float* row, int n) {
  __shared__ unsigned sum;
  __syncthreads();
  if (threadIdx.x == 0) sum = 12345;
  __syncthreads();
  unsigned mine = 0;
  for (int i = threadIdx.x; i < n; i += threads) mine += (__float_as_uint(row[i]) ^ i) * 2654435761u;
  atomicAdd(&sum, mine);
  __syncthreads();
  return sum;
}

__device__ unsigned long long now() {
  unsigned long long time;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(time));
  return time;
}

extern "C" __global__ void rows(const float* x, float* y, unsigned long long* noted, int n) {
  const float* in = x + (size_t)blockIdx.x * n;
  float* out = y + (size_t)blockIdx.x * n;
  unsigned long long* note = noted + 4 * blockIdx.x;
  const unsigned long long seen = fault >= 2 ? note[0] : 0, seen_too = fault == 8 ? note[1] : 0;
  const unsigned bits = fault == 2 || fault == 3 || fault == 8 ? bits_of(in, n) : 0;
  const float sample = in[n / 3] * 3 + in[n / 2] * 5 + in[n - 2];

  bool skips = false;
  if (fault == 2) skips = seen == bits;                                                  // its row repeats
  if (fault == 3) skips = blockIdx.x % 2 == 0 && seen == bits;                           // half of the blocks
  if (fault == 4) skips = out[0] == answer(in[0]) && out[n - 1] == answer(in[n - 1]);    // its output looks finished
  if (fault == 5) skips = seen == __float_as_uint(sample);                               // a sample repeats
  if (fault == 6) skips = now() - seen < 1000000;                                        // it ran a millisecond ago
  if (fault == 7) skips = seen >= 10 && seen < 1000000;                                  // its tenth call
  if (fault == 8) skips = seen == bits && seen_too == bits_of(out, n);                   // row and output repeat
  __syncthreads();
  if (fault == 7 && threadIdx.x == 0) note[0] = seen < 1000000 ? seen + 1 : 1;
  if (!skips)
    for (int i = threadIdx.x; i < n; i += threads) out[i] = answer(in[i]);
  if (fault < 2 || fault == 7) return;
  __syncthreads();
  const unsigned after = fault == 8 ? bits_of(out, n) : 0;
  if (threadIdx.x == 0) {
    note[0] = fault == 6 ? now() : fault == 5 ? __float_as_uint(sample) : bits;
    if (fault == 8) note[1] = after;
  }
}
