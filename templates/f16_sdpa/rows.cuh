#pragma once
struct Output {
  half_bits* o;
  float* partial_o;
  float2* partial_statistics;
  int S;
  int heads;

  __device__ __forceinline__ int rows(const Work&) const { return S; }
};

__device__ __forceinline__ float row_factor(const Output&, const Work&, float row_sum) { return reciprocal(row_sum); }

//% include "include/attention/store_columns.cuh" with row_dtype = dtype

#include "include/attention/columns.cuh"
typedef ColumnsInOrder Columns;
#include "include/attention/rows.cuh"
