// An index drawn from each row of logits: a CTA for each row. Sets of the largest logits are known by their least rank,
// which is found byte by byte. Weights are whole numbers, defined in f32 arithmetic, each operation rounded once.

#include "include/reference/elements.cuh"

typedef unsigned long long u64;
constexpr int threads = 128;
constexpr float largest_finite = 3.402823466e38f;

__device__ float finite(float logit) {
  if (isnan(logit)) return -largest_finite;
  return isinf(logit) ? copysignf(largest_finite, logit) : logit;
}

// Grows with the logit; of equal ones the lower index has the larger rank. No two are the same, and none is 0.
__device__ u64 rank_of(float logit, int index) {
  const unsigned bits = __float_as_uint(logit == 0 ? 0.0f : logit);
  const unsigned key = bits >> 31 ? ~bits : bits | 0x80000000u;
  return (u64)key << 32 | (0xffffffffu - index);
}

struct Row {
  const Element* logits;
  int V;
  float largest, factor;
  __device__ float logit(int i) const { return finite((float)decode(logits[i])); }
  __device__ u64 rank(int i) const { return rank_of(logit(i), i); }
  // 2^40 times 2 to the power of (logit - largest) * factor; 0 below 1.
  __device__ u64 weight(int i) const {
    const float exponent = __fmul_rn(__fsub_rn(logit(i), largest), factor);
    if (!(exponent > -41)) return 0;
    const float coefficients[7] = {1.0f, 6.9314718246459961e-1f, 2.4022720754146576e-1f, 5.5496022105216980e-2f,
                                   9.6521954983472824e-3f, 1.2692166492342949e-3f, 2.0817914628423750e-4f};
    const float x = __fsub_rn(exponent, floorf(exponent));
    float power = 0;
    for (int n = 6; n >= 0; --n) power = __fmaf_rn(power, x, coefficients[n]);
    return (u64)(power * 1099511627776.0f) >> (int)-floorf(exponent);
  }
};

// The sum over all logits of `of`; every thread gets it.
template <class Of>
__device__ u64 sum(const Row& row, const Of& of) {
  __shared__ u64 all;
  __syncthreads();
  if (threadIdx.x == 0) all = 0;
  __syncthreads();
  u64 own = 0;
  for (int i = threadIdx.x; i < row.V; i += threads) own += of(i);
  atomicAdd(&all, own);
  __syncthreads();
  return all;
}

// The largest rank such that what it and larger ones measure comes to `wanted`: byte by byte, from above.
template <class Measure>
__device__ u64 least_rank(const Row& row, u64 wanted, const Measure& measure) {
  __shared__ u64 of_byte[256];
  u64 known = 0;
  for (int shift = 56; shift >= 0; shift -= 8) {
    __syncthreads();
    for (int byte = threadIdx.x; byte < 256; byte += threads) of_byte[byte] = 0;
    __syncthreads();
    for (int i = threadIdx.x; i < row.V; i += threads) {
      const u64 rank = row.rank(i);
      const bool agrees = shift == 56 || rank >> (shift + 8) == known >> (shift + 8);
      if (agrees) atomicAdd(&of_byte[rank >> shift & 255], measure(i));
    }
    __syncthreads();
    int byte = 255;
    for (; of_byte[byte] < wanted; --byte) wanted -= of_byte[byte];
    known |= (u64)byte << shift;
  }
  return known;
}

__device__ u64 part_of(u64 weight, float part) { return (u64)((double)weight * (double)fmaxf(part, 0.0f)); }

extern "C" __global__ void sample_reference(const Element* logits, const float* temperature, const int* top_k,
                                            const float* top_p, const float* min_p, const float* uniform, int* index,
                                            float* probability, int V) {
  const int n = blockIdx.x;
  Row row = {logits + (long long)n * V, V, 0, 0};
  const u64 first = least_rank(row, 1, [&](int) -> u64 { return 1; });
  row.largest = row.logit(0xffffffffu - (unsigned)first);
  const bool greedy = !(temperature[n] >= 1e-5f);
  row.factor = __fdiv_rn(1.4426950408889634f, greedy ? 1.0f : temperature[n]);

  const int k = greedy ? 1 : top_k[n] <= 0 ? V : min(top_k[n], V);
  u64 least = least_rank(row, k, [&](int) -> u64 { return 1; });
  const u64 of_top_k = sum(row, [&](int i) { return row.rank(i) >= least ? row.weight(i) : 0; });
  if (top_p[n] < 1) {
    least = max(least, least_rank(row, max(1ull, part_of(of_top_k, top_p[n])), [&](int i) { return row.weight(i); }));
  }
  const u64 least_weight = part_of(1ull << 40, min_p[n]);
  const auto kept_weight = [&](int i) -> u64 {
    const u64 rank = row.rank(i), weight = row.weight(i);
    return rank == first || (rank >= least && weight >= least_weight) ? weight : 0;
  };
  const u64 of_all = sum(row, kept_weight);
  if (threadIdx.x > 0) return;
  const u64 target = min(of_all - 1, part_of(of_all, uniform[n]));
  u64 passed = 0;
  for (int i = 0; i < V; ++i) {
    const u64 weight = kept_weight(i);
    passed += weight;
    if (passed <= target) continue;
    index[n] = i;
    probability[n] = (float)((double)weight / (double)of_all);
    return;
  }
}
