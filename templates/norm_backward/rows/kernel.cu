// norm_backward/rows: the gradients of ${norm} norm for rows of ${M} ${dtype} elements. CTAs walk over the rows, each
// of ${row_threads} threads, ${cta_rows} side by side, and keep the sums over their rows. A second launch adds those up.

#include "include/types.cuh"
#include "include/convert.cuh"
#include "include/grid_dependency.cuh"

#include "include/row_packets.cuh"
#include "include/row_sums.cuh"
#include "include/scalars.cuh"

enum class Accumulate { registers, shared, workspace };
constexpr Accumulate accumulate = Accumulate::${accumulate};  // where the sums over rows are
constexpr bool centred = ${norm == 'layer'};
constexpr bool prefetch = ${prefetch};  // the next row is on its way while one is worked on
constexpr bool kept = ${residence == 'registers'};  // in registers; else a row is read again for each of its uses
constexpr bool weights_once = ${weight_load == 'once'};  // read once for all rows of a CTA
constexpr int batch = ${residence == 'memory' ? batch : packets};  // packets that a thread has at a time
constexpr int kinds = centred ? 2 : 1;  // of sums over rows: for dweight, and for dbias
constexpr int finish_rows = ${finish_rows};  // threads for a column of the second launch

struct Inputs {
  RowPacket x[batch], dy[batch];
};

__device__ __forceinline__ void load_row(RowPacket (&to)[batch], const Element* from, int row, int N, int first) {
#pragma unroll
  for (int i = 0; i < batch; ++i) {
    to[i] = RowPacket();
    if (row < N && column_of(first + i) < columns) {
      load_once(to[i], from + (long long)row * columns + column_of(first + i));
    }
  }
}

__device__ __forceinline__ void load_weights(RowPacket (&weights)[batch], const Element* weight, int first) {
#pragma unroll
  for (int i = 0; i < batch; ++i) {
    weights[i] = RowPacket();
    if (column_of(first + i) < columns) load_shared_by_rows(weights[i], weight + column_of(first + i));
  }
}

// A row's statistics. The mean is in two parts, as f32 does not hold that of a row that lies far from zero.
struct Statistics {
  float about, rest, inverse;
  float mean_gradient, mean_product;  // of dy * weight, and of that times the normalised row
};

// Sums over a row: of deviations from `about`, of their squares, of gradients, of products of gradient and deviation.
__device__ __forceinline__ void add_packet(float (&sums)[4], const RowPacket& x, const RowPacket& dy,
                                           const RowPacket& weight, float about) {
  float values[packet_elements], gradients[packet_elements], factors[packet_elements];
  unpack(x, values);
  unpack(dy, gradients);
  unpack(weight, factors);
#pragma unroll
  for (int j = 0; j < packet_elements; ++j) {
    const float deviation = values[j] - about;
    const float gradient = gradients[j] * factors[j];
    sums[1] = fmaf(deviation, deviation, sums[1]);
    sums[3] = fmaf(gradient, deviation, sums[3]);
    if constexpr (centred) {
      sums[0] += deviation;
      sums[2] += gradient;
    }
  }
}

__device__ __forceinline__ Statistics statistics_of(float about, const float (&sums)[4], float epsilon) {
  const float rest = centred ? sums[0] / columns : 0.0f;
  const float variance = fmaxf(sums[1] / columns - rest * rest, 0.0f);
  const float inverse = rsqrtf(variance + epsilon);
  const float product = (sums[3] - rest * sums[2]) * inverse;
  return {about, rest, inverse, centred ? sums[2] / columns : 0.0f, product / columns};
}

// A packet of dx, and what it adds to the sums over rows.
__device__ __forceinline__ void differentiate(RowPacket& dx, float (&terms)[kinds][packet_elements], const RowPacket& x,
                                              const RowPacket& dy, const RowPacket& weight, const Statistics& row) {
  float values[packet_elements], gradients[packet_elements], factors[packet_elements];
  unpack(x, values);
  unpack(dy, gradients);
  unpack(weight, factors);
#pragma unroll
  for (int j = 0; j < packet_elements; ++j) {
    const float normalised = (values[j] - row.about - row.rest) * row.inverse;
    terms[0][j] = gradients[j] * normalised;
    if constexpr (centred) terms[1][j] = gradients[j];
    const float gradient = fmaf(gradients[j], factors[j], -row.mean_gradient);
    values[j] = row.inverse * fmaf(-normalised, row.mean_product, gradient);
  }
  pack(dx, values);
}

template <int count>
__device__ __forceinline__ void add_to(float* sums, const float (&terms)[count]) {
  if constexpr (count % 4 == 0) {
#pragma unroll
    for (int j = 0; j < count; j += 4) {
      float4& sum = *(float4*)(sums + j);
      sum = make_float4(sum.x + terms[j], sum.y + terms[j + 1], sum.z + terms[j + 2], sum.w + terms[j + 3]);
    }
  } else {
#pragma unroll
    for (int j = 0; j < count; ++j) sums[j] += terms[j];
  }
}

// Sums in registers become those of the CTA: row after row adds its own to what lies in shared memory, and the last row
// puts the result where the second launch finds it.
__device__ __forceinline__ void combine_rows(const float (&sums)[packets][packet_elements], float* shared_sums,
                                             float* result) {
  const int place = threadIdx.x / row_threads;
#pragma unroll 1
  for (int adding = 0; adding < cta_rows; ++adding) {
    if (place == adding) {
#pragma unroll
      for (int i = 0; i < packets; ++i) {
#pragma unroll
        for (int j = 0; j < packet_elements; ++j) {
          const int column = column_of(i) + j;
          if (column >= columns) continue;
          const float sum = sums[i][j] + (adding > 0 ? shared_sums[column] : 0.0f);
          (adding == cta_rows - 1 ? result : shared_sums)[column] = sum;
        }
      }
    }
    if constexpr (cta_rows > 1) __syncthreads();
  }
}

extern "C" __global__ void __launch_bounds__(threads, ${min_blocks}) norm_backward(
    const Element* __restrict__ x, const Element* __restrict__ weight, const Element* __restrict__ dy,
    Element* __restrict__ dx, float* __restrict__ partial_sums, int N, float epsilon) {
  extern __shared__ float4 dynamic_smem[];
  __shared__ RowSums<1> sums_of_values;
  __shared__ RowSums<4> sums_of_products;
  int turn = 0;
  if constexpr (waits_for_launches) {
    wait_for_launch_ahead();
    start_launch_behind();
  }
  float* const shared_sums = (float*)dynamic_smem;
  float* const result = partial_sums + (long long)blockIdx.x * kinds * columns;
  float* const memory_sums = accumulate == Accumulate::shared ? shared_sums : result;
  float register_sums[kinds][packets][packet_elements] = {};
  if constexpr (accumulate != Accumulate::registers) {
    // A thread writes and reads the sums of its own columns alone.
    for (int i = 0; i < packets; ++i) {
      for (int j = 0; j < packet_elements && column_of(i) < columns; ++j) {
        for (int kind = 0; kind < kinds; ++kind) memory_sums[kind * columns + column_of(i) + j] = 0.0f;
      }
    }
  }
  RowPacket weights[batch];
  if constexpr (weights_once) load_weights(weights, weight, 0);
  Inputs ahead;
  if constexpr (prefetch) {
    const int row = blockIdx.x * cta_rows + threadIdx.x / row_threads;
    load_row(ahead.x, x, row, N, 0);
    load_row(ahead.dy, dy, row, N, 0);
  }
  for (int first_row = blockIdx.x * cta_rows; first_row < N; first_row += gridDim.x * cta_rows) {
    // All threads work through all of this, also where there is no row: they take part in the exchanges.
    const int row = first_row + (int)threadIdx.x / row_threads;
    Inputs inputs;
    if constexpr (prefetch) {
      inputs = ahead;
      load_row(ahead.x, x, row + gridDim.x * cta_rows, N, 0);
      load_row(ahead.dy, dy, row + gridDim.x * cta_rows, N, 0);
    } else if constexpr (kept) {
      load_row(inputs.x, x, row, N, 0);
      load_row(inputs.dy, dy, row, N, 0);
    }

    float about = 0.0f;
    if constexpr (centred) {
      float sum[1] = {};
#pragma unroll 1
      for (int first = 0; first < packets; first += batch) {
        if constexpr (!kept) load_row(inputs.x, x, row, N, first);
#pragma unroll
        for (int i = 0; i < batch; ++i) {
          float values[packet_elements];
          unpack(inputs.x[i], values);
#pragma unroll
          for (int j = 0; j < packet_elements; ++j) sum[0] += values[j];
        }
      }
      sum_row(sum, sums_of_values, turn);
      about = sum[0] / columns;
      if constexpr (kept) hide(inputs.x);
    }

    float sums[4] = {};
#pragma unroll 1
    for (int first = 0; first < packets; first += batch) {
      if constexpr (!kept) {
        load_row(inputs.x, x, row, N, first);
        load_row(inputs.dy, dy, row, N, first);
      }
      if constexpr (!weights_once) load_weights(weights, weight, first);
#pragma unroll
      for (int i = 0; i < batch; ++i) {
        if (column_of(first + i) < columns) add_packet(sums, inputs.x[i], inputs.dy[i], weights[i], about);
      }
    }
    sum_row(sums, sums_of_products, turn);
    const Statistics statistics = statistics_of(about, sums, epsilon);
    if constexpr (kept) {
      hide(inputs.x);
      hide(inputs.dy);
      hide(weights);
    }

#pragma unroll 1
    for (int first = 0; first < packets; first += batch) {
      if constexpr (!kept) {
        load_row(inputs.x, x, row, N, first);
        load_row(inputs.dy, dy, row, N, first);
        load_weights(weights, weight, first);
      }
#pragma unroll
      for (int i = 0; i < batch; ++i) {
        const int column = column_of(first + i);
        RowPacket gradient;
        float terms[kinds][packet_elements];
        differentiate(gradient, terms, inputs.x[i], inputs.dy[i], weights[i], statistics);
        if (row >= N || column >= columns) continue;
        store(dx + (long long)row * columns + column, gradient);
#pragma unroll
        for (int kind = 0; kind < kinds; ++kind) {
          if constexpr (accumulate == Accumulate::registers) {
#pragma unroll
            for (int j = 0; j < packet_elements; ++j) register_sums[kind][i][j] += terms[kind][j];
          } else {
            add_to(memory_sums + kind * columns + column, terms[kind]);
          }
        }
      }
    }
  }
  if constexpr (accumulate == Accumulate::registers) {
#pragma unroll
    for (int kind = 0; kind < kinds; ++kind) {
      combine_rows(register_sums[kind], shared_sums, result + kind * columns);
    }
  } else if constexpr (accumulate == Accumulate::shared) {
    for (int i = 0; i < packets; ++i) {
      for (int j = 0; j < packet_elements && column_of(i) < columns; ++j) {
        for (int kind = 0; kind < kinds; ++kind) {
          result[kind * columns + column_of(i) + j] = shared_sums[kind * columns + column_of(i) + j];
        }
      }
    }
  }
}

// Adds up what the CTAs of the first launch have left: 32 columns a CTA, whose rows of threads share the parts out among them.
extern "C" __global__ void __launch_bounds__(32 * finish_rows) norm_backward_finish(
    const float* __restrict__ partial_sums, Element* __restrict__ dweight, Element* __restrict__ dbias, int parts) {
  __shared__ float of_thread[finish_rows][32];
  if constexpr (waits_for_launches) wait_for_launch_ahead();
  const int column = blockIdx.x * 32 + threadIdx.x;
  const int kind = blockIdx.y;
  float sum = 0.0f;
  if (column < columns) {
    for (int part = threadIdx.y; part < parts; part += finish_rows) {
      sum += partial_sums[((long long)part * kinds + kind) * columns + column];
    }
  }
  of_thread[threadIdx.y][threadIdx.x] = sum;
  __syncthreads();
  if (threadIdx.y > 0 || column >= columns) return;
#pragma unroll
  for (int i = 1; i < finish_rows; ++i) sum += of_thread[i][threadIdx.x];
  store_rounded((kind == 0 ? dweight : dbias) + column, sum);
}
