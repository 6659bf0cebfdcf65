// One CTA: a thread sums up its part of the elements, in double precision, and then goes through it again.
constexpr int threads = 1024;

extern "C" __global__ void scan_reference(const float* x, float* y, int N) {
  __shared__ double of_thread[threads];
  const long long part = ((long long)N + threads - 1) / threads;
  const long long first = min((long long)N, threadIdx.x * part), last = min((long long)N, first + part);
  double sum = 0;
  for (long long i = first; i < last; ++i) sum += x[i];
  of_thread[threadIdx.x] = sum;
  __syncthreads();
  sum = 0;
  for (int i = 0; i < threadIdx.x; ++i) sum += of_thread[i];
  for (long long i = first; i < last; ++i) {
    const double before = sum;
    sum += x[i];
    y[i] = (float)(${exclusive} ? before : sum);
  }
}
