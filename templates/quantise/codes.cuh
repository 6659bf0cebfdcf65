// From elements to codes. All is f32 arithmetic, each operation rounded once: there is one right answer.
// Affine scale: the range of the finite values and of 0, / 255. NaN has the zero point, infinities the codes 0 and 255.
// E4M3 scale: the largest finite magnitude / 448. NaN has code 127, infinities become 448.
// A group without a finite value other than 0 has scale 1 and zero point 128.

constexpr bool affine = ${codes == 'affine'};  // codes with a zero point; else E4M3
constexpr bool divides = ${division == 'ieee'};  // quotients; else they are corrected products with the inverse
constexpr float least_scale = 5.421010862427522e-20f;  // 2^-64: quotients below are not subnormal
constexpr float largest_finite = 3.402823466e38f;

// Magnitudes of the lowest (x) and the highest (y) of some values and 0. As bits they are in order.
typedef float2 Extremes;

__device__ __forceinline__ Extremes wider_of(Extremes a, Extremes b) {
  return make_float2(fmaxf(a.x, b.x), fmaxf(a.y, b.y));
}

__device__ __forceinline__ Extremes widened(Extremes extremes, float value) {
  return make_float2(fmaxf(extremes.x, -value), fmaxf(extremes.y, value));  // fmaxf passes over NaN
}

template <int length>
__device__ __forceinline__ Extremes extremes_of(const float (&values)[length]) {
  Extremes extremes = make_float2(0.0f, 0.0f);
#pragma unroll
  for (int i = 0; i < length; ++i) extremes = widened(extremes, values[i]);
  if (fmaxf(extremes.x, extremes.y) <= largest_finite) return extremes;
  extremes = make_float2(0.0f, 0.0f);
#pragma unroll
  for (int i = 0; i < length; ++i) {
    if (fabsf(values[i]) <= largest_finite) extremes = widened(extremes, values[i]);
  }
  return extremes;
}

struct Quantiser {
  float scale;
  float inverse;  // 1 / scale, rounded
  int zero_point;
};

__device__ __forceinline__ Quantiser quantiser_of(Extremes extremes) {
  Quantiser quantiser = {1.0f, 1.0f, 128};
  if (fmaxf(extremes.x, extremes.y) > 0.0f) {
    if constexpr (affine) {
      const float range = __fadd_rn(__fdiv_rn(extremes.y, 255.0f), __fdiv_rn(extremes.x, 255.0f));
      quantiser.scale = fmaxf(range, least_scale);
      quantiser.zero_point = min(__float2int_rn(__fdiv_rn(extremes.x, quantiser.scale)), 255);
    } else {
      quantiser.scale = fmaxf(__fdiv_rn(fmaxf(extremes.x, extremes.y), 448.0f), least_scale);
    }
    quantiser.inverse = __frcp_rn(quantiser.scale);
  }
  return quantiser;
}

// value / scale, rounded once.
__device__ __forceinline__ float quotient_of(float value, const Quantiser& quantiser) {
  if constexpr (divides) return __fdiv_rn(value, quantiser.scale);
  // One step from the product with a correctly rounded inverse is exact (Markstein); infinities would become NaN.
  const float product = __fmul_rn(value, quantiser.inverse);
  const float rest = __fmaf_rn(-product, quantiser.scale, value);
  return fabsf(product) <= largest_finite ? __fmaf_rn(rest, quantiser.inverse, product) : product;
}

// Codes of four values, the first in the lowest byte.
__device__ __forceinline__ u32 codes_of(const float* values, const Quantiser& quantiser) {
  if constexpr (affine) {
    u32 codes = 0;
#pragma unroll
    for (int i = 3; i >= 0; --i) {
      // NaN converts to 0, infinities to the largest integers.
      const int steps = __float2int_rn(quotient_of(values[i], quantiser));
      const int code = min(max(steps, -quantiser.zero_point), 255 - quantiser.zero_point) + quantiser.zero_point;
      codes = codes << 8 | (u32)code;
    }
    return codes;
  } else {
    return join(e4m3x2_from_f32(quotient_of(values[0], quantiser), quotient_of(values[1], quantiser)),
                e4m3x2_from_f32(quotient_of(values[2], quantiser), quotient_of(values[3], quantiser)));
  }
}

// Codes of a packet of elements: half or a quarter as many bytes.
__device__ __forceinline__ void store_codes(unsigned char* to, const ElementPacket& packet,
                                            const Quantiser& quantiser) {
  float values[packet_elements];
  unpack(packet, values);
  Packet<packet_elements> codes;
#pragma unroll
  for (int i = 0; i < packet_elements; i += 4) codes.word[i / 4] = codes_of(values + i, quantiser);
  store(to, codes);
}

__device__ __forceinline__ void store_quantiser(float* scales, unsigned char* zero_points, long long group,
                                                const Quantiser& quantiser) {
  scales[group] = quantiser.scale;
  if constexpr (affine) zero_points[group] = (unsigned char)quantiser.zero_point;
}

// Over groups of `lanes` neighbouring lanes, a power of two; all lanes of the warp take part and get the result.
template <int lanes>
__device__ __forceinline__ Extremes widest_of_lanes(Extremes extremes) {
#pragma unroll
  for (int mask = lanes / 2; mask > 0; mask /= 2) {
    extremes = wider_of(extremes, make_float2(__shfl_xor_sync(0xffffffffu, extremes.x, mask),
                                              __shfl_xor_sync(0xffffffffu, extremes.y, mask)));
  }
  return extremes;
}
