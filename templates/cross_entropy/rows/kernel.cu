// cross_entropy/rows: loss and lse of rows of ${dtype} logits, read once. A row is shared out among ${row_split} CTA(s),
// in each of which it has ${row_threads} threads. Maximum and sum are kept together (Milakov and Gimelshein, 2018).

#include "include/types.cuh"
#include "include/convert.cuh"
#include "include/math.cuh"
#include "include/grid_dependency.cuh"

#include "include/elements.cuh"
#include "include/scalars.cuh"

constexpr int row_threads = ${row_threads};
constexpr int cta_rows = ${cta_rows};
constexpr int threads = row_threads * cta_rows;
constexpr int packet_bytes = ${packet_bytes};
constexpr int packet_elements = packet_bytes / sizeof(Element);
constexpr int batch = ${batch};                           // packets that a thread has on their way at a time
constexpr int row_split = ${row_split};
constexpr bool rescales_by_batch = ${rescale == 'batch'};  // the sum, once for all that came together
constexpr bool waits_for_launches = ${dependent_launch && pdl};
constexpr float log2_e = 1.4426950408889634f;
constexpr float ln_2 = 0.6931471805599453f;
constexpr float lowest = -3.0e38f;                        // a maximum of nothing, times log2_e
typedef Packet<packet_bytes> RowPacket;

#include "include/row_reduction.cuh"
#include "include/unaligned_row.cuh"

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
  for (int j = 0; j < elements; ++j) sum += exp2_approximate(fmaf(values[j], log2_e, -scaled_max));
  statistics = make_float2(scaled_max, sum);
}

// Elements of minus infinity, which add nothing to a sum.
__device__ __forceinline__ RowPacket packet_of_nothing() {
  RowPacket packet;
#pragma unroll
  for (int i = 0; i < packet_bytes / 4; ++i) {
    packet.word[i] = ${dtype == 'bf16' ? '0xff80ff80u' : dtype == 'f16' ? '0xfc00fc00u' : '0xff800000u'};
  }
  return packet;
}

__device__ __forceinline__ float2 statistics_of(const Element* logits, const UnalignedRow& row) {
  float2 statistics = make_float2(lowest, 0.0f);
#pragma unroll 1
  for (long long first = row.first_packet + threadIdx.x % row_threads; first < row.last_packet;
       first += batch * row_threads) {
    RowPacket arrived[batch];
#pragma unroll
    for (int i = 0; i < batch; ++i) {
      arrived[i] = packet_of_nothing();
      const long long packet = first + i * row_threads;
      if (packet < row.last_packet) load_once(arrived[i], logits + packet * packet_elements);
    }
    float values[batch][packet_elements];
#pragma unroll
    for (int i = 0; i < batch; ++i) {
      unpack(arrived[i], values[i]);
      if constexpr (!rescales_by_batch) accumulate(statistics, values[i]);
    }
    if constexpr (rescales_by_batch) accumulate(statistics, *(const float(*)[batch * packet_elements])values);
  }
  for_each_single(row, [&](long long i) {
    const float value[1] = {value_of(logits[i])};
    accumulate(statistics, value);
  });
  return statistics;
}

__device__ __forceinline__ void store_results(float* loss, float* lse, const Element* logits, const long long* target,
                                              int row, int V, float2 statistics, float z_loss, int ignore_index) {
  const float log_sum = log2f(statistics.y);
  const float of_row = (statistics.x + log_sum) * ln_2;
  const long long index = target[row];
  lse[row] = of_row;
  if (index == ignore_index || index < 0 || index >= V) {
    loss[row] = 0.0f;
    return;
  }
  // Relative to the maximum: where the target has it, the difference is not lost.
  const float exponent = fmaf(value_of(logits[(long long)row * V + index]), log2_e, -statistics.x);
  loss[row] = fmaf(z_loss * of_row, of_row, (log_sum - exponent) * ln_2);
}

extern "C" __global__ void __launch_bounds__(threads, ${min_blocks}) cross_entropy(
    const Element* __restrict__ logits, const long long* __restrict__ target, float* __restrict__ loss,
    float* __restrict__ lse, float2* __restrict__ partial, int N, int V, float z_loss, int ignore_index) {
  __shared__ Partials partials;
  int turn = 0;
  if constexpr (waits_for_launches) {
    wait_for_launch_ahead();
    start_launch_behind();
  }
  const int row = blockIdx.x * cta_rows + (int)threadIdx.x / row_threads;
  const int part_columns = (V + row_split - 1) / row_split;
  const int first_column = min((int)blockIdx.y * part_columns, V);
  const long long begin = (long long)row * V + first_column;
  const long long end = row < N ? begin + min(part_columns, V - first_column) : begin;
  // All threads take part in the exchange, also where there is no row.
  const float2 own = statistics_of(logits, unaligned_row(begin, end));
  const float2 statistics = combine_row<MaximumAndSum>(own, partials, turn);
  if (row >= N || threadIdx.x % row_threads > 0) return;
  if constexpr (row_split > 1) {
    partial[(long long)row * row_split + blockIdx.y] = statistics;
  } else {
    store_results(loss, lse, logits, target, row, V, statistics, z_loss, ignore_index);
  }
}

// A thread for each row, where several CTAs have a part of it each.
extern "C" __global__ void __launch_bounds__(128) cross_entropy_finish(
    const Element* __restrict__ logits, const long long* __restrict__ target, float* __restrict__ loss,
    float* __restrict__ lse, const float2* __restrict__ partial, int N, int V, float z_loss, int ignore_index) {
  if constexpr (waits_for_launches) wait_for_launch_ahead();
  const int row = blockIdx.x * 128 + threadIdx.x;
  if (row >= N) return;
  float2 statistics = partial[(long long)row * row_split];
#pragma unroll 4
  for (int i = 1; i < row_split; ++i) {
    statistics = MaximumAndSum::of(statistics, partial[(long long)row * row_split + i]);
  }
  store_results(loss, lse, logits, target, row, V, statistics, z_loss, ignore_index);
}
