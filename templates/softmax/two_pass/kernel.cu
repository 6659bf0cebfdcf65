// softmax/two_pass: rows of ${M} ${dtype} elements${causal ? ', causal' : ''}, kept in registers.
// A row has ${row_threads} threads, a CTA ${cta_rows} row(s) side by side.

#include "include/types.cuh"
#include "include/convert.cuh"
#include "include/math.cuh"
#include "include/grid_dependency.cuh"

#include "softmax/row.cuh"

// Minus infinity where the row sees nothing: its power is zero.
__device__ __forceinline__ void load_row(RowPacket (&kept)[packets], const Element* x, int row, int visible) {
#pragma unroll
  for (int i = 0; i < packets; ++i) {
    kept[i] = hidden_packet();
    if (column_of(i) < visible) load_once(kept[i], x + (long long)row * columns + column_of(i));
  }
}

#include "softmax/kernel_head.cuh"
//% if prefetch
  RowPacket ahead[packets];
  {
    const int row = row_of(blockIdx.x * cta_rows, rows);
    load_row(ahead, x, row, visible_columns(row, rows, N));
  }
//% end
#include "softmax/row_loop_head.cuh"
    RowPacket kept[packets];
//% if prefetch
#pragma unroll
    for (int i = 0; i < packets; ++i) kept[i] = ahead[i];
    const int row_ahead = row_of(first_row + gridDim.x * cta_rows, rows);
    load_row(ahead, x, row_ahead, visible_columns(row_ahead, rows, N));
//% else
    load_row(kept, x, row, visible);
//% end

    float row_max = lowest;
#pragma unroll
    for (int i = 0; i < packets; ++i) {
      float values[packet_elements];
      unpack_visible(values, kept[i], i, visible);
#pragma unroll
      for (int j = 0; j < packet_elements; ++j) row_max = fmaxf(row_max, values[j]);
    }
    row_max = combine_row<Maximum>(row_max, partials, turn);
#pragma unroll
    for (int i = 0; i < packets; ++i) hide(kept[i]);

    const float scaled_max = row_max * log2_e;
    float row_sum = 0.0f;
//% if powers == 'kept'
    float powers[packets][packet_elements];
//% end
#pragma unroll
    for (int i = 0; i < packets; ++i) {
      float values[packet_elements];
      unpack_visible(values, kept[i], i, visible);
#pragma unroll
      for (int j = 0; j < packet_elements; ++j) {
        const float of_element = power(values[j], scaled_max);
        row_sum += of_element;
//% if powers == 'kept'
        powers[i][j] = of_element;
//% end
      }
    }
    row_sum = combine_row<Sum>(row_sum, partials, turn);
//% if powers == 'recomputed'
#pragma unroll
    for (int i = 0; i < packets; ++i) hide(kept[i]);
//% end

    const float inverse = inverse_of(row_sum);
#pragma unroll
    for (int i = 0; i < packets; ++i) {
//% if powers == 'kept'
      store_results(y, powers[i], inverse, row, rows, i);
//% else
      float values[packet_elements];
      unpack_visible(values, kept[i], i, visible);
#pragma unroll
      for (int j = 0; j < packet_elements; ++j) values[j] = power(values[j], scaled_max);
      store_results(y, values, inverse, row, rows, i);
//% end
    }
  }
}
