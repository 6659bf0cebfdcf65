// cross_entropy_backward/rows: the gradient of ${dtype} logits in their place. A row is shared out among ${row_split}
// CTA(s), in each of which it has ${row_threads} threads.

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
constexpr bool waits_for_launches = ${dependent_launch && pdl};
constexpr float log2_e = 1.4426950408889634f;
typedef Packet<packet_bytes> RowPacket;

#include "include/unaligned_row.cuh"

// What the gradients of a row are computed with.
struct Row {
  float scaled_lse, factor, dloss;
  long long target;                                     // an element of the tensor
};

__device__ __forceinline__ float gradient_of(float value, long long element, const Row& row) {
  const float share = row.factor * exp2_approximate(fmaf(value, log2_e, -row.scaled_lse));
  return element == row.target ? share - row.dloss : share;
}

// In a row that is ignored every gradient is zero, whatever the logits are: they are not read.
__device__ __forceinline__ void clear(Element* logits, const UnalignedRow& part) {
  for (long long i = part.first_packet + threadIdx.x % row_threads; i < part.last_packet; i += row_threads) {
    store(logits + i * packet_elements, RowPacket());
  }
  for_each_single(part, [&](long long i) { store_rounded(logits + i, 0.0f); });
}

__device__ __forceinline__ void differentiate(Element* logits, const UnalignedRow& part, const Row& row) {
#pragma unroll 1
  for (long long first = part.first_packet + threadIdx.x % row_threads; first < part.last_packet;
       first += batch * row_threads) {
    RowPacket arrived[batch];
#pragma unroll
    for (int i = 0; i < batch; ++i) {
      const long long packet = first + i * row_threads;
      if (packet < part.last_packet) load_own(arrived[i], logits + packet * packet_elements);
    }
#pragma unroll
    for (int i = 0; i < batch; ++i) {
      const long long packet = first + i * row_threads;
      if (packet >= part.last_packet) continue;
      float values[packet_elements];
      unpack(arrived[i], values);
#pragma unroll
      for (int j = 0; j < packet_elements; ++j) values[j] = gradient_of(values[j], packet * packet_elements + j, row);
      pack(arrived[i], values);
      store(logits + packet * packet_elements, arrived[i]);
    }
  }
  for_each_single(part, [&](long long i) { store_rounded(logits + i, gradient_of(value_of(logits[i]), i, row)); });
}

extern "C" __global__ void __launch_bounds__(threads, ${min_blocks}) cross_entropy_backward(
    const long long* __restrict__ target, const float* __restrict__ lse, const float* __restrict__ dloss,
    Element* logits, int N, int V, float z_loss, int ignore_index) {
  if constexpr (waits_for_launches) {
    wait_for_launch_ahead();
    start_launch_behind();
  }
  const int row = blockIdx.x * cta_rows + (int)threadIdx.x / row_threads;
  if (row >= N) return;
  const int part_columns = (V + row_split - 1) / row_split;
  const int first_column = min((int)blockIdx.y * part_columns, V);
  const long long begin = (long long)row * V + first_column;
  const UnalignedRow part = unaligned_row(begin, begin + min(part_columns, V - first_column));
  const long long index = target[row];
  if (index == ignore_index || index < 0 || index >= V) {
    clear(logits, part);
    return;
  }
  const float log_sum = lse[row];
  const float factor = dloss[row] * fmaf(2.0f * z_loss, log_sum, 1.0f);
  differentiate(logits, part, {log_sum * log2_e, factor, dloss[row], (long long)row * V + index});
}
