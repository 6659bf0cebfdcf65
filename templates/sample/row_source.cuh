// A row of logits as ranks (top_k/ranks.cuh), which the threads of a CTA go through together. Needs elements.cuh,
// scalars.cuh, unaligned_row.cuh and weights.cuh.

// The logit that a rank was made of.
__device__ __forceinline__ float logit_of(Rank rank) {
  const u32 key = rank >> 32;
  return __uint_as_float(key >> 31 ? key ^ 0x80000000u : ~key);
}

struct Row {
  const Element* logits;                                // of all rows
  UnalignedRow extent;
  int count;

  __device__ __forceinline__ Rank operator[](int i) const {
    return rank_of(finite(value_of(logits[extent.begin + i])), i);
  }

  // With so many packets of a thread on their way at a time.
  template <int on_way, class Use>
  __device__ __forceinline__ void for_each(Use use) const {
#pragma unroll 1
    for (long long first = extent.first_packet + threadIdx.x; first < extent.last_packet; first += on_way * threads) {
      RowPacket arrived[on_way];
#pragma unroll
      for (int i = 0; i < on_way; ++i) {
        const long long packet = first + i * threads;
        if (packet < extent.last_packet) load_once(arrived[i], logits + packet * packet_elements);
      }
#pragma unroll
      for (int i = 0; i < on_way; ++i) {
        const long long packet = first + i * threads;
        if (packet >= extent.last_packet) break;
        float values[packet_elements];
        unpack(arrived[i], values);
        const u32 index = packet * packet_elements - extent.begin;
#pragma unroll
        for (int j = 0; j < packet_elements; ++j) use(rank_of(finite(values[j]), index + j));
      }
    }
    for_each_single(extent, [&](long long i) { use((*this)[i - extent.begin]); });
  }
};
