// softmax/online: rows of ${M} ${dtype} elements${causal ? ', causal' : ''}, read twice. A row has ${row_threads} threads,
// a CTA ${cta_rows} row(s) side by side. The first pass keeps the maximum so far and the sum of powers relative to it (Milakov and Gimelshein, 2018).

#include "include/types.cuh"
#include "include/convert.cuh"
#include "include/math.cuh"
#include "include/grid_dependency.cuh"

#include "softmax/row.cuh"

constexpr int batch = ${batch};                           // packets that a thread has on their way at a time
constexpr bool rescales_by_batch = ${rescale == 'batch'};  // the sum, once for all that came together

// x: the maximum times log2_e, rounded; y: the sum of 2^(value * log2_e - x). Sums are rescaled by the rounded x that
// they are relative to: the rounding then makes no difference.
struct MaximumAndSum {
  typedef float2 Value;
  static __device__ __forceinline__ float2 of(float2 a, float2 b) {
    const float scaled_max = fmaxf(a.x, b.x);
    return make_float2(scaled_max, a.y * exp2_approximate(a.x - scaled_max) + b.y * exp2_approximate(b.x - scaled_max));
  }
};

template <int elements>
__device__ __forceinline__ void accumulate(float2& statistics, const float (&values)[elements]) {
  float maximum = values[0];
#pragma unroll
  for (int j = 1; j < elements; ++j) maximum = fmaxf(maximum, values[j]);
  const float scaled_max = fmaxf(statistics.x, maximum * log2_e);
  float sum = statistics.y * exp2_approximate(statistics.x - scaled_max);
#pragma unroll
  for (int j = 0; j < elements; ++j) sum += power(values[j], scaled_max);
  statistics = make_float2(scaled_max, sum);
}

extern "C" __global__ void __launch_bounds__(threads, ${min_blocks}) softmax(
    const Element* __restrict__ x, Element* __restrict__ y, int rows, int N) {
  __shared__ Partials partials;
  int turn = 0;
  if constexpr (waits_for_launches) {
    wait_for_launch_ahead();
    start_launch_behind();
  }
  for (int first_row = blockIdx.x * cta_rows; !persistent || first_row < rows; first_row += gridDim.x * cta_rows) {
    // All threads work through all of this, also where there is no row: they take part in the exchanges.
    const int row = row_of(first_row, rows);
    const int visible = visible_columns(row, rows, N);
    const Element* x_row = x + (long long)row * columns;

    float2 statistics = make_float2(lowest * log2_e, 0.0f);
#pragma unroll 1
    for (int first = 0; first < packets && first * row_threads * packet_elements < visible; first += batch) {
      RowPacket arrived[batch];
#pragma unroll
      for (int i = 0; i < batch; ++i) {
        arrived[i] = hidden_packet();
        if (column_of(first + i) < visible) load_once(arrived[i], x_row + column_of(first + i));
      }
      if constexpr (rescales_by_batch) {
        float values[batch][packet_elements];
#pragma unroll
        for (int i = 0; i < batch; ++i) unpack_visible(values[i], arrived[i], first + i, visible);
        accumulate(statistics, *(const float(*)[batch * packet_elements])values);
      } else {
#pragma unroll
        for (int i = 0; i < batch; ++i) {
          float values[packet_elements];
          unpack_visible(values, arrived[i], first + i, visible);
          accumulate(statistics, values);
        }
      }
    }
    statistics = combine_row<MaximumAndSum>(statistics, partials, turn);

    const float scaled_max = statistics.x;
    const float normaliser = normaliser_of(statistics.y);
#pragma unroll 1
    for (int first = 0; first < packets; first += batch) {
      RowPacket again[batch];
#pragma unroll
      for (int i = 0; i < batch; ++i) {
        again[i] = hidden_packet();
        if (column_of(first + i) < visible) load_own(again[i], x_row + column_of(first + i));
      }
#pragma unroll
      for (int i = 0; i < batch; ++i) {
        float values[packet_elements];
        unpack_visible(values, again[i], first + i, visible);
#pragma unroll
        for (int j = 0; j < packet_elements; ++j) values[j] = term(values[j], scaled_max);
        store_results(y, values, normaliser, row, rows, first + i);
      }
    }
    if constexpr (!persistent) break;
  }
}
