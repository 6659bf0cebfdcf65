// reduce/rows: ${op} over rows of ${dtype} elements, or over all as one row. A row has ${row_threads} threads in each of its CTAs.

#include "include/types.cuh"
#include "include/convert.cuh"
#include "include/grid_dependency.cuh"

#include "include/elements.cuh"
#include "include/scalars.cuh"
#include "reduce/state.cuh"

constexpr int row_threads = ${row_threads};
constexpr int cta_rows = ${cta_rows};
constexpr int threads = row_threads * cta_rows;
constexpr int row_warps = (row_threads + 31) / 32;
constexpr int packet_bytes = ${packet_bytes};
constexpr int packet_elements = packet_bytes / sizeof(Element);
constexpr int batch = ${batch};                           // packets that a thread has on their way at a time
typedef Packet<packet_bytes> RowPacket;

#include "include/unaligned_row.cuh"

__device__ __forceinline__ void add_packet(State& state, const RowPacket& packet, long long first_index) {
  float values[packet_elements];
  unpack(packet, values);
  if constexpr (operation == Operation::sum) {
    // In pairs: a thread's long sum gets one addend for each packet.
#pragma unroll
    for (int width = packet_elements / 2; width > 0; width /= 2) {
#pragma unroll
      for (int j = 0; j < width; ++j) values[j] += values[j + width];
    }
    state.value += values[0];
  } else {
#pragma unroll
    for (int j = 0; j < packet_elements; ++j) state = combine(state, State(values[j], first_index + j));
  }
}

__device__ __forceinline__ State state_of_part(const Element* x, const UnalignedRow& part, long long row_begin) {
  State state = nothing();
#pragma unroll 1
  for (long long first = part.first_packet + threadIdx.x % row_threads; first < part.last_packet;
       first += batch * row_threads) {
    RowPacket arrived[batch];
#pragma unroll
    for (int i = 0; i < batch; ++i) {
      const long long packet = first + i * row_threads;
      if (packet < part.last_packet) load_once(arrived[i], x + packet * packet_elements);
    }
#pragma unroll
    for (int i = 0; i < batch; ++i) {
      const long long packet = first + i * row_threads;
      if (packet < part.last_packet) add_packet(state, arrived[i], packet * packet_elements - row_begin);
    }
  }
  for_each_single(part, [&](long long i) { state = combine(state, State(value_of(x[i]), i - row_begin)); });
  return state;
}

extern "C" __global__ void __launch_bounds__(threads, ${min_blocks}) reduce_rows(
    const Element* __restrict__ x_drawn, const Element* __restrict__ x_bits, Element* __restrict__ y,
    long long* __restrict__ index, State* __restrict__ partial, int rows, unsigned long long columns, int parts) {
  __shared__ State of_warp[cta_rows * row_warps];
  if constexpr (waits_for_launches) {
    wait_for_launch_ahead();
    start_launch_behind();
  }
  const Element* x = ${any_bits ? 'x_bits' : 'x_drawn'};
  const int row = blockIdx.x / parts * cta_rows + (int)threadIdx.x / row_threads;
  const int part = blockIdx.x % parts;
  // Parts begin at multiples of a packet's elements within the row.
  const long long packets = (columns + packet_elements - 1) / packet_elements;
  const long long first = min((long long)columns, packets * part / parts * packet_elements);
  const long long last = min((long long)columns, packets * (part + 1) / parts * packet_elements);
  const long long row_begin = row * (long long)columns;
  const UnalignedRow of_part = unaligned_row(row_begin + first, row < rows ? row_begin + last : row_begin + first);
  State state = combine_lanes<row_threads < 32 ? row_threads : 32>(state_of_part(x, of_part, row_begin));
  if constexpr (row_warps > 1) {
    const int warp = threadIdx.x / 32;
    if (threadIdx.x % 32 == 0) of_warp[warp] = state;
    __syncthreads();
    if (threadIdx.x % row_threads > 0) return;
#pragma unroll
    for (int i = 1; i < row_warps; ++i) state = combine(state, of_warp[warp + i]);
  }
  if (row >= rows || threadIdx.x % row_threads > 0) return;
  if (parts > 1) {
    partial[(long long)part * rows + row] = state;
  } else {
    store_result(y, index, row, state);
  }
}

extern "C" __global__ void __launch_bounds__(finish_results * finish_threads) reduce_rows_finish(
    const State* __restrict__ partial, Element* __restrict__ y, long long* __restrict__ index, int rows, int parts) {
  finish(partial, y, index, rows, parts);
}
