#pragma once
// Rows whose keys were shared out: their sums are brought to one maximum.
struct PartialRow {
  float row_max = lowest_max;
  float row_sum = 0.0f;
  float4 acc = {0.0f, 0.0f, 0.0f, 0.0f};  // four columns

  // row_max is the largest of all shares' already; statistics: maximum (x), sum (y).
  __device__ __forceinline__ void add(float2 statistics, float4 part) {
    const float share = shrink_by(statistics.x, row_max);
    row_sum = fmaf(share, statistics.y, row_sum);
    acc.x = fmaf(share, part.x, acc.x);
    acc.y = fmaf(share, part.y, acc.y);
    acc.z = fmaf(share, part.z, acc.z);
    acc.w = fmaf(share, part.w, acc.w);
  }
};

// Of each share: its maximum and sum, and its part of the four columns.
template <int shares, typename StatisticsOf, typename PartOf>
__device__ __forceinline__ PartialRow merged_row(const StatisticsOf& statistics_of, const PartOf& part_of) {
  PartialRow merged;
  float2 statistics[shares];
#pragma unroll
  for (int i = 0; i < shares; ++i) {
    statistics[i] = statistics_of(i);
    merged.row_max = fmaxf(merged.row_max, statistics[i].x);
  }
#pragma unroll
  for (int i = 0; i < shares; ++i) merged.add(statistics[i], part_of(i));
  return merged;
}
