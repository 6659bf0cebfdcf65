// Rotation of the pairs of elements that a thread has of a head: the packets at its first column and at the second one,
// which is half of the rotated elements further. Needs elements.cuh.
constexpr int head_dim = ${D};
constexpr int rotary = ${R};                              // elements of a head that are rotated, the first ones
constexpr bool interleaved = ${pairs == 'interleaved'};  // pairs are neighbours; else they are in two packets
constexpr bool has_theta = ${theta > 0};                 // else a table has cosines and sines
constexpr int packet_bytes = ${packet_bytes};
constexpr int packet_elements = packet_bytes / sizeof(Element);
constexpr int head_threads = ${head_threads};
typedef Packet<packet_bytes> HeadPacket;

// Of the pairs of a thread.
struct Angles {
  float cosine[packet_elements], sine[packet_elements];
};

template <int count>
__device__ __forceinline__ void load_factors(float* to, const float* from) {
  constexpr int together = count < 4 ? count : 4;
#pragma unroll
  for (int i = 0; i < count; i += together) {
    Packet<4 * together> packet;
    load_shared_by_rows(packet, from + i);
#pragma unroll
    for (int j = 0; j < together; ++j) to[i + j] = __uint_as_float(packet.word[j]);
  }
}

// Pair i of this thread, which is thread `item` of its head.
__device__ __forceinline__ int pair_of(int item, int i) {
  if constexpr (!interleaved) return item * packet_elements + i;
  constexpr int half = packet_elements / 2;
  return (i / half) * (rotary / 4) + item * half + i % half;
}

//% if theta > 0
// theta^(-2 i / R) / (2 pi) for pair i: turns from a position to the next.
__device__ const double turns_of_pair[rotary / 2] = {
//% for i in 0..R / 2
    ${pow(theta, -2.0 * i / R) / 6.283185307179586},
//% end
};

// Whole turns are left out exactly: the product with the upper part of the turns is known to its last bit. Positions
// are below 2^24.
__device__ __forceinline__ float turn_of(int position, double turns) {
  const float upper = (float)turns, lower = (float)(turns - upper);
  const float product = (float)position * upper;
  const float rest = fmaf((float)position, upper, -product);
  return product - rintf(product) + fmaf((float)position, lower, rest);
}
//% end

__device__ __forceinline__ Angles angles_of(int position, const float* cos_sin, int item) {
  Angles angles;
//% if theta > 0
#pragma unroll
  for (int i = 0; i < packet_elements; ++i) {
    const float turn = turn_of(position, turns_of_pair[pair_of(item, i)]);
    if constexpr (${sine == 'accurate'}) {
      sincospif(2.0f * turn, &angles.sine[i], &angles.cosine[i]);
    } else {
      angles.sine[i] = __sinf(6.2831853f * turn);
      angles.cosine[i] = __cosf(6.2831853f * turn);
    }
  }
//% else
  constexpr int neighbours = interleaved ? packet_elements / 2 : packet_elements;
  const float* of_position = cos_sin + (long long)position * rotary;
#pragma unroll
  for (int i = 0; i < packet_elements; i += neighbours) {
    load_factors<neighbours>(angles.cosine + i, of_position + pair_of(item, i));
    load_factors<neighbours>(angles.sine + i, of_position + rotary / 2 + pair_of(item, i));
  }
//% end
  return angles;
}

// What a thread has of a head, as f32: two packets behind each other.
typedef float HeadValues[2 * packet_elements];

__device__ __forceinline__ void rotate(HeadValues& values, const Angles& angles) {
#pragma unroll
  for (int i = 0; i < packet_elements; ++i) {
    const int first = interleaved ? 2 * i : i, second = interleaved ? first + 1 : i + packet_elements;
    const float x = values[first], y = values[second];
    values[first] = x * angles.cosine[i] - y * angles.sine[i];
    values[second] = y * angles.cosine[i] + x * angles.sine[i];
  }
}
