// A part of a row of any length that begins anywhere, as packets: those that lie in it as a whole, from a multiple of
// their size on, and the elements before the first and behind the last one. Needs elements.cuh, packet_elements and
// row_threads.
struct UnalignedRow {
  long long begin, end;                                 // elements of the tensor
  long long first_packet, last_packet;                  // packets of the tensor, the last one excluded
};

__device__ __forceinline__ UnalignedRow unaligned_row(long long begin, long long end) {
  const long long first = (begin + packet_elements - 1) / packet_elements;
  return {begin, end, first, max(first, end / packet_elements)};
}

// Calls use(element) for the elements that lie in no packet: fewer than two packets of them.
template <class Use>
__device__ __forceinline__ void for_each_single(const UnalignedRow& row, Use use) {
  const long long head_end = min(row.first_packet * packet_elements, row.end);
  const long long tail_begin = max(row.last_packet * packet_elements, head_end);
  const int lane = threadIdx.x % row_threads;
  for (long long i = row.begin + lane; i < head_end; i += row_threads) use(i);
  for (long long i = tail_begin + lane; i < row.end; i += row_threads) use(i);
}
