// Products of weights and activations, and their sums in registers. A strip of 32 columns is two operands of 16 rows.
// A lane has four neighbouring columns of it: rows lane / 4 and lane / 4 + 8 of the first operand and of the second.
// Of eight rows of the result it has two.
constexpr bool scales_weights = ${scaling == 'weights'};  // scales multiply weights, which are rounded; else exact sums

struct Sums {
  float of[strips][2][row_tiles][4];
};

struct WarpPlace {
  int column;  // its first one, in the tile
  int depth;   // which share of the depth it has
  int lane;
};

__device__ __forceinline__ WarpPlace warp_place() {
  const int warp = threadIdx.x / 32;
  return {warp % warps_n * 32 * strips, warp / warps_n, (int)threadIdx.x % 32};
}

// What a lane has of a group beside the words: of each strip its columns' scales, and their zero points in 16 bits.
struct GroupParameters {
  uint2 scales[strips];
  u32 zeros[strips];
};

// Which eight neighbouring depths of a group a lane has in step 0 .. 3. Not in order: eight lanes then meet no bank of
// shared memory twice.
constexpr int group_steps = 4;
__device__ __forceinline__ int eight_of(int step, int lane) { return step / 2 * 8 + lane % 4 * 2 + step % 2; }

// sums += the products of a group. `words(step, strip)` are those of the lane's columns, `activations(step, m)` those
// of row 8 m + lane / 4. Which depth a value has within a product does not matter, as long as both operands agree: a
// lane has eight neighbouring ones, in two products.
template <typename Words, typename Activations>
__device__ __forceinline__ void add_group(Sums& sums, const GroupParameters& group, const Words& words,
                                          const Activations& activations) {
  Sums dots = {};
  Sums& products = scales_weights ? sums : dots;
#pragma unroll unrolled_steps
  for (int step = 0; step < group_steps; ++step) {
    u32 rows_operand[row_tiles][4];
#pragma unroll
    for (int m = 0; m < row_tiles; ++m) pair_like_codes(rows_operand[m], activations(step, m));
#pragma unroll
    for (int strip = 0; strip < strips; ++strip) {
      const uint4 four = words(step, strip);
      const u32 word[4] = {four.x, four.y, four.z, four.w};
#pragma unroll
      for (int t = 0; t < 2; ++t) {
        u32 first[4], second[4];
        decode(first, word[2 * t], offset_of(group.zeros[strip] >> 8 * t & 15));
        decode(second, word[2 * t + 1], offset_of(group.zeros[strip] >> 8 * t + 4 & 15));
        if constexpr (scales_weights) {
          const u32 scales = t == 0 ? group.scales[strip].x : group.scales[strip].y;
          scale_pairs(first, pick_bytes<0x1010>(scales, scales));
          scale_pairs(second, pick_bytes<0x3232>(scales, scales));
        }
        const u32 columns_operand[2][4] = {{first[0], second[0], first[1], second[1]},
                                           {first[2], second[2], first[3], second[3]}};
#pragma unroll
        for (int m = 0; m < row_tiles; ++m) {
          mma_bf16(products.of[strip][t][m], columns_operand[0], rows_operand[m][0], rows_operand[m][1]);
          mma_bf16(products.of[strip][t][m], columns_operand[1], rows_operand[m][2], rows_operand[m][3]);
        }
      }
    }
  }
  if constexpr (scales_weights) return;
#pragma unroll
  for (int strip = 0; strip < strips; ++strip) {
    float scales[4];
    unpack_scales(group.scales[strip], scales);
#pragma unroll
    for (int t = 0; t < 2; ++t) {
#pragma unroll
      for (int m = 0; m < row_tiles; ++m) {
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          float& sum = sums.of[strip][t][m][i];
          sum = fmaf(dots.of[strip][t][m][i], scales[2 * t + i / 2], sum);
        }
      }
    }
  }
}

// Adds the sums of the warps that share the depth, half of them to the other half each time, in shared memory. Nothing
// else may be under way there. The first of them have the result.
__device__ __forceinline__ void add_over_warps(Sums& sums, shared_address smem, const WarpPlace& warp) {
  float* const lane_sums = &sums.of[0][0][0][0];
  constexpr int fours = sizeof(Sums) / 16;
#pragma unroll
  for (int half = warps_k / 2; half > 0; half /= 2) {
    const int place = warp.depth % half * warps_n * 32 + (int)threadIdx.x % (warps_n * 32);
    __syncthreads();  // all are done with what lay there
    if (half <= warp.depth && warp.depth < 2 * half) {
#pragma unroll
      for (int i = 0; i < fours; ++i) {
        store_shared(smem + (i * half * warps_n * 32 + place) * 16,
                     make_float4(lane_sums[4 * i], lane_sums[4 * i + 1], lane_sums[4 * i + 2], lane_sums[4 * i + 3]));
      }
    }
    __syncthreads();
    if (warp.depth < half) {
#pragma unroll
      for (int i = 0; i < fours; ++i) {
        const float4 other = load_shared_f32x4(smem + (i * half * warps_n * 32 + place) * 16);
        lane_sums[4 * i] += other.x;
        lane_sums[4 * i + 1] += other.y;
        lane_sums[4 * i + 2] += other.z;
        lane_sums[4 * i + 3] += other.w;
      }
    }
  }
}

template <typename Result>
__device__ __forceinline__ void store_sums(Result* results, const Sums& sums, const WarpPlace& warp, int first_row,
                                           int rows, int first_column, int N) {
#pragma unroll
  for (int m = 0; m < row_tiles; ++m) {
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const int row = 8 * m + 2 * (warp.lane % 4) + i;
      if (row >= rows) continue;
#pragma unroll
      for (int strip = 0; strip < strips; ++strip) {
        const int column = first_column + warp.column + 32 * strip + 4 * (warp.lane / 4);
        if (column >= N) continue;
        const auto& of = sums.of[strip];
        store_four(results + (long long)(first_row + row) * N + column,
                   make_float4(of[0][m][i], of[0][m][2 + i], of[1][m][i], of[1][m][2 + i]));
      }
    }
  }
}
