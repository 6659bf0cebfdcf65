// o = softmax(scale q k^T) v for one query row and head: one block of D threads, everything in double precision on
// exactly decoded codes.

//% let gathered_weight = 'score[i]'
#include "include/reference/attention.cuh"

struct Decoder {
  int q_zero;
  double q_scale;
  int k_zero;
  double k_scale;
  int v_zero;
  double v_scale;

  __device__ double query(unsigned char code) const { return ((int)code - q_zero) * q_scale; }
  __device__ double key(unsigned char code) const { return ((int)code - k_zero) * k_scale; }
  __device__ double value(unsigned char code) const { return ((int)code - v_zero) * v_scale; }
};

extern "C" __global__ void sim_fp8_sdpa_reference(const unsigned char* q, const unsigned char* k,
                                                  const unsigned char* v, const float* q_scales,
                                                  const float* k_scales, const float* v_scales,
                                                  const unsigned char* q_zeros, const unsigned char* k_zeros,
                                                  const unsigned char* v_zeros, float* o, float softmax_scale, int M,
                                                  int N) {
  constexpr int D = ${D};
  const int head = blockIdx.y;
  const int scale_of = ${scales == 'head' ? 'head' : '0'};
  const long long row_start = ((long long)head * M + blockIdx.x) * D;
  const long long head_start = (long long)head * N * D;
  // Causal: row i of M attends to keys 0 to N - M + i.
  const int keys = ${mask == 'causal' ? 'N - M + blockIdx.x + 1' : 'N'};
  const Decoder decoder = {q_zeros[scale_of], q_scales[scale_of], k_zeros[scale_of],
                           k_scales[scale_of], v_zeros[scale_of], v_scales[scale_of]};
  const double result =
      attention<D>(q + row_start, k + head_start, v + head_start + threadIdx.x, D, keys, softmax_scale, decoder);
  o[row_start + threadIdx.x] = (float)result;
}
