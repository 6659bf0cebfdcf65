// w4a16/rows: c = a W with bf16 a [M, K] and 4-bit codes of W. A CTA makes ${rows} x ${tile_columns} elements.
// A thread has ${columns} neighbouring column(s), of which it reads ${words} word(s) at a time. ${depth_threads}
// thread(s) share the depth of a column.

#include "include/types.cuh"
#include "include/convert.cuh"
#include "include/memory.cuh"
#include "include/grid_dependency.cuh"

//% let dtype = 'bf16', store_cache = 'keep'
#include "include/elements.cuh"
#include "include/scalars.cuh"
#include "include/gemm/choices.cuh"
#include "include/gemm/results.cuh"
#include "w4a16/groups.cuh"

constexpr int rows = ${rows};
constexpr int columns = ${columns};  // of a thread
constexpr int column_threads = ${column_threads};
constexpr int depth_threads = ${depth_threads};
constexpr int words = ${words};  // of a column, at a time
constexpr int threads = column_threads * depth_threads;
constexpr int tile_columns = columns * column_threads;
constexpr int group_pieces = group_words / words;  // a thread works on a piece of a group at a time
constexpr bool prefetch = ${prefetch};             // the next piece is on its way while one is worked on

#include "piece.cuh"

// The pieces of which CTA `split` of those that share the depth makes a part of the sums.
struct Pieces {
  int first, end;
};

__device__ __forceinline__ Pieces own_pieces(int split, int groups) {
  const int share = (groups + split_k - 1) / split_k;
  return {split * share * group_pieces, min((split + 1) * share, groups) * group_pieces};
}

template <typename Result>
__device__ __forceinline__ void store_results(Result* results, const float (&sums)[depth_threads][rows][tile_columns],
                                              int first_row, int first_column, int M, int N) {
  for (int i = threadIdx.x; i < rows * tile_columns; i += threads) {
    const int row = i / tile_columns, column = i % tile_columns;
    if (first_row + row >= M || first_column + column >= N) continue;
    float sum = sums[0][row][column];
#pragma unroll
    for (int part = 1; part < depth_threads; ++part) sum += sums[part][row][column];
    store_rounded(results + (long long)(first_row + row) * N + first_column + column, sum);
  }
}

extern "C" __global__ void __launch_bounds__(threads, ${min_blocks})
    w4a16(const half_bits* __restrict__ a, const u32* __restrict__ w, const half_bits* __restrict__ scale,
          const u32* __restrict__ zero_point, Output* __restrict__ c, float* __restrict__ partial, int M, int N,
          int K) {
  __shared__ float all_sums[depth_threads][rows][tile_columns];
  const int row_tiles = (M + rows - 1) / rows;
  const int first_row = (int)blockIdx.x % row_tiles * rows;
  const int first_column = (int)blockIdx.x / row_tiles * tile_columns;
  const int own_column = (int)threadIdx.x % column_threads * columns;
  const int depth_thread = (int)threadIdx.x / column_threads;
  const Weights weights = {w, scale, zero_point, N, first_column + own_column};
  Pieces pieces = own_pieces(blockIdx.y, K / group_depth);
  if (weights.column >= N) pieces.end = 0;

  overlap_launches();
  float sums[rows][columns] = {};
  Piece ahead;
  int piece = pieces.first + depth_thread;
  if (prefetch && piece < pieces.end) ahead.load(weights, piece);
#pragma unroll 1
  for (; piece < pieces.end; piece += depth_threads) {
    Piece own;
    if constexpr (prefetch) {
      own = ahead;
      if (piece + depth_threads < pieces.end) ahead.load(weights, piece + depth_threads);
    } else {
      own.load(weights, piece);
    }
    own.add_to(sums, a, piece, first_row, M, K);
  }

#pragma unroll
  for (int row = 0; row < rows; ++row) {
#pragma unroll
    for (int i = 0; i < columns; ++i) all_sums[depth_thread][row][own_column + i] = sums[row][i];
  }
  __syncthreads();
  if constexpr (split_k > 1) {
    store_results(partial + (long long)blockIdx.y * M * N, all_sums, first_row, first_column, M, N);
  } else {
    store_results(c, all_sums, first_row, first_column, M, N);
  }
}

#include "include/gemm/reduce.cuh"
