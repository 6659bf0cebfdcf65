// The stages of fp8_sdpa for one query row and head, in double precision: one block of D threads.

#include "include/reference/e4m3.cuh"

extern "C" __global__ void fp8_sdpa_stages(const unsigned char* q, const unsigned char* k, const unsigned char* v,
                                           const float* q_scale, const float* k_scale, float* scores, float* weights,
                                           float* sums, float* rows, int S) {
#include "fp8_sdpa/reference_row.cuh"
  const long long row = (long long)head * S + blockIdx.x;

  float* row_scores = scores + row * S;
  for (int key = threadIdx.x; key < keys; key += D) {
    double dot = 0;
    for (int d = 0; d < D; ++d) dot += decode(q[row_start + d]) * decode(k[head_start + (long long)key * D + d]);
    row_scores[key] = (float)(dot * scale);
    weights[row * S + key] = row_scores[key];
  }
  __syncthreads();

  double row_max = row_scores[0];
  for (int key = 1; key < keys; ++key) row_max = max(row_max, (double)row_scores[key]);
  double row_sum = 0;
  double gathered = 0;
  for (int key = 0; key < keys; ++key) {
    const double weight = exp((double)row_scores[key] - row_max);
    row_sum += weight;
    gathered += weight * decode(column[key * next_value]);
  }
  if (threadIdx.x == 0) sums[row] = (float)(row_max + log(row_sum));
  rows[row_start + threadIdx.x] = (float)(gathered / row_sum);
}
