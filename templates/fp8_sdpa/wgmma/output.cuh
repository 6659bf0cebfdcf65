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

//% let row_dtype = out
//% include "include/attention/store_columns.cuh"

//% if v_path == 'given' || v_path == 'widened'
//%   include "include/attention/columns.cuh"
//% else
//%   include "include/attention/e4m3/columns.cuh"
//% end

//% include "include/attention/rows.cuh"
//% if epilogue == 'tma'

//%   if v_path == 'given' || v_path == 'widened'
//%     include "include/attention/staged_columns.cuh"
//%   else
// Sixteen columns of the warp's 16 rows, the `part`-th of a swizzled panel of 64; factors: of rows 0-7 and 8-15. A
// thread has four columns next to each other, half a chunk, where stmatrix would take two.
__device__ __forceinline__ void stage_columns(shared_address panel, int part, const float* acc,
                                              const float (&factors)[2], int lane) {
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    const int row = threadIdx.x / 32 % 4 * 16 + lane / 4 + 8 * r;
    store_shared(panel + xor_offset<128>(row, 2 * part + lane % 4 / 2) + lane % 2 * 8,
                 rounded_columns(columns_of(acc, r, lane), factors[r]));
  }
}
//%   end

//%   include "include/attention/staged_rows.cuh"
//% end
