struct Arguments : Problem {
  const TensorMap& o_map;
  const e4m3* q;
  const float* q_scale;
  const float* k_scale;
  const float* v_scale;
  half_bits* o;
  float* partial_o;
  float2* partial_statistics;
};

__device__ __forceinline__ float row_factor(const Arguments& arguments, const Work& work, float row_sum) {
  return arguments.v_scale[arguments.kv_scale_index(work)] * reciprocal(row_sum);
}

//% include "include/attention/store_columns.cuh" with row_dtype = out

#include "include/attention/columns.cuh"
#include "include/attention/e4m3/columns.cuh"
typedef ${v_path == 'given' || v_path == 'widened' ? 'ColumnsInOrder' : 'ColumnsInTurns'} Columns;
#include "include/attention/rows.cuh"
#include "include/attention/staged_rows.cuh"
