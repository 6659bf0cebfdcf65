// What the families share: rows and their packets, what a row sees, powers.
#include "include/row_packets.cuh"

constexpr bool causal = ${causal};
constexpr bool last_row_first = ${causal && row_order == 'last_to_first'};
constexpr bool logarithm = ${logarithm};  // results are the logarithms of softmax
constexpr float log2_e = 1.4426950408889634f;
constexpr float ln_2 = 0.6931471805599453f;
constexpr float lowest = -2.0e38f;                      // a maximum of nothing; times log2_e still finite
// Elements of minus infinity.
constexpr u32 hidden_word = ${dtype == 'bf16' ? '0xff80ff80u' : dtype == 'f16' ? '0xfc00fc00u' : '0xff800000u'};

// The row of this thread if the CTA starts with row `first_row`; `rows` if there is none.
__device__ __forceinline__ int row_of(int first_row, int rows) {
  const int row = first_row + (int)threadIdx.x / row_threads;
  if constexpr (last_row_first) return row < rows ? rows - 1 - row : rows;
  return min(row, rows);
}

// How many columns a row sees; none if there is no such row.
__device__ __forceinline__ int visible_columns(int row, int rows, int N) {
  if (row >= rows) return 0;
  return causal ? min(max(row % N + columns - N + 1, 0), columns) : columns;
}

__device__ __forceinline__ RowPacket hidden_packet() {
  RowPacket packet;
#pragma unroll
  for (int i = 0; i < packet_bytes / 4; ++i) packet.word[i] = hidden_word;
  return packet;
}

// The elements of a packet; those that the row does not see are minus infinity.
__device__ __forceinline__ void unpack_visible(float (&values)[packet_elements], const RowPacket& packet, int i,
                                               int visible) {
  unpack(packet, values);
  if constexpr (causal) {
#pragma unroll
    for (int j = 0; j < packet_elements; ++j) {
      if (column_of(i) + j >= visible) values[j] = __int_as_float(0xff800000);
    }
  }
}

// The logarithm to the base of two of e^(value - maximum), where scaled_max is the maximum times log2_e.
__device__ __forceinline__ float exponent(float value, float scaled_max) {
  return fmaf(value, log2_e, -scaled_max);
}

__device__ __forceinline__ float power(float value, float scaled_max) {
  return exp2_approximate(exponent(value, scaled_max));
}

// What a result is made of: a power, or its exponent.
__device__ __forceinline__ float term(float value, float scaled_max) {
  return logarithm ? exponent(value, scaled_max) : power(value, scaled_max);
}
__device__ __forceinline__ float power_of(float term) { return logarithm ? exp2_approximate(term) : term; }

// What powers are multiplied with, or what is taken off their exponents. A row that sees nothing is zero, or minus
// infinity.
__device__ __forceinline__ float normaliser_of(float row_sum) {
  if (row_sum == 0.0f) return 0.0f;
  return logarithm ? log2f(row_sum) : 1.0f / row_sum;
}

__device__ __forceinline__ void store_results(Element* y, float (&terms)[packet_elements], float normaliser, int row,
                                              int rows, int i) {
  if (row >= rows || column_of(i) >= columns) return;
#pragma unroll
  for (int j = 0; j < packet_elements; ++j) {
    terms[j] = logarithm ? (terms[j] - normaliser) * ln_2 : terms[j] * normaliser;
  }
  RowPacket results;
  pack(results, terms);
  store(y + (long long)row * columns + column_of(i), results);
}
