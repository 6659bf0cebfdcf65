#pragma once
// Combines the partial rows of the CTAs that shared a query tile: each of 128 threads four columns of one row.
// `statistics_of` a partial row are its maximum (x) and sum (y). Calls `store` with the row, the first column and the
// merged row.
template <typename StatisticsOf, typename Store>
__device__ __forceinline__ void combine_rows(const float* __restrict__ partial_o, int rows,
                                             const StatisticsOf& statistics_of, const Store& store) {
  constexpr int row_items = head_dim / 4;
  const long long item = (long long)blockIdx.x * 128 + threadIdx.x;
  const int row = (int)(item / row_items);
  const int column = (int)(item % row_items) * 4;
  if (row >= rows) return;
  const auto partial_row = [&](int split) { return (long long)split * rows + row; };
  const PartialRow merged = merged_row<kv_split>(
      [&](int split) { return statistics_of(partial_row(split)); },
      [&](int split) { return *reinterpret_cast<const float4*>(partial_o + partial_row(split) * head_dim + column); });
  store(row, column, merged);
}
