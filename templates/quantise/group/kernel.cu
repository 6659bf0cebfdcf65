// quantise/group: ${dtype} elements to ${codes} codes, 128 neighbouring elements of a head with a scale of their own.
// A thread has ${packets} packet(s) of ${packet_bytes} bytes at a time, and a group belongs to neighbouring lanes.

#include "quantise/elements.cuh"

constexpr int threads = ${threads};
constexpr int packets = ${packets};
constexpr bool persistent = ${ctas_per_sm > 0};  // CTAs walk over all groups
constexpr int group_elements = 128;
constexpr int group_lanes = group_elements / packet_elements;
constexpr int groups_at_once = threads / group_lanes;

extern "C" __global__ void __launch_bounds__(threads, ${min_blocks}) quantise_groups(
    const Element* __restrict__ x_drawn, const Element* __restrict__ x_bits, unsigned char* __restrict__ y,
    float* __restrict__ scales, unsigned char* __restrict__ zero_points, int H, int N) {
  const Element* x = ${any_bits ? 'x_bits' : 'x_drawn'};
  const int head_groups = (N + group_elements - 1) / group_elements;
  const int groups = H * head_groups;
  const int column = threadIdx.x % group_lanes * packet_elements;  // within a group
  if constexpr (waits_for_launches) {
    wait_for_launch_ahead();
    start_launch_behind();
  }
  for (int batch = blockIdx.x; !persistent || batch * packets * groups_at_once < groups; batch += gridDim.x) {
    ElementPacket packet[packets];
    long long at[packets];  // where the packet begins; -1: behind the end of the head or of all
#pragma unroll
    for (int i = 0; i < packets; ++i) {
      const int group = (batch * packets + i) * groups_at_once + threadIdx.x / group_lanes;
      const int head = group / head_groups;
      const int in_head = group % head_groups * group_elements + column;
      at[i] = group < groups && in_head < N ? (long long)head * N + in_head : -1;
      packet[i] = ElementPacket();
      if (at[i] >= 0) load_once(packet[i], x + at[i]);
    }
#pragma unroll
    for (int i = 0; i < packets; ++i) {
      const int group = (batch * packets + i) * groups_at_once + threadIdx.x / group_lanes;
      float values[packet_elements];
      unpack(packet[i], values);
      const Quantiser quantiser = quantiser_of(widest_of_lanes<group_lanes>(extremes_of(values)));
      if (at[i] < 0) continue;
      store_codes(y + at[i], packet[i], quantiser);
      if (column == 0) store_quantiser(scales, zero_points, group, quantiser);
    }
    if constexpr (!persistent) break;
  }
}
