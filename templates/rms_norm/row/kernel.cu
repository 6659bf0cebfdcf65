// rms_norm/row: y = x / sqrt(mean(x^2) + epsilon) * weight for rows of ${M} ${dtype} elements.
// A row has ${row_threads} threads, a CTA ${cta_rows} row(s) side by side.

#include "include/types.cuh"
#include "include/convert.cuh"
#include "include/grid_dependency.cuh"

#include "include/row_packets.cuh"

enum class WeightLoad { late, early, once };
enum class Quant { none, token, group };
constexpr WeightLoad weight_load = WeightLoad::${weight_load};
constexpr Quant quant = Quant::${quant};
constexpr bool adds_residual = ${residual};
constexpr bool prefetch = ${prefetch};  // the next row is on its way while one is worked on
constexpr bool kept = ${residence == 'registers'};  // in registers; else a row is read again for its results
constexpr bool joint_amax = ${amax_reduction == 'joint'};  // found along with the sum
// Packets that a thread has at a time.
constexpr int batch = ${residence == 'memory' ? batch : packets};
// Whether each packet of each batch lies in the row.
constexpr bool whole = packets % batch == 0 && columns == packets * row_threads * packet_elements;

struct SumAndMaximum {
  typedef float2 Value;
  static __device__ __forceinline__ float2 of(float2 a, float2 b) {
    return make_float2(a.x + b.x, fmaxf(a.y, b.y));
  }
};

__device__ __forceinline__ bool in_row(int i) { return whole || column_of(i) < columns; }

// What a thread reads of a packet in the first pass over a row: zeros where there is no such row or column, which add
// nothing to the sum.
__device__ __forceinline__ void load_inputs(RowPacket& input, RowPacket& residual, const Element* x,
                                            const Element* residual_sum, int row, int N, int i) {
  input = RowPacket();
  residual = RowPacket();
  if (row < N && in_row(i)) {
    const long long at = (long long)row * columns + column_of(i);
    load_once(input, x + at);
    if constexpr (adds_residual) load_own(residual, residual_sum + at);
  }
}

// The sum takes the place of x, rounded: what is kept is what is normalised.
__device__ __forceinline__ void add_residual(RowPacket& input, const RowPacket& residual, Element* residual_sum,
                                             int row, int N, int i) {
  float values[packet_elements];
  float added[packet_elements];
  unpack(input, values);
  unpack(residual, added);
#pragma unroll
  for (int j = 0; j < packet_elements; ++j) values[j] += added[j];
  pack(input, values);
  if (row < N && in_row(i)) store(residual_sum + (long long)row * columns + column_of(i), input);
}

// In the second pass: what is normalised, as the first one left it.
__device__ __forceinline__ void load_again(RowPacket (&inputs)[batch], const Element* x, const Element* residual_sum,
                                           int row, int N, int first) {
#pragma unroll
  for (int i = 0; i < batch; ++i) {
    inputs[i] = RowPacket();
    if (row >= N || !in_row(first + i)) continue;
    const long long at = (long long)row * columns + column_of(first + i);
    if constexpr (adds_residual) {
      load_own(inputs[i], residual_sum + at);
    } else {
      load_once(inputs[i], x + at);
    }
  }
}

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

__device__ __forceinline__ float largest_magnitude(const float (&values)[packet_elements]) {
  float largest = 0.0f;
#pragma unroll
  for (int j = 0; j < packet_elements; ++j) largest = fmaxf(largest, fabsf(values[j]));
  return largest;
}

__device__ __forceinline__ float largest_product(const RowPacket& packet, const RowPacket& weight) {
  float products[packet_elements];
  multiply(products, packet, weight);
  return largest_magnitude(products);
}

__device__ __forceinline__ float scale_for(float amax) { return amax > 0.0f ? amax * (1.0f / 448.0f) : 1.0f; }

template <int elements>
__device__ __forceinline__ void store_codes(e4m3* to, const float (&values)[elements], float factor) {
  Packet<elements> codes;
#pragma unroll
  for (int j = 0; j < elements; j += 4) {
    codes.word[j / 4] = join(e4m3x2_from_f32(values[j] * factor, values[j + 1] * factor),
                             e4m3x2_from_f32(values[j + 2] * factor, values[j + 3] * factor));
  }
  store(to, codes);
}

extern "C" __global__ void __launch_bounds__(threads, ${min_blocks}) rms_norm(
    const Element* __restrict__ x, const Element* __restrict__ weight, Element* __restrict__ residual_sum,
    Element* __restrict__ y, e4m3* __restrict__ y_codes, float* __restrict__ y_scale, int N, float epsilon) {
  __shared__ Partials partials;
  int turn = 0;
  if constexpr (waits_for_launches) {
    wait_for_launch_ahead();
    start_launch_behind();
  }
  RowPacket weights[batch];
  if constexpr (weight_load == WeightLoad::once) load_weights(weights, weight, 0);
  RowPacket residual_ahead[batch];
  RowPacket ahead[batch];
  if constexpr (prefetch) {
#pragma unroll
    for (int i = 0; i < batch; ++i) {
      load_inputs(ahead[i], residual_ahead[i], x, residual_sum, blockIdx.x * cta_rows + threadIdx.x / row_threads, N,
                  i);
    }
  }
  for (int first_row = blockIdx.x * cta_rows; !persistent || first_row < N; first_row += gridDim.x * cta_rows) {
    // All threads work through all of this, also where there is no row: they take part in the exchanges.
    const int row = first_row + threadIdx.x / row_threads;
    const long long row_start = (long long)row * columns;
    RowPacket residual[batch];
    RowPacket inputs[batch];

    // First pass: the sum of the squares.
    float sum = 0.0f;
    float largest = 0.0f;                               // magnitude of an element times its weight
#pragma unroll 1
    for (int first = 0; first < packets; first += batch) {
      if constexpr (prefetch) {
#pragma unroll
        for (int i = 0; i < batch; ++i) {
          inputs[i] = ahead[i];
          residual[i] = residual_ahead[i];
        }
#pragma unroll
        for (int i = 0; i < batch; ++i) {
          load_inputs(ahead[i], residual_ahead[i], x, residual_sum, row + gridDim.x * cta_rows, N, i);
        }
      } else {
#pragma unroll
        for (int i = 0; i < batch; ++i) load_inputs(inputs[i], residual[i], x, residual_sum, row, N, first + i);
      }
      if constexpr (weight_load == WeightLoad::early) load_weights(weights, weight, first);
#pragma unroll
      for (int i = 0; i < batch; ++i) {
        if constexpr (adds_residual) add_residual(inputs[i], residual[i], residual_sum, row, N, first + i);
        sum += sum_of_squares(inputs[i]);
        if constexpr (quant == Quant::token && joint_amax) {
          largest = fmaxf(largest, largest_product(inputs[i], weights[i]));
        }
      }
    }
    if constexpr (quant == Quant::token && joint_amax) {
      const float2 of_row = combine_row<SumAndMaximum>(make_float2(sum, largest), partials, turn);
      sum = of_row.x;
      largest = of_row.y;
    } else {
      sum = combine_row<Sum>(sum, partials, turn);
    }
    const float inverse_rms = rsqrtf(sum / columns + epsilon);
    if constexpr (kept) {
      hide(inputs);
      if constexpr (weight_load != WeightLoad::late) hide(weights);
    }

    // A row's scale; groups find theirs in the second pass.
    float scale;
    float factor;
    if constexpr (quant == Quant::token) {
      if constexpr (!joint_amax) {
#pragma unroll 1
        for (int first = 0; first < packets; first += batch) {
          if constexpr (!kept) load_again(inputs, x, residual_sum, row, N, first);
          if constexpr (weight_load == WeightLoad::late) load_weights(weights, weight, first);
#pragma unroll
          for (int i = 0; i < batch; ++i) largest = fmaxf(largest, largest_product(inputs[i], weights[i]));
        }
        largest = combine_row<Maximum>(largest, partials, turn);
      }
      scale = scale_for(largest * inverse_rms);
      factor = inverse_rms / scale;
      if (row < N && threadIdx.x % row_threads == 0) y_scale[row] = scale;
    }

    // Second pass: the results.
#pragma unroll 1
    for (int first = 0; first < packets; first += batch) {
      if constexpr (!kept) load_again(inputs, x, residual_sum, row, N, first);
      if constexpr (weight_load == WeightLoad::late && !(kept && quant == Quant::token)) {
        load_weights(weights, weight, first);
      }
#pragma unroll
      for (int i = 0; i < batch; ++i) {
        const int column = column_of(first + i);
        float products[packet_elements];
        multiply(products, inputs[i], weights[i]);
        if constexpr (quant == Quant::group) {
          // The lanes that have the columns of a group are neighbours in one warp.
          largest = combine_lanes<Maximum, 128 / packet_elements>(largest_magnitude(products));
          scale = scale_for(largest * inverse_rms);
          factor = inverse_rms / scale;
        }
        if (row >= N || !in_row(first + i)) continue;
        if constexpr (quant == Quant::none) {
#pragma unroll
          for (int j = 0; j < packet_elements; ++j) products[j] *= inverse_rms;
          RowPacket result;
          pack(result, products);
          store(y + row_start + column, result);
        } else {
          store_codes(y_codes + row_start + column, products, factor);
        }
        if constexpr (quant == Quant::group) {
          if (column % 128 == 0) y_scale[(long long)row * (columns / 128) + column / 128] = scale;
        }
      }
    }
    if constexpr (!persistent) break;
  }
}
