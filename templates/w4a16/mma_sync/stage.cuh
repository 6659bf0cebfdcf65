// A stage in shared memory: activations | words of codes | scales | words of zero points. Rows lie in 16-byte chunks,
// XOR swizzled; those of codes have eight depths each, those of scales and zero points a group.
constexpr int activation_bytes = ${activation_bytes};
constexpr int weight_bytes = ${weight_bytes};
constexpr int scale_bytes = ${scale_bytes};
constexpr int stage_bytes = ${stage_bytes};

struct Stage {
  shared_address start;

  __device__ __forceinline__ Stage(shared_address smem, int stage) : start(smem + stage * stage_bytes) {}

  // Eight activations.
  __device__ __forceinline__ shared_address activations(int row, int eight) const {
    return start + xor_offset<2 * tile_k>(row, eight);
  }
  // Words of four neighbouring columns.
  __device__ __forceinline__ shared_address words(int eight, int four) const {
    return start + activation_bytes + xor_offset<4 * tile_n>(eight, four);
  }
  // Scales of four neighbouring columns.
  __device__ __forceinline__ shared_address scales(int group, int four) const {
    return start + activation_bytes + weight_bytes + xor_offset<2 * tile_n>(group, four / 2) + four % 2 * 8;
  }
  // Zero points of four neighbouring columns.
  __device__ __forceinline__ shared_address zeros(int group, int four) const {
    return start + activation_bytes + weight_bytes + scale_bytes + xor_offset<tile_n / 2>(group, four / 8) +
           four % 8 * 2;
  }
};

__device__ __forceinline__ u32 load_shared_u16(shared_address from) {
  half_bits value;
  asm volatile("ld.shared.u16 %0, [%1];" : "=h"(value) : "r"(from) : "memory");
  return value;
}

// A thread's share of the copies of tiles: of `rows` rows of `chunks` chunks it has one chunk of each `down`-th row.
template <int rows, int chunks>
struct TileCopies {
  static constexpr int down = threads / chunks;
  static constexpr bool all_take_part = rows >= down;

  const unsigned char* from;  // its first chunk of the next tile
  long long pitch;            // from a chunk to the next, in bytes
  long long tile_pitch;       // from a tile to the next
  int row, chunk;

  __device__ __forceinline__ TileCopies(const void* first, long long row_bytes, long long tile_bytes)
      : pitch(down * row_bytes), tile_pitch(tile_bytes), row((int)threadIdx.x / chunks),
        chunk((int)threadIdx.x % chunks) {
    from = (const unsigned char*)first + row * row_bytes + chunk * 16;
  }

  // Starts the copies of a tile, zeros where `there(row)` is false, and and none where `wanted(row)` is false.
  template <typename Wanted, typename There>
  __device__ __forceinline__ void start(shared_address tile, const Wanted& wanted, const There& there) {
    if (all_take_part || row < rows) {
#pragma unroll
      for (int i = 0; i < (rows + down - 1) / down; ++i) {
        const int own = row + i * down;
        if (wanted(own)) copy_async(tile + xor_offset<16 * chunks>(own, chunk), from + i * pitch, there(own));
      }
    }
    from += tile_pitch;
  }
};

// The copies of all operands of a CTA, tile after tile.
struct Copies {
  TileCopies<tile_m, tile_k / 8> activations;
  TileCopies<tile_k / 8, tile_n / 4> weights;
  TileCopies<tile_groups, tile_n / 8> scales;
  TileCopies<tile_groups, tile_n / 32> zeros;
  int rows, columns, depth;  // that are left of the matrices

  __device__ __forceinline__ Copies(const half_bits* a, const u32* w, const half_bits* scale, const u32* zero_point,
                                    int first_row, int first_column, int first_k, int M, int N, int K)
      : activations(a + (long long)first_row * K + first_k, 2 * K, 2 * tile_k),
        weights(w + (long long)(first_k / 8) * N + first_column, 4 * N, (long long)tile_k / 2 * N),
        scales(scale + (long long)(first_k / group_depth) * N + first_column, 2 * N, 2 * tile_groups * N),
        zeros(zero_point + (long long)(first_k / group_depth) * (N / 8) + first_column / 8, N / 2,
              tile_groups * (N / 2)),
        rows(M - first_row), columns(N - first_column), depth(K - first_k) {}

  // Starts those of the next tile. What lies outside of the matrices is zero, so that it adds nothing.
  __device__ __forceinline__ void start(const Stage& stage) {
    const auto always = [](int) { return true; };
    const auto before = [](int end) { return [end](int row) { return row < end; }; };
    activations.start(stage.start, before(rows), [&](int) { return 8 * activations.chunk < depth; });
    weights.start(stage.start + activation_bytes, always, before(4 * weights.chunk < columns ? depth / 8 : 0));
    scales.start(stage.start + activation_bytes + weight_bytes, always,
                 before(8 * scales.chunk < columns ? depth / group_depth : 0));
    zeros.start(stage.start + activation_bytes + weight_bytes + scale_bytes, always,
                before(32 * zeros.chunk < columns ? depth / group_depth : 0));
    depth -= tile_k;
  }
};

// sums += the products of group `group` of a stage.
__device__ __forceinline__ void add_staged_group(Sums& sums, const Stage& stage, int group, const WarpPlace& warp,
                                                 int rows) {
  const int first_four = warp.column / 4 + warp.lane / 4;
  GroupParameters parameters;
#pragma unroll
  for (int strip = 0; strip < strips; ++strip) {
    parameters.scales[strip] = load_shared_u32x2(stage.scales(group, first_four + 8 * strip));
    parameters.zeros[strip] = load_shared_u16(stage.zeros(group, first_four + 8 * strip));
  }
  const auto eight = [&](int step) { return group * group_words + eight_of(step, warp.lane); };
  add_group(
      sums, parameters,
      [&](int step, int strip) { return load_shared(stage.words(eight(step), first_four + 8 * strip)); },
      [&](int step, int m) {
        // Rows that there are not are the last one: their sums go nowhere.
        return load_shared(stage.activations(min(8 * m + warp.lane / 4, rows - 1), eight(step)));
      });
}
