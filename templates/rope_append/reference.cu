// Rotary embedding and append to a paged cache, in double precision on the exactly decoded elements: a CTA for each
// head of a token, in which a thread has an element. Heads of queries come first, then those of keys and of values.

typedef unsigned short Element;
__device__ double decode(Element element) { return __uint_as_float((unsigned int)element << 16); }

constexpr int D = ${D};
constexpr int R = ${R};                                 // elements that are rotated, the first ones
constexpr int page = ${page};
constexpr int theta = ${theta};                         // 0: a table has cosines and sines
constexpr bool interleaved = ${pairs == 'interleaved'};  // pairs are neighbours; else they are R / 2 apart
constexpr bool fused = ${layout == 'fused'};            // queries, keys and values of a token lie behind each other
constexpr bool heads_outside = ${cache_layout == 'hnd'};  // a page has its tokens head by head
constexpr bool in_place = ${in_place};
constexpr bool codes = ${cache == 'e4m3'};
constexpr bool scale_of_head = ${scales == 'head'};

// Element d of a head that is turned by the angles of a position.
template <class Head>
__device__ double rotated(const Head& head, int d, int position, const float* cos_sin) {
  if (d >= R) return head(d);
  const int pair = interleaved ? d / 2 : d % (R / 2);
  const bool first = interleaved ? d % 2 == 0 : d < R / 2;
  const int distance = interleaved ? 1 : R / 2;
  double cosine, sine;
  if constexpr (theta > 0) {
    const double angle = position * pow((double)theta, -2.0 * pair / R);
    cosine = cos(angle);
    sine = sin(angle);
  } else {
    cosine = cos_sin[(long long)position * R + pair];
    sine = cos_sin[(long long)position * R + R / 2 + pair];
  }
  return first ? head(d) * cosine - head(d + distance) * sine : head(d) * cosine + head(d - distance) * sine;
}

// To the nearest bf16, ties to even.
__device__ float rounded(double value) {
  const float near = (float)value;
  const unsigned int bits = __float_as_uint(near);
  if (!isfinite((float)near)) return near;
  return __uint_as_float((bits + 0x7fff + (bits >> 16 & 1)) & 0xffff0000u);
}

// What the cache holds; NaN stays NaN. Codes are multiples of 2^-9 up to 2^-6, and have three bits behind the leading
// one from there on; ties to even.
__device__ float cached(double value, const float* scales, int head) {
  if constexpr (!codes) return rounded(value);
  const float quotient = (float)(value / scales[scale_of_head ? head : 0]);
  if (isnan((float)quotient)) return quotient;
  if (quotient > 448 || quotient < -448) return quotient > 0 ? 448 : -448;
  int exponent;
  frexpf(quotient, &exponent);
  const int last_bit = max(exponent - 4, -9);
  return ldexpf(rintf(ldexpf(quotient, -last_bit)), last_bit);
}

extern "C" __global__ void rope_append_reference(
    const Element* q, const Element* k, const Element* v, const int* positions, const float* cos_sin, const int* slots,
    const int* slots_in_order, const float* k_scale, const float* v_scale, float* q_in_place, float* q_rotated,
    float* k_cache, float* v_cache, int H, int H_kv, int S) {
  const int token = blockIdx.x, d = threadIdx.x;
  const long long row = (long long)(H + 2 * H_kv) * D;
  if (blockIdx.y < H) {
    const int head = blockIdx.y;
    const long long from = token * (fused ? row : (long long)H * D) + head * D;
    if constexpr (in_place) {
      const double value = rotated([&](int i) { return q_in_place[from + i]; }, d, positions[token], cos_sin);
      __syncthreads();
      q_in_place[from + d] = rounded(value);
    } else {
      q_rotated[((long long)token * H + head) * D + d] =
          rounded(rotated([&](int i) { return decode(q[from + i]); }, d, positions[token], cos_sin));
    }
    return;
  }
  const bool is_key = blockIdx.y < H + H_kv;
  const int head = blockIdx.y - H - (is_key ? 0 : H_kv);
  const int slot = ${slot_order == 'random' ? 'slots' : 'slots_in_order'}[token];
  if (slot < 0 || slot >= S) return;
  const long long from = token * (fused ? row : (long long)H_kv * D) + head * D;
  const long long of_page = (long long)(slot / page) * page * H_kv;
  const long long to = (of_page + (heads_outside ? head * page + slot % page : slot % page * H_kv + head)) * D + d;
  if (is_key) {
    k_cache[to] = cached(rotated([&](int i) { return decode(k[from + i]); }, d, positions[token], cos_sin), k_scale, head);
  } else {
    v_cache[to] = cached(decode(v[from + d]), v_scale, head);
  }
}
