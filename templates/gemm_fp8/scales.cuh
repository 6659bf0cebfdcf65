enum class Scaling { tensor, rows, blocks };
constexpr Scaling scaling = Scaling::${scaling};

// Scales of the task, and sums as mma and wgmma leave them: of each 8 columns a lane has four, two neighbours in row
// `first_row` and two in first_row + 8.

struct Scales {
  const float* a;
  const float* b;
  int M;
  int N;
  int blocks;  // scales of a row: one for each 128 codes
};

// Those of a lane for one block of depths: of its two rows of a, and of the blocks of b that its pieces lie in.
template <int columns>
struct BlockScales {
  static constexpr int same = columns % 128 == 0 ? 128 : columns % 64 == 0 ? 64 : columns % 32 == 0 ? 32 : 16;
  float row[2];
  float column[columns / same];  // of `same` neighbouring columns

  // 1 where blocks have no scales of their own, 0 past the last block; those of rows times `unit`.
  __device__ __forceinline__ void load(const Scales& scales, int block, int first_row, int first_column, float unit) {
    if constexpr (scaling != Scaling::blocks) {
      row[0] = row[1] = unit;
      for (float& one : column) one = 1.0f;
      return;
    }
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      const long long scale_row = min(first_row + 8 * r, scales.M - 1);
      row[r] = block < scales.blocks ? scales.a[scale_row * scales.blocks + block] * unit : 0.0f;
    }
#pragma unroll
    for (int i = 0; i < columns / same; ++i) {
      const long long scale_row = min(first_column + i * same, scales.N - 1) / 128;
      column[i] = block < scales.blocks ? scales.b[scale_row * scales.blocks + block] : 0.0f;
    }
  }

  // sums += scaled parts
  __device__ __forceinline__ void add(float* sums, const float* parts) const {
#pragma unroll
    for (int i = 0; i < columns / 2; ++i) sums[i] = fmaf(parts[i], row[i / 2 % 2] * column[i * 2 / same], sums[i]);
  }
};

// Multiplies the sums of `columns` columns by the scales of their rows of a and b, or of all. `unit` does so too.
template <int columns>
__device__ __forceinline__ void scale_results(float* sums, const Scales& scales, int first_row, int first_column,
                                              float unit) {
  constexpr bool rows = scaling == Scaling::rows;
  const int own_column = first_column + 2 * (threadIdx.x % 4);
  float row[2];
#pragma unroll
  for (int r = 0; r < 2; ++r) row[r] = scales.a[rows ? min(first_row + 8 * r, scales.M - 1) : 0] * unit;
#pragma unroll
  for (int piece = 0; piece < columns / 8; ++piece) {
    float2 column = make_float2(scales.b[0], scales.b[0]);
    if constexpr (rows) column = *(const float2*)(scales.b + min(own_column + 8 * piece, scales.N - 2));
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      float* pair = sums + 4 * piece + 2 * r;
      pair[0] = pair[0] * row[r] * column.x;
      pair[1] = pair[1] * row[r] * column.y;
    }
  }
}
