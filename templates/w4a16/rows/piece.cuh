// A piece of a group: some words of each of a thread's columns, with the columns' scales and zero points there.
struct Weights {
  const u32* words;
  const half_bits* scales;
  const u32* zero_points;
  int N;
  int column;  // the thread's first one
};

// A code becomes f32 where it lies in its word: with the right exponent the word's bits are 2^(23 - bit) + code, from
// which 2^(23 - bit) + zero point is taken. Nothing is rounded. Bits 8, 12 and 16 do for all codes.
constexpr int places = 3;

__device__ __forceinline__ u32 unit_at(int place) { return 127 + 23 - (8 + 4 * place) << 23; }

struct Offsets {
  float of[places];

  __device__ __forceinline__ Offsets(u32 zero) {
#pragma unroll
    for (int place = 0; place < places; ++place) {
      of[place] = __uint_as_float(unit_at(place) + (zero << 8 + 4 * place));
    }
  }
};

__device__ __forceinline__ void decode(float (&values)[8], u32 word, const Offsets& offsets) {
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    const u32 moved = i < 2 ? word << 8 : i < 5 ? word : word >> 12;
    const int place = i < 2 ? i : i < 5 ? i - 2 : i - 5;
    values[i] = __uint_as_float(moved & 15u << 8 + 4 * place | unit_at(place)) - offsets.of[place];
  }
}

struct alignas(2 * columns) ScaleBits {
  half_bits of[columns];
};

struct Piece {
  Packet<4 * columns> packet[words];
  ScaleBits scales;
  u32 zeros;

  __device__ __forceinline__ void load(const Weights& from, int piece) {
    const int group = piece / group_pieces;
    const u32* first = from.words + (long long)piece * words * from.N + from.column;
#pragma unroll
    for (int i = 0; i < words; ++i) load_once(packet[i], first + (long long)i * from.N);
    scales = *(const ScaleBits*)(from.scales + (long long)group * from.N + from.column);
    zeros = from.zero_points[(long long)group * (from.N / 8) + from.column / 8] >> from.column % 8 * 4;
  }

  // sums += the piece's products
  __device__ __forceinline__ void add_to(float (&sums)[rows][columns], const half_bits* a, int piece, int first_row,
                                         int M, int K) const {
    float dots[rows][columns] = {};
#pragma unroll
    for (int i = 0; i < words; ++i) {
      float activations[rows][8];
#pragma unroll
      for (int row = 0; row < rows; ++row) {
        // Rows that there are not are the last one: their sums go nowhere.
        Packet<16> eight;
        load_shared_by_rows(eight, a + (long long)min(first_row + row, M - 1) * K + (piece * words + i) * 8);
        unpack(eight, activations[row]);
      }
#pragma unroll
      for (int column = 0; column < columns; ++column) {
        float values[8];
        decode(values, packet[i].word[column], Offsets((zeros >> 4 * column & 15) + zero_offset));
#pragma unroll
        for (int row = 0; row < rows; ++row) {
#pragma unroll
          for (int k = 0; k < 8; ++k) dots[row][column] = fmaf(values[k], activations[row][k], dots[row][column]);
        }
      }
    }
#pragma unroll
    for (int column = 0; column < columns; ++column) {
      const float scale = scale_value(scales.of[column]);
#pragma unroll
      for (int row = 0; row < rows; ++row) sums[row][column] = fmaf(dots[row][column], scale, sums[row][column]);
    }
  }
};
