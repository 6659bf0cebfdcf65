// What a lane reads of a group: words of four neighbouring columns of each strip, and eight activations of each of its
// rows, for each step.
struct GroupOfLane {
  Packet<16> words[group_steps][strips];
  Packet<16> activations[group_steps][row_tiles];
  GroupParameters parameters;

  __device__ __forceinline__ void add_to(Sums& sums) const {
    const auto four = [](const Packet<16>& packet) {
      return make_uint4(packet.word[0], packet.word[1], packet.word[2], packet.word[3]);
    };
    add_group(
        sums, parameters, [&](int step, int strip) { return four(words[step][strip]); },
        [&](int step, int m) { return four(activations[step][m]); });
  }
};

// Where a lane reads next: in each of its groups, warps_k groups apart. Rows and strips that there are not are the last
// ones: their sums go nowhere.
struct Lane {
  const u32* words[strips];
  const half_bits* scales[strips];
  const u32* zeros[strips];
  const half_bits* activations[row_tiles];
  int zeros_shift;
  int N;

  __device__ __forceinline__ Lane(const half_bits* a, const u32* w, const half_bits* scale, const u32* zero_point,
                                  int first_row, int rows, int first_column, int group, const WarpPlace& warp, int N,
                                  int K)
      : zeros_shift(warp.lane / 4 % 2 * 16), N(N) {
    const int eight = group * group_words + eight_of(0, warp.lane);
#pragma unroll
    for (int strip = 0; strip < strips; ++strip) {
      const int column = min(first_column + warp.column + 32 * strip, N - 32) + 4 * (warp.lane / 4);
      words[strip] = w + (long long)eight * N + column;
      scales[strip] = scale + (long long)group * N + column;
      zeros[strip] = zero_point + (long long)group * (N / 8) + column / 8;
    }
#pragma unroll
    for (int m = 0; m < row_tiles; ++m) {
      activations[m] = a + (long long)(first_row + min(8 * m + warp.lane / 4, rows - 1)) * K + 8 * eight;
    }
  }

  __device__ __forceinline__ void load_next(GroupOfLane& to) {
#pragma unroll
    for (int strip = 0; strip < strips; ++strip) {
#pragma unroll
      for (int step = 0; step < group_steps; ++step) {
        load_once(to.words[step][strip], words[strip] + (long long)eight_of(step, 0) * N);
      }
      to.parameters.scales[strip] = load_global_u32x2(scales[strip]);
      to.parameters.zeros[strip] = load_global_u32(zeros[strip]) >> zeros_shift;
      words[strip] += (long long)(warps_k * group_words) * N;
      scales[strip] += (long long)warps_k * N;
      zeros[strip] += (long long)warps_k * (N / 8);
    }
#pragma unroll
    for (int m = 0; m < row_tiles; ++m) {
#pragma unroll
      for (int step = 0; step < group_steps; ++step) {
        load_shared_by_rows(to.activations[step][m], activations[m] + 8 * eight_of(step, 0));
      }
      activations[m] += warps_k * group_depth;
    }
  }
};
