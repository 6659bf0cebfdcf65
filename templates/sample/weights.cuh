// What a logit weighs: 2^40 exp((logit - largest) / temperature), as a whole number. Each operation is rounded once,
// and whole numbers add up to the same in any order: there is one right answer. Sums of 2^22 weights stay below 2^63.
typedef unsigned long long Weight;

constexpr float greedy_below = 1e-5f;                     // temperatures at which the largest logit is drawn
constexpr float largest_finite = 3.402823466e38f;
constexpr int weight_bits = 40;                           // the largest logit weighs 2^40, what is below 1 weighs 0

// What is not finite counts as the nearest that is, NaN as the lowest.
__device__ __forceinline__ float finite(float logit) { return fminf(fmaxf(logit, -largest_finite), largest_finite); }

// 2^x for x from 0 up to 1: relative error 2^-23.
__device__ __forceinline__ float power_of_fraction(float x) {
  float power = 2.0817914628423750e-4f;
  power = __fmaf_rn(power, x, 1.2692166492342949e-3f);
  power = __fmaf_rn(power, x, 9.6521954983472824e-3f);
  power = __fmaf_rn(power, x, 5.5496022105216980e-2f);
  power = __fmaf_rn(power, x, 2.4022720754146576e-1f);
  power = __fmaf_rn(power, x, 6.9314718246459961e-1f);
  return __fmaf_rn(power, x, 1.0f);
}

struct Weights {
  float largest;                                        // of the row
  float factor;                                         // from differences of logits to powers of two
  __device__ __forceinline__ Weight of(float logit) const {
    const float exponent = __fmul_rn(__fsub_rn(logit, largest), factor);
    if (!(exponent > -(weight_bits + 1))) return 0;
    const float whole = floorf(exponent);
    const float power = power_of_fraction(__fsub_rn(exponent, whole));
    return ((Weight)(power * 0x1p30f) << (weight_bits - 30)) >> -(int)whole;
  }
};

__device__ __forceinline__ float factor_of(float temperature) { return __fdiv_rn(1.4426950408889634f, temperature); }

// This part of a weight, rounded down. Weights of sums are rounded to f64 first.
__device__ __forceinline__ Weight part_of(Weight weight, float part) {
  return (Weight)__dmul_rn(__ull2double_rn(weight), (double)fmaxf(part, 0.0f));
}
