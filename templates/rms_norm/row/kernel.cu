// rms_norm/row: y = x / sqrt(mean(x^2) + epsilon) * weight for rows of ${M} ${dtype} elements.
// A row has ${row_threads} threads, a CTA ${cta_rows} row(s) side by side.

#include "include/types.cuh"
#include "include/convert.cuh"
#include "include/grid_dependency.cuh"

#include "include/row_packets.cuh"

// Packets that a thread has at a time.
constexpr int batch = ${residence == 'memory' ? batch : packets};
// Whether each packet of each batch lies in the row.
constexpr bool whole = packets % batch == 0 && columns == packets * row_threads * packet_elements;

//% if quant == 'token' && amax_reduction == 'joint'
struct SumAndMaximum {
  typedef float2 Value;
  static __device__ __forceinline__ float2 of(float2 a, float2 b) {
    return make_float2(a.x + b.x, fmaxf(a.y, b.y));
  }
};

//% end
__device__ __forceinline__ bool in_row(int i) { return whole || column_of(i) < columns; }

// What a thread reads of a packet in the first pass over a row.
struct RowInputs {
  RowPacket x;
//% if residual
  RowPacket residual;
//% end
};

// Zeros where there is no such row or column: they add nothing to the sum.
__device__ __forceinline__ void load_inputs(RowInputs& inputs, const Element* x, const Element* residual_sum, int row,
                                            int N, int i) {
  inputs = RowInputs();
  if (row < N && in_row(i)) {
    const long long at = (long long)row * columns + column_of(i);
    load_once(inputs.x, x + at);
//% if residual
    load_own(inputs.residual, residual_sum + at);
//% end
  }
}

//% if residual
// The sum takes the place of x, rounded: what is kept is what is normalised.
__device__ __forceinline__ void add_residual(RowInputs& inputs, Element* residual_sum, int row, int N, int i) {
  float values[packet_elements];
  float added[packet_elements];
  unpack(inputs.x, values);
  unpack(inputs.residual, added);
#pragma unroll
  for (int j = 0; j < packet_elements; ++j) values[j] += added[j];
  pack(inputs.x, values);
  if (row < N && in_row(i)) store(residual_sum + (long long)row * columns + column_of(i), inputs.x);
}

//% end
//% if residence == 'memory'
// In the second pass: what is normalised, as the first one left it.
__device__ __forceinline__ void load_again(RowInputs (&inputs)[batch], const Element* x, const Element* residual_sum,
                                           int row, int N, int first) {
#pragma unroll
  for (int i = 0; i < batch; ++i) {
    inputs[i].x = RowPacket();
    if (row >= N || !in_row(first + i)) continue;
//%   if residual
    load_own(inputs[i].x, residual_sum + (long long)row * columns + column_of(first + i));
//%   else
    load_once(inputs[i].x, x + (long long)row * columns + column_of(first + i));
//%   end
  }
}

//% end
__device__ __forceinline__ void load_weights(RowPacket (&weights)[batch], const Element* weight, int first) {
#pragma unroll
  for (int i = 0; i < batch; ++i) {
    weights[i] = RowPacket();
    if (in_row(first + i)) load_shared_by_rows(weights[i], weight + column_of(first + i));
  }
}

__device__ __forceinline__ float sum_of_squares(const RowPacket& packet) {
  float values[packet_elements];
  unpack(packet, values);
  float sum = 0.0f;
#pragma unroll
  for (int j = 0; j < packet_elements; ++j) sum = fmaf(values[j], values[j], sum);
  return sum;
}

__device__ __forceinline__ void multiply(float (&products)[packet_elements], const RowPacket& packet,
                                         const RowPacket& weight) {
  float factors[packet_elements];
  unpack(packet, products);
  unpack(weight, factors);
#pragma unroll
  for (int j = 0; j < packet_elements; ++j) products[j] *= factors[j];
}

//% if quant != 'none'
__device__ __forceinline__ float largest_magnitude(const float (&values)[packet_elements]) {
  float largest = 0.0f;
#pragma unroll
  for (int j = 0; j < packet_elements; ++j) largest = fmaxf(largest, fabsf(values[j]));
  return largest;
}

__device__ __forceinline__ float scale_for(float amax) { return amax > 0.0f ? amax * (1.0f / 448.0f) : 1.0f; }

__device__ __forceinline__ void store_codes(e4m3* to, const float (&values)[packet_elements], float factor) {
  Packet<packet_elements> codes;
#pragma unroll
  for (int j = 0; j < packet_elements; j += 4) {
    codes.word[j / 4] = join(e4m3x2_from_f32(values[j] * factor, values[j + 1] * factor),
                             e4m3x2_from_f32(values[j + 2] * factor, values[j + 3] * factor));
  }
  store(to, codes);
}

//% end
extern "C" __global__ void __launch_bounds__(threads, ${min_blocks}) rms_norm(
    const Element* __restrict__ x, const Element* __restrict__ weight, Element* __restrict__ residual_sum,
    Element* __restrict__ y, e4m3* __restrict__ y_codes, float* __restrict__ y_scale, int N, float epsilon) {
  __shared__ Partials partials;
  int turn = 0;
//% if sm >= 90 && pdl
  wait_for_launch_ahead();
  start_launch_behind();
//% end
//% if weight_load == 'once'
  RowPacket weights[batch];
  load_weights(weights, weight, 0);
//% end
//% if prefetch
  RowInputs ahead[packets];
#pragma unroll
  for (int i = 0; i < packets; ++i) {
    load_inputs(ahead[i], x, residual_sum, blockIdx.x * cta_rows + threadIdx.x / row_threads, N, i);
  }
//% end
//% if ctas_per_sm > 0
  for (int first_row = blockIdx.x * cta_rows; first_row < N; first_row += gridDim.x * cta_rows) {
//% else
  {
    const int first_row = blockIdx.x * cta_rows;
//% end
    // All threads work through all of this, also where there is no row: they take part in the exchanges.
    const int row = first_row + threadIdx.x / row_threads;
    const long long row_start = (long long)row * columns;
    RowInputs inputs[batch];
//% if weight_load != 'once'
    RowPacket weights[batch];
//% end

    float sum = 0.0f;
//% if quant == 'token'
    float largest = 0.0f;                               // magnitude of an element times its weight
//% end
#pragma unroll 1
    for (int first = 0; first < packets; first += batch) {
//% if prefetch
#pragma unroll
      for (int i = 0; i < packets; ++i) inputs[i] = ahead[i];
#pragma unroll
      for (int i = 0; i < packets; ++i) load_inputs(ahead[i], x, residual_sum, row + gridDim.x * cta_rows, N, i);
//% else
#pragma unroll
      for (int i = 0; i < batch; ++i) load_inputs(inputs[i], x, residual_sum, row, N, first + i);
//% end
//% if weight_load == 'early'
      load_weights(weights, weight, first);
//% end
#pragma unroll
      for (int i = 0; i < batch; ++i) {
//% if residual
        add_residual(inputs[i], residual_sum, row, N, first + i);
//% end
        sum += sum_of_squares(inputs[i].x);
//% if quant == 'token' && amax_reduction == 'joint'
        float products[packet_elements];
        multiply(products, inputs[i].x, weights[i]);
        largest = fmaxf(largest, largest_magnitude(products));
//% end
      }
    }
//% if quant == 'token' && amax_reduction == 'joint'
    const float2 of_row = combine_row<SumAndMaximum>(make_float2(sum, largest), partials, turn);
    sum = of_row.x;
    largest = of_row.y;
//% else
    sum = combine_row<Sum>(sum, partials, turn);
//% end
    const float inverse_rms = rsqrtf(sum / columns + epsilon);
//% if residence == 'registers'
#pragma unroll
    for (int i = 0; i < packets; ++i) {
      hide(inputs[i].x);
//%   if weight_load != 'late'
      hide(weights[i]);
//%   end
    }
//% end

//% if quant == 'token'
//%   if amax_reduction == 'separate'
#pragma unroll 1
    for (int first = 0; first < packets; first += batch) {
//%     let weights_missing = weight_load == 'late'
#include "load_batch.cuh"
#pragma unroll
      for (int i = 0; i < batch; ++i) {
        float products[packet_elements];
        multiply(products, inputs[i].x, weights[i]);
        largest = fmaxf(largest, largest_magnitude(products));
      }
    }
    largest = combine_row<Maximum>(largest, partials, turn);
//%   end
    const float scale = scale_for(largest * inverse_rms);
    const float factor = inverse_rms / scale;
    if (row < N && threadIdx.x % row_threads == 0) y_scale[row] = scale;
//% end
#pragma unroll 1
    for (int first = 0; first < packets; first += batch) {
//% let weights_missing = weight_load == 'late' && (residence == 'memory' || quant != 'token')
#include "load_batch.cuh"
#pragma unroll
      for (int i = 0; i < batch; ++i) {
        const int column = column_of(first + i);
        float products[packet_elements];
        multiply(products, inputs[i].x, weights[i]);
//% if quant == 'group'
        // The lanes that have the columns of a group are neighbours in one warp.
        const float largest = combine_lanes<Maximum, 128 / packet_elements>(largest_magnitude(products));
        const float scale = scale_for(largest * inverse_rms);
        const float factor = inverse_rms / scale;
//% end
        if (row >= N || !in_row(first + i)) continue;
//% if quant == 'none'
#pragma unroll
        for (int j = 0; j < packet_elements; ++j) products[j] *= inverse_rms;
        RowPacket result;
        pack(result, products);
        store(y + row_start + column, result);
//% else
        store_codes(y_codes + row_start + column, products, factor);
//%   if quant == 'group'
        if (column % 128 == 0) y_scale[(long long)row * (columns / 128) + column / 128] = scale;
//%   end
//% end
      }
    }
  }
}
