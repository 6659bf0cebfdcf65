#pragma once
// The sizes, as the parts that all e4m3 attention shares ask for them.
struct Problem {
  int S;
  int heads;
  float softmax_scale = ${D == 64 ? '0.125f' : D == 128 ? '0.08838834764831845f' : '0.0625f'};  // 1 / sqrt(head_dim)

  __device__ __forceinline__ int rows(const Work&) const { return S; }
  __device__ __forceinline__ int keys(const Work&) const { return S; }
  __device__ __forceinline__ int position(int row) const { return row; }
  // Keys that the query at a position sees: from here up to there.
  __device__ __forceinline__ int key_begin(const Work&, int) const { return 0; }
  __device__ __forceinline__ int key_end(const Work&, int position) const {
    return causal ? min(S, position + 1) : S;
  }
  // Of a work's row among those of all heads.
  __device__ __forceinline__ long long row_number(const Work& work, int row) const {
    return (long long)work.head * S + row;
  }
  __device__ __forceinline__ long long query_place(const Work& work, int row) const {
    return row_number(work, row) * head_dim;
  }
  __device__ __forceinline__ int values_head(const Work& work) const { return work.head; }
  __device__ __forceinline__ int q_scale_index(const Work& work) const { return scale_of_each_head ? work.head : 0; }
  __device__ __forceinline__ int kv_scale_index(const Work& work) const { return q_scale_index(work); }
};

template <typename Body>
__device__ __forceinline__ void for_each_work(const Problem& problem, const Body& body) {
  for_each_work(problem.S, problem.heads, body);
}

__device__ __forceinline__ TileRange seen_tiles(const Work& work, int first_row, const Problem& problem) {
  return seen_tiles(work, first_row, problem.S);
}
