// softmax/two_pass: rows of ${M} ${dtype} elements${causal ? ', causal' : ''}, kept in registers.
// A row has ${row_threads} threads, a CTA ${cta_rows} row(s) side by side.

#include "include/types.cuh"
#include "include/convert.cuh"
#include "include/math.cuh"
#include "include/grid_dependency.cuh"

#include "softmax/row.cuh"

constexpr bool prefetch = ${prefetch};  // the next row is on its way while one is worked on
constexpr bool keeps_terms = ${powers == 'kept'};  // from the sum on; else they are computed again

// Minus infinity where the row sees nothing: its power is zero.
__device__ __forceinline__ void load_row(RowPacket (&kept)[packets], const Element* x, int row, int visible) {
#pragma unroll
  for (int i = 0; i < packets; ++i) {
    kept[i] = hidden_packet();
    if (column_of(i) < visible) load_once(kept[i], x + (long long)row * columns + column_of(i));
  }
}

extern "C" __global__ void __launch_bounds__(threads, ${min_blocks}) softmax(
    const Element* __restrict__ x, Element* __restrict__ y, int rows, int N) {
  __shared__ Partials partials;
  int turn = 0;
  if constexpr (waits_for_launches) {
    wait_for_launch_ahead();
    start_launch_behind();
  }
  RowPacket ahead[packets];
  if constexpr (prefetch) {
    const int row = row_of(blockIdx.x * cta_rows, rows);
    load_row(ahead, x, row, visible_columns(row, rows, N));
  }
  for (int first_row = blockIdx.x * cta_rows; !persistent || first_row < rows; first_row += gridDim.x * cta_rows) {
    // All threads work through all of this, also where there is no row: they take part in the exchanges.
    const int row = row_of(first_row, rows);
    const int visible = visible_columns(row, rows, N);
    RowPacket kept[packets];
    if constexpr (prefetch) {
#pragma unroll
      for (int i = 0; i < packets; ++i) kept[i] = ahead[i];
      const int row_ahead = row_of(first_row + gridDim.x * cta_rows, rows);
      load_row(ahead, x, row_ahead, visible_columns(row_ahead, rows, N));
    } else {
      load_row(kept, x, row, visible);
    }

    float row_max = lowest;
#pragma unroll
    for (int i = 0; i < packets; ++i) {
      float values[packet_elements];
      unpack_visible(values, kept[i], i, visible);
#pragma unroll
      for (int j = 0; j < packet_elements; ++j) row_max = fmaxf(row_max, values[j]);
    }
    row_max = combine_row<Maximum>(row_max, partials, turn);
    hide(kept);

    const float scaled_max = row_max * log2_e;
    float row_sum = 0.0f;
    float terms[packets][packet_elements];
#pragma unroll
    for (int i = 0; i < packets; ++i) {
      float values[packet_elements];
      unpack_visible(values, kept[i], i, visible);
#pragma unroll
      for (int j = 0; j < packet_elements; ++j) {
        terms[i][j] = term(values[j], scaled_max);
        row_sum += power_of(terms[i][j]);
      }
    }
    row_sum = combine_row<Sum>(row_sum, partials, turn);
    if constexpr (!keeps_terms) hide(kept);

    const float normaliser = normaliser_of(row_sum);
#pragma unroll
    for (int i = 0; i < packets; ++i) {
      if constexpr (keeps_terms) {
        store_results(y, terms[i], normaliser, row, rows, i);
      } else {
        float values[packet_elements];
        unpack_visible(values, kept[i], i, visible);
#pragma unroll
        for (int j = 0; j < packet_elements; ++j) values[j] = term(values[j], scaled_max);
        store_results(y, values, normaliser, row, rows, i);
      }
    }
    if constexpr (!persistent) break;
  }
}
