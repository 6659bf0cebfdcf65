// layer_norm/row: y = (x - mean) / sqrt(variance + epsilon) * weight + bias for rows of ${M} ${dtype} elements.
// A row has ${row_threads} threads, a CTA ${cta_rows} row(s) side by side.

#include "include/types.cuh"
#include "include/convert.cuh"
#include "include/grid_dependency.cuh"

#include "include/row_packets.cuh"
#include "include/row_sums.cuh"

constexpr bool has_bias = ${has_bias};
constexpr bool prefetch = ${prefetch};  // the next row is on its way while one is worked on
constexpr bool kept = ${residence == 'registers'};  // in registers; else a row is read again for each of its uses
constexpr bool weights_once = ${weight_load == 'once'};  // read once for all rows of a CTA
// Packets that a thread has at a time.
constexpr int batch = ${residence == 'memory' ? batch : packets};

__device__ __forceinline__ void load_inputs(RowPacket (&inputs)[batch], const Element* x, int row, int N, int first) {
#pragma unroll
  for (int i = 0; i < batch; ++i) {
    inputs[i] = RowPacket();
    if (row < N && column_of(first + i) < columns) {
      load_once(inputs[i], x + (long long)row * columns + column_of(first + i));
    }
  }
}

__device__ __forceinline__ void load_parameters(RowPacket (&parameters)[batch], const Element* from, int first) {
#pragma unroll
  for (int i = 0; i < batch; ++i) {
    parameters[i] = RowPacket();
    if (column_of(first + i) < columns) load_shared_by_rows(parameters[i], from + column_of(first + i));
  }
}

__device__ __forceinline__ float sum_of(const RowPacket& packet) {
  float values[packet_elements];
  unpack(packet, values);
  float sum = 0.0f;
#pragma unroll
  for (int j = 0; j < packet_elements; ++j) sum += values[j];
  return sum;
}

// Adds a packet's deviations from `about` and their squares to two sums.
__device__ __forceinline__ void add_deviations(float (&sums)[2], const RowPacket& packet, float about) {
  float values[packet_elements];
  unpack(packet, values);
#pragma unroll
  for (int j = 0; j < packet_elements; ++j) {
    const float deviation = values[j] - about;
    sums[0] += deviation;
    sums[1] = fmaf(deviation, deviation, sums[1]);
  }
}

// What is taken off each element, in two parts, as f32 does not hold the mean of a row that lies far from zero; and
// what the difference is multiplied with.
struct Normalisation {
  float about, rest, inverse_deviation;
};

// The mean of the deviations is what rounding has left of `about`; it is taken off the variance, too.
__device__ __forceinline__ Normalisation normalisation(float about, const float (&sums)[2], float epsilon) {
  const float rest = sums[0] / columns;
  const float variance = fmaxf(sums[1] / columns - rest * rest, 0.0f);
  return {about, rest, rsqrtf(variance + epsilon)};
}

__device__ __forceinline__ void store_results(Element* y, const RowPacket& input, const RowPacket& weight,
                                              const RowPacket& bias, Normalisation by) {
  float values[packet_elements], factors[packet_elements], shifts[packet_elements];
  unpack(input, values);
  unpack(weight, factors);
  unpack(bias, shifts);
#pragma unroll
  for (int j = 0; j < packet_elements; ++j) {
    const float normalised = (values[j] - by.about - by.rest) * by.inverse_deviation;
    values[j] = has_bias ? fmaf(normalised, factors[j], shifts[j]) : normalised * factors[j];
  }
  RowPacket results;
  pack(results, values);
  store(y, results);
}

extern "C" __global__ void __launch_bounds__(threads, ${min_blocks}) layer_norm(
    const Element* __restrict__ x, const Element* __restrict__ weight, const Element* __restrict__ bias,
    Element* __restrict__ y, int N, float epsilon) {
  __shared__ RowSums<1> sums_of_values;
  __shared__ RowSums<2> sums_of_deviations;
  int turn = 0;
  if constexpr (waits_for_launches) {
    wait_for_launch_ahead();
    start_launch_behind();
  }
  RowPacket weights[batch];
  RowPacket biases[batch] = {};
  if constexpr (weights_once) {
    load_parameters(weights, weight, 0);
    if constexpr (has_bias) load_parameters(biases, bias, 0);
  }
  RowPacket ahead[batch];
  if constexpr (prefetch) load_inputs(ahead, x, blockIdx.x * cta_rows + threadIdx.x / row_threads, N, 0);
  for (int first_row = blockIdx.x * cta_rows; !persistent || first_row < N; first_row += gridDim.x * cta_rows) {
    // All threads work through all of this, also where there is no row: they take part in the exchanges.
    const int row = first_row + (int)threadIdx.x / row_threads;
    RowPacket inputs[batch];
    if constexpr (prefetch) {
#pragma unroll
      for (int i = 0; i < batch; ++i) inputs[i] = ahead[i];
      load_inputs(ahead, x, row + gridDim.x * cta_rows, N, 0);
    } else if constexpr (kept) {
      load_inputs(inputs, x, row, N, 0);
    }

    float sum[1] = {};
#pragma unroll 1
    for (int first = 0; first < packets; first += batch) {
      if constexpr (!kept) load_inputs(inputs, x, row, N, first);
#pragma unroll
      for (int i = 0; i < batch; ++i) sum[0] += sum_of(inputs[i]);
    }
    sum_row(sum, sums_of_values, turn);
    const float about = sum[0] / columns;
    if constexpr (kept) hide(inputs);

    float deviations[2] = {};
#pragma unroll 1
    for (int first = 0; first < packets; first += batch) {
      if constexpr (!kept) load_inputs(inputs, x, row, N, first);
#pragma unroll
      for (int i = 0; i < batch; ++i) {
        if (column_of(first + i) < columns) add_deviations(deviations, inputs[i], about);
      }
    }
    sum_row(deviations, sums_of_deviations, turn);
    const Normalisation by = normalisation(about, deviations, epsilon);
    if constexpr (kept) hide(inputs);

#pragma unroll 1
    for (int first = 0; first < packets; first += batch) {
      if constexpr (!kept) load_inputs(inputs, x, row, N, first);
      if constexpr (!weights_once) {
        load_parameters(weights, weight, first);
        if constexpr (has_bias) load_parameters(biases, bias, first);
      }
#pragma unroll
      for (int i = 0; i < batch; ++i) {
        const int column = column_of(first + i);
        if (row < N && column < columns) {
          store_results(y + (long long)row * columns + column, inputs[i], weights[i], biases[i], by);
        }
      }
    }
    if constexpr (!persistent) break;
  }
}
