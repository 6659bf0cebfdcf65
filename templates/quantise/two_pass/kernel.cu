// quantise/two_pass: ${dtype} elements to ${codes} codes, with a scale for ${scales == 'head' ? 'each head' : 'all'}.
// CTAs share the elements of a scale, a group; the first kernel finds their extremes, the second one writes the codes.

#include "quantise/elements.cuh"

constexpr int threads = ${threads};
constexpr int batch = ${batch};  // packets of a thread at a time
constexpr bool atomic = ${combine == 'atomic'};  // how extremes of the CTAs meet; else each is found by itself
constexpr int batch_elements = threads * packet_elements * batch;

__device__ __forceinline__ Extremes widest_of_cta(Extremes extremes) {
  constexpr int warps = threads / 32;
  __shared__ Extremes of_warp[warps];
  extremes = widest_of_lanes<32>(extremes);
  if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = extremes;
  __syncthreads();
  return widest_of_lanes<warps>(of_warp[threadIdx.x % warps]);
}

// Calls `body(packet, at)` with the packets of this CTA's share of its group; `at` counts from the group's begin.
template <typename Body>
__device__ __forceinline__ void for_each_packet(const Element* group, long long length, int share, int shares,
                                                bool backward, const Body& body) {
  const long long batches = (length + batch_elements - 1) / batch_elements;
  for (long long turn = share; turn < batches; turn += shares) {
    const long long first = (backward ? batches - 1 - turn : turn) * batch_elements + threadIdx.x * packet_elements;
    ElementPacket packet[batch];
#pragma unroll
    for (int i = 0; i < batch; ++i) {
      const long long at = first + i * threads * packet_elements;
      packet[i] = ElementPacket();
      if (at < length) load_once(packet[i], group + at);
    }
#pragma unroll
    for (int i = 0; i < batch; ++i) {
      const long long at = first + i * threads * packet_elements;
      if (at < length) body(packet[i], at);
    }
  }
}

extern "C" __global__ void __launch_bounds__(threads, ${min_blocks}) find_extremes(
    const Element* __restrict__ x_drawn, const Element* __restrict__ x_bits, Extremes* __restrict__ found,
    unsigned long long length, int shares) {
  const Element* x = ${any_bits ? 'x_bits' : 'x_drawn'};
  const int group = blockIdx.x / shares;
  if constexpr (waits_for_launches) {
    wait_for_launch_ahead();
    start_launch_behind();
  }
  Extremes extremes = make_float2(0.0f, 0.0f);
  for_each_packet(x + group * length, length, blockIdx.x % shares, shares, false,
                  [&](const ElementPacket& packet, long long) {
                    float values[packet_elements];
                    unpack(packet, values);
                    extremes = wider_of(extremes, extremes_of(values));
                  });
  extremes = widest_of_cta(extremes);
  if constexpr (atomic) {
    u32* of_group = reinterpret_cast<u32*>(found + group);
    if (threadIdx.x == 0) atomicMax(of_group, __float_as_uint(extremes.x));
    if (threadIdx.x == 1) atomicMax(of_group + 1, __float_as_uint(extremes.y));
  } else {
    if (threadIdx.x == 0) found[blockIdx.x] = extremes;
  }
}

extern "C" __global__ void __launch_bounds__(threads, ${min_blocks}) write_codes(
    const Element* __restrict__ x_drawn, const Element* __restrict__ x_bits, const Extremes* found,
    unsigned char* __restrict__ y, float* __restrict__ scales, unsigned char* __restrict__ zero_points,
    unsigned long long length, int shares) {
  const Element* x = ${any_bits ? 'x_bits' : 'x_drawn'};
  const int group = blockIdx.x / shares;
  if constexpr (waits_for_launches) {
    wait_for_launch_ahead();
    start_launch_behind();
  }
  Extremes extremes = make_float2(0.0f, 0.0f);
  if constexpr (atomic) {
    extremes = found[group];
  } else {
    for (int share = threadIdx.x; share < shares; share += threads) {
      extremes = wider_of(extremes, found[group * shares + share]);
    }
    extremes = widest_of_cta(extremes);
  }
  const Quantiser quantiser = quantiser_of(extremes);
  for_each_packet(x + group * length, length, blockIdx.x % shares, shares, ${second_order == 'backward'},
                  [&](const ElementPacket& packet, long long at) {
                    store_codes(y + group * length + at, packet, quantiser);
                  });
  if (blockIdx.x % shares == 0 && threadIdx.x == 0) store_quantiser(scales, zero_points, group, quantiser);
}
