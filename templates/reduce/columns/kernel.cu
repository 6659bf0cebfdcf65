// reduce/columns: ${op} over columns of ${dtype} elements. A thread has the columns of a packet in every ${cta_rows}th row
// of its CTA's part.

#include "include/types.cuh"
#include "include/convert.cuh"
#include "include/grid_dependency.cuh"

#include "include/elements.cuh"
#include "include/scalars.cuh"
#include "reduce/state.cuh"

constexpr int cta_packets = ${cta_packets};             // side by side
constexpr int cta_rows = ${cta_rows};
constexpr int packet_bytes = ${packet_bytes};
constexpr int packet_elements = packet_bytes / sizeof(Element);
constexpr int batch = ${batch};                           // packets that a thread has on their way at a time
typedef Packet<packet_bytes> RowPacket;

// Where rows are no whole packets, they begin anywhere, and elements are read one by one.
__device__ __forceinline__ void load_values(float (&values)[packet_elements], const Element* x, long long row,
                                            int column, int columns) {
  const Element* from = x + row * columns + column;
#pragma unroll
  for (int j = 0; j < packet_elements; ++j) values[j] = column + j < columns ? value_of(from[j]) : 0.0f;
}

__device__ __forceinline__ void add_values(State (&states)[packet_elements], const float (&values)[packet_elements],
                                           int row) {
#pragma unroll
  for (int j = 0; j < packet_elements; ++j) states[j] = combine(states[j], State(values[j], row));
}

__device__ __forceinline__ void reduce_part(State (&states)[packet_elements], const Element* x, int first_row,
                                            int last_row, int column, int columns) {
  if (column >= columns) return;
  if (columns % packet_elements > 0) {
    for (int row = first_row + threadIdx.y; row < last_row; row += cta_rows) {
      float values[packet_elements];
      load_values(values, x, row, column, columns);
      add_values(states, values, row);
    }
    return;
  }
#pragma unroll 1
  for (int first = first_row + threadIdx.y; first < last_row; first += batch * cta_rows) {
    RowPacket arrived[batch];
#pragma unroll
    for (int i = 0; i < batch; ++i) {
      const int row = first + i * cta_rows;
      if (row < last_row) load_once(arrived[i], x + (long long)row * columns + column);
    }
#pragma unroll
    for (int i = 0; i < batch; ++i) {
      const int row = first + i * cta_rows;
      if (row >= last_row) continue;
      float values[packet_elements];
      unpack(arrived[i], values);
      add_values(states, values, row);
    }
  }
}

extern "C" __global__ void __launch_bounds__(cta_packets * cta_rows, ${min_blocks}) reduce_columns(
    const Element* __restrict__ x_drawn, const Element* __restrict__ x_bits, Element* __restrict__ y,
    long long* __restrict__ index, State* __restrict__ partial, int rows, int columns, int parts) {
  __shared__ State of_thread[cta_rows][cta_packets];
  if constexpr (waits_for_launches) {
    wait_for_launch_ahead();
    start_launch_behind();
  }
  const Element* x = ${any_bits ? 'x_bits' : 'x_drawn'};
  const int part = blockIdx.x % parts;
  const int column = (blockIdx.x / parts * cta_packets + threadIdx.x) * packet_elements;
  State states[packet_elements];
#pragma unroll
  for (int j = 0; j < packet_elements; ++j) states[j] = nothing();
  reduce_part(states, x, (long long)rows * part / parts, (long long)rows * (part + 1) / parts, column, columns);
#pragma unroll
  for (int j = 0; j < packet_elements; ++j) {
    if constexpr (cta_rows > 1) {
      __syncthreads();
      of_thread[threadIdx.y][threadIdx.x] = states[j];
      __syncthreads();
    }
    if (threadIdx.y > 0 || column + j >= columns) continue;
#pragma unroll 4
    for (int i = 1; i < cta_rows; ++i) states[j] = combine(states[j], of_thread[i][threadIdx.x]);
    if (parts > 1) {
      partial[(long long)part * columns + column + j] = states[j];
    } else {
      store_result(y, index, column + j, states[j]);
    }
  }
}

extern "C" __global__ void __launch_bounds__(finish_results * finish_threads) reduce_columns_finish(
    const State* __restrict__ partial, Element* __restrict__ y, long long* __restrict__ index, int columns, int parts) {
  finish(partial, y, index, columns, parts);
}
