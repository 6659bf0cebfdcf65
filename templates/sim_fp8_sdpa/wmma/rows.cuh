// What a warp does with its 16 rows. Two lanes have a row, lane / 2: of each four keys one has the first two, the other
// one the last two. Scores, weights and factors of rows lie in the warp's own shared memory.
constexpr int score_pitch = ${score_pitch};    // f32 numbers; also of the accumulated rows on their way out
constexpr int weight_pitch = tile_k + 8;  // f16 numbers
constexpr int row_keys = tile_k / 2;      // of a lane

struct WarpMemory {
  float* scores;
  __half* weights;
  float* factors;  // of each row

  __device__ __forceinline__ explicit WarpMemory(unsigned char* begin)
      : scores(reinterpret_cast<float*>(begin)),
        weights(reinterpret_cast<__half*>(begin + 16 * score_pitch * 4)),
        factors(reinterpret_cast<float*>(begin + 16 * score_pitch * 4 + 16 * weight_pitch * 2)) {}
};

__device__ __forceinline__ int key_of(int i, int lane) { return i / 2 * 4 + lane % 2 * 2 + i % 2; }

__device__ __forceinline__ float row_total(float value) { return value + __shfl_xor_sync(0xffffffffu, value, 1); }

// Scores become weights; `keys` of the tile are seen by this lane's row. The factor by which the row's sums are to
// shrink goes to memory.factors. row_sum is this lane's share, of the weights as the product sees them.
__device__ __forceinline__ void weigh_row(const WarpMemory& memory, int keys, float scale, float& row_max,
                                          float& row_sum, int lane) {
  const float* row = memory.scores + lane / 2 * score_pitch;
  float scores[row_keys];
  float highest = __int_as_float(0xff800000);
#pragma unroll
  for (int i = 0; i < row_keys; ++i) {
    scores[i] = key_of(i, lane) < keys ? row[key_of(i, lane)] : __int_as_float(0xff800000);
    highest = fmaxf(highest, scores[i]);
  }
  highest = fmaxf(highest, __shfl_xor_sync(0xffffffffu, highest, 1));
  const float new_max = fmaxf(row_max, highest * scale);
  const float shrink = exp2_approximate(row_max - new_max);
  row_max = new_max;
  row_sum *= shrink;
  u32* weights = reinterpret_cast<u32*>(memory.weights + lane / 2 * weight_pitch);
#pragma unroll
  for (int i = 0; i < row_keys; i += 2) {
    const f16x2 pair = f16x2_from_f32(exp2_approximate(fmaf(scores[i], scale, -row_max)),
                                      exp2_approximate(fmaf(scores[i + 1], scale, -row_max)));
    row_sum += first_of(pair) + second_of(pair);
    weights[key_of(i, lane) / 2] = pair;
  }
  if (lane % 2 == 0) memory.factors[lane / 2] = shrink;
}

// The rows that this lane's elements of accumulator fragments belong to: all fragments are laid out alike.
struct RowsOfElements {
  int row[Sums::num_elements];

  __device__ __forceinline__ RowsOfElements(float* scratch, int lane) {
    for (int i = lane; i < 256; i += 32) scratch[i] = (float)(i / 16);
    __syncwarp();
    Sums rows;
    wmma::load_matrix_sync(rows, scratch, 16, wmma::mem_row_major);
#pragma unroll
    for (int i = 0; i < Sums::num_elements; ++i) row[i] = (int)rows.x[i];
    __syncwarp();
  }
};

// Every row times its factor.
__device__ __forceinline__ void scale_rows(Sums (&acc_o)[head_dim / 16], const RowsOfElements& elements,
                                           const float* factors) {
#pragma unroll
  for (int i = 0; i < Sums::num_elements; ++i) {
    const float factor = factors[elements.row[i]];
#pragma unroll
    for (int part = 0; part < head_dim / 16; ++part) acc_o[part].x[i] *= factor;
  }
}

// Accumulated rows leave through the room of the scores; `row_sum` is the whole sum.
__device__ __forceinline__ void store_rows(const Output& output, const Work& work, int first_row,
                                           const Sums (&acc_o)[head_dim / 16], const WarpMemory& memory, float row_max,
                                           float row_sum, const ValueScale& value, int lane) {
#pragma unroll
  for (int part = 0; part < head_dim / 16; ++part) {
    wmma::store_matrix_sync(memory.scores + 16 * part, acc_o[part], score_pitch, wmma::mem_row_major);
  }
  __syncwarp();
  const int row = first_row + lane / 2;
  if (row >= output.M) return;
#pragma unroll
  for (int i = lane % 2; i < head_dim / 4; i += 2) {
    const float4 columns = *reinterpret_cast<const float4*>(memory.scores + lane / 2 * score_pitch + 4 * i);
    finish_columns(output, work, row, 4 * i, columns, row_max, row_sum, value);
  }
}
