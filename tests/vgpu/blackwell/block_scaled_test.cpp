#include <bit>
#include <cmath>
#include <random>

#include "evaluator/vgpu/numbers/tensor_core.h"
#include "tests/vgpu/gpu_for_tests.h"

// Products of kinds f8f6f4, mxf8f6f4, mxf4 and mxf4nvf4. From the documents, not checked on hardware.
namespace evo::vgpu {
namespace {

using T = MmaType;
using Word = std::uint32_t;

/// A product's registers, 32 lanes each.
struct Tile {
  std::vector<Word> a = std::vector<Word>(4 * 32), b = std::vector<Word>(4 * 32), c = std::vector<Word>(4 * 32),
                    d = std::vector<Word>(4 * 32);
  Word metadata[32] = {};

  MmaOperands operands(const MmaForm& form) {
    MmaOperands rows;
    const MmaRegisters counts = mma_registers(form);
    for (int i = 0; i < counts.a; ++i) rows.a[i] = &a[32 * i];
    for (int i = 0; i < counts.b; ++i) rows.b[i] = &b[32 * i];
    for (int i = 0; i < counts.c; ++i) rows.c[i] = &c[32 * i];
    for (int i = 0; i < counts.d; ++i) rows.d[i] = &d[32 * i];
    rows.metadata = metadata;
    return rows;
  }
};

/// The code at (row, k) of A, or of B's column, with elements of `width` bits (PTX ISA 9.0, 9.7.14.5).
Word code_of_a(const Tile& tile, int width, int row, int k) {
  const int per = 32 / width, reg = k / (4 * per) * 2 + row / 8;
  return tile.a[32 * reg + row % 8 * 4 + k % (4 * per) / per] >> k % per * width & ((1u << width) - 1);
}
Word code_of_b(const Tile& tile, int width, int k, int column) {
  const int per = 32 / width, reg = k / (4 * per);
  return tile.b[32 * reg + column * 4 + k % (4 * per) / per] >> k % per * width & ((1u << width) - 1);
}
float result_at(const Tile& tile, int row, int column) {
  return std::bit_cast<float>(tile.d[32 * (row / 8 * 2 + column % 2) + row % 8 * 4 + column / 2]);
}

/// The value of a code of a byte, as .kind::f8f6f4 has it. No NaN and infinity.
double value_in_byte(T type, Word code) {
  struct Bits {
    int exponent, fraction, shift;
  };
  const Bits bits = type == T::e4m3   ? Bits{4, 3, 0}
                    : type == T::e5m2 ? Bits{5, 2, 0}
                    : type == T::e3m2 ? Bits{3, 2, 0}
                    : type == T::e2m3 ? Bits{2, 3, 0}
                                      : Bits{2, 1, 2};
  code >>= bits.shift;
  const int fraction = static_cast<int>(code & ((1u << bits.fraction) - 1));
  const int field = static_cast<int>(code >> bits.fraction & ((1u << bits.exponent) - 1));
  const int bias = (1 << (bits.exponent - 1)) - 1;
  const double size =
      std::ldexp(fraction + (field > 0 ? 1 << bits.fraction : 0), (field > 0 ? field : 1) - bias - bits.fraction);
  return (code >> (bits.exponent + bits.fraction) & 1u) != 0 ? -size : size;
}

/// Random words whose bytes have exponents near one, so that sums are exact. Unused bits are set, too.
Word random_codes(T type, std::mt19937& random) {
  const Word any = static_cast<Word>(random());
  if (type == T::e4m3) return (any & 0x8f8f8f8fu) | 0x30303030u;
  if (type == T::e5m2) return (any & 0x87878787u) | 0x38383838u;
  return any;
}

MmaForm form_of(T a, T b, int k = 32) {
  MmaForm form{16, 8, k, a, b, T::f32, false};
  form.narrow_kind = true;
  return form;
}

constexpr T kTypes[] = {T::e4m3, T::e5m2, T::e3m2, T::e2m3, T::e2m1};

TEST_CASE("products of kind f8f6f4 multiply any two types of bytes") {
  std::mt19937 random(7);
  for (const T a : kTypes)
    for (const T b : kTypes) {
      const MmaForm form = form_of(a, b);
      REQUIRE(mma_supported(form));
      Tile tile;
      for (Word& word : tile.a) word = random_codes(a, random);
      for (Word& word : tile.b) word = random_codes(b, random);
      for (Word& word : tile.c) word = std::bit_cast<Word>(static_cast<float>(static_cast<int>(random() % 64)));
      mma_sync(form, tensor_core_numerics(120), tile.operands(form));
      const Tile start = tile;
      for (int row = 0; row < 16; ++row)
        for (int column = 0; column < 8; ++column) {
          double sum = std::bit_cast<float>(start.c[32 * (row / 8 * 2 + column % 2) + row % 8 * 4 + column / 2]);
          for (int k = 0; k < 32; ++k)
            sum += value_in_byte(a, code_of_a(tile, 8, row, k)) * value_in_byte(b, code_of_b(tile, 8, k, column));
          REQUIRE(double{result_at(tile, row, column)} == sum);
        }
    }
}

TEST_CASE("estimated products of kind f8f6f4 are near") {
  std::mt19937 random(8);
  for (const T type : {T::e3m2, T::e2m3, T::e2m1}) {
    MmaForm form = form_of(type, T::e4m3);
    form.scale_blocks = 1;
    MmaScales scales;
    for (auto& one : scales.a) one[0] = static_cast<std::uint8_t>(120 + random() % 10);
    for (auto& one : scales.b) one[0] = static_cast<std::uint8_t>(125 + random() % 4);
    Tile exact;
    for (Word& word : exact.a) word = random_codes(type, random);
    for (Word& word : exact.b) word = random_codes(T::e4m3, random);
    Tile near = exact;
    MmaOperands operands = exact.operands(form), others = near.operands(form);
    operands.scales = others.scales = &scales;
    mma_sync(form, tensor_core_numerics(120), operands);
    mma_sync(form, estimated(tensor_core_numerics(120)), others);
    for (int row = 0; row < 16; ++row)
      for (int column = 0; column < 8; ++column)
        CHECK(std::fabs(result_at(near, row, column) - result_at(exact, row, column)) <=
              1e-3f * (1 + std::fabs(result_at(exact, row, column))));
  }
}

TEST_CASE("scales of rows and columns multiply sums of kind mxf8f6f4, and their NaN makes a row or a column NaN") {
  std::mt19937 random(9);
  MmaForm form = form_of(T::e2m3, T::e5m2);
  form.scale_blocks = 1;
  MmaScales scales;
  for (auto& one : scales.a) one[0] = static_cast<std::uint8_t>(117 + random() % 20);
  for (auto& one : scales.b) one[0] = static_cast<std::uint8_t>(117 + random() % 20);
  scales.a[3][0] = scales.b[6][0] = 0xff;
  Tile tile;
  for (Word& word : tile.a) word = random_codes(T::e2m3, random);
  for (Word& word : tile.b) word = random_codes(T::e5m2, random);
  MmaOperands operands = tile.operands(form);
  operands.scales = &scales;
  mma_sync(form, tensor_core_numerics(120), operands);
  for (int row = 0; row < 16; ++row)
    for (int column = 0; column < 8; ++column) {
      double sum = 0;
      for (int k = 0; k < 32; ++k)
        sum +=
            value_in_byte(T::e2m3, code_of_a(tile, 8, row, k)) * value_in_byte(T::e5m2, code_of_b(tile, 8, k, column));
      INFO(row << " " << column);
      if (row == 3 || column == 6)
        CHECK(std::isnan(result_at(tile, row, column)));
      else
        CHECK(double{result_at(tile, row, column)} == std::ldexp(sum, scales.a[row][0] + scales.b[column][0] - 254));
    }
}

double value_of_e2m1(Word code) {
  return value_in_byte(T::e2m1, code << 2);
}
double value_of_ue4m3(std::uint8_t code) {
  return value_in_byte(T::e4m3, code & 0x7fu);
}

TEST_CASE("packed e2m1 has a scale for each 16 or 32 elements along k") {
  std::mt19937 random(10);
  for (const int blocks : {2, 4}) {
    MmaForm form{16, 8, 64, T::e2m1, T::e2m1, T::f32, false};
    form.packed = true;
    form.scale_blocks = blocks;
    form.scale_type = blocks == 4 ? ScaleType::ue4m3 : ScaleType::ue8m0;
    REQUIRE(mma_supported(form));
    CHECK(mma_registers(form).a == 4);
    CHECK(mma_registers(form).b == 2);
    const auto value = [&](std::uint8_t code) {
      return blocks == 4 ? value_of_ue4m3(code) : std::ldexp(1.0, code - 127);
    };
    MmaScales scales;
    const auto draw = [&] {
      return static_cast<std::uint8_t>(blocks == 4 ? 0x28 + random() % 0x20 : 123 + random() % 8);
    };
    for (auto& one : scales.a)
      for (auto& code : one) code = draw();
    for (auto& one : scales.b)
      for (auto& code : one) code = draw();
    Tile tile;
    for (Word& word : tile.a) word = static_cast<Word>(random());
    for (Word& word : tile.b) word = static_cast<Word>(random());
    for (Word& word : tile.c) word = std::bit_cast<Word>(static_cast<float>(random() % 16));
    MmaOperands operands = tile.operands(form);
    operands.scales = &scales;
    mma_sync(form, tensor_core_numerics(120), operands);
    for (int row = 0; row < 16; ++row)
      for (int column = 0; column < 8; ++column) {
        double sum = std::bit_cast<float>(tile.c[32 * (row / 8 * 2 + column % 2) + row % 8 * 4 + column / 2]);
        for (int k = 0; k < 64; ++k)
          sum += value_of_e2m1(code_of_a(tile, 4, row, k)) * value_of_e2m1(code_of_b(tile, 4, k, column)) *
                 value(scales.a[row][k * blocks / 64]) * value(scales.b[column][k * blocks / 64]);
        // Exact sums, but that the result is cut to f32.
        const float nearest = static_cast<float>(sum),
                    cut = std::fabs(nearest) > std::fabs(sum) ? std::nextafter(nearest, 0.0f) : nearest;
        REQUIRE(result_at(tile, row, column) == cut);
      }
  }
}

TEST_CASE("sums of packed e2m1 keep 35 bits below the largest exponent of their scales and of the accumulator") {
  MmaForm form{16, 8, 64, T::e2m1, T::e2m1, T::f32, false};
  form.packed = true;
  form.scale_blocks = 2;
  const auto sum = [&](float c, std::uint8_t first_scale, std::uint8_t second_scale, bool negative) {
    Tile tile;
    tile.a[0] = 0x2;                    // Row 0, k = 0: 1
    tile.b[0] = negative ? 0xa : 0x2;   // k = 0, column 0: -1 or 1
    tile.a[2 * 32] = tile.b[32] = 0x2;  // k = 32
    tile.c[0] = std::bit_cast<Word>(c);
    MmaScales scales;
    scales.a[0] = {first_scale, second_scale};
    scales.b[0] = {127, 127};
    MmaOperands operands = tile.operands(form);
    operands.scales = &scales;
    mma_sync(form, tensor_core_numerics(120), operands);
    return result_at(tile, 0, 0);
  };
  CHECK(sum(0, 127, 127, false) == 2);
  CHECK(sum(-1, 127, 127 - 30, false) == 0x1p-30f);        // 1 - 1 and what is left
  CHECK(sum(0, 127, 127 - 35, true) == -1.0f + 0x1p-24f);  // Cut towards zero.
  CHECK(sum(-1, 127, 127 - 35, false) == 0x1p-35f);
  CHECK(sum(-1, 127, 127 - 36, false) == 0);
  CHECK(sum(HUGE_VALF, 127, 127, true) == HUGE_VALF);
  CHECK(std::isnan(sum(1, 127, 0xff, true)));
  CHECK(sum(0, 254, 254, false) == HUGE_VALF);
}

TEST_CASE("a sparse product of bytes takes the scales, too") {
  MmaForm form = form_of(T::e2m1, T::e2m1, 64);
  form.sparse = true;
  form.scale_blocks = 1;
  REQUIRE(mma_supported(form));
  Tile tile;
  for (Word& word : tile.a) word = 0x08080808;         // 1
  for (Word& word : tile.b) word = 0x10101010;         // 2
  for (Word& word : tile.metadata) word = 0x44444444;  // The first two of each four.
  MmaScales scales;
  for (auto& one : scales.a) one[0] = 128;
  for (auto& one : scales.b) one[0] = 126;
  MmaOperands operands = tile.operands(form);
  operands.scales = &scales;
  mma_sync(form, tensor_core_numerics(120), operands);
  for (int row = 0; row < 16; ++row)
    for (int column = 0; column < 8; ++column) CHECK(result_at(tile, row, column) == 64);
}

/// All of A and B are one; each lane's words of scales are its own. Gives the scale that multiplied each result.
std::vector<float> selected(const std::string& selectors, const std::vector<Word>& scale_words) {
  TestGpu gpu;
  gpu.load_ptx(R"(.version 9.0
.target sm_120a
.address_size 64
.visible .entry k(.param .b64 out, .param .b64 in) {
  .reg .b32 t, r<4>, sa, sb, one; .reg .b64 p, q, o; .reg .b16 h<4>; .reg .f32 f<4>, z;
  mov.u32 t, %tid.x; mul.wide.u32 o, t, 8; ld.param.b64 q, [in]; add.u64 q, q, o; ld.global.v2.b32 {sa, sb}, [q];
  mov.b32 one, 0x08080808; mov.f32 z, 0f00000000; mov.b16 h0, 2; mov.b16 h1, 1;
  mma.sync.aligned.m16n8k32.row.col.kind::mxf8f6f4.block_scale.scale_vec::1X.f32.e2m1.e2m1.f32.ue8m0
    {f0, f1, f2, f3}, {one, one, one, one}, {one, one}, {z, z, z, z}, )" +
               selectors + R"(;
  mul.wide.u32 o, t, 16; ld.param.b64 p, [out]; add.u64 p, p, o; st.global.v4.f32 [p], {f0, f1, f2, f3};
  ret; })");
  const auto from = gpu.upload("in", scale_words);
  const auto to = gpu.allocate("out", 512);
  const auto failure = gpu.launch("k", {}, to, from);
  if (failure) FAIL(failure->reason);
  return gpu.download<float>(to, 128);
}

TEST_CASE("byte and thread select which lanes' scales a product takes") {
  std::vector<Word> words;
  for (Word lane = 0; lane < 32; ++lane)
    for (const Word side : {0u, 1u}) {
      Word word = 0;
      for (Word byte = 0; byte < 4; ++byte) word |= (100 + (lane * 5 + byte * 3 + side * 7) % 40) << 8 * byte;
      words.push_back(word);
    }
  const auto scale = [&](std::size_t lane, std::size_t side, unsigned byte) {
    return static_cast<int>(words[2 * lane + side] >> 8 * byte & 0xffu) - 127;
  };
  struct Choice {
    const char* text;
    unsigned byte_a;
    std::size_t thread_a;
    unsigned byte_b;
    std::size_t thread_b;
  };
  for (const auto& [text, byte_a, thread_a, byte_b, thread_b] : {Choice{"sa, {0, 0}, sb, {0, 0}", 0, 0, 0, 0},
                                                                 {"sa, {3, 1}, sb, {1, 3}", 3, 1, 1, 3},
                                                                 {"sa, {h0, h1}, sb, {h1, h0}", 2, 1, 1, 2}}) {
    const auto got = selected(text, words);
    for (std::size_t lane = 0; lane < 32; ++lane)
      for (std::size_t i = 0; i < 4; ++i) {
        const std::size_t row = lane / 4 + 8 * (i / 2), column = lane % 4 * 2 + i % 2;
        const int a = scale(row % 8 * 4 + 2 * thread_a + row / 8, 0, byte_a),
                  b = scale(column * 4 + thread_b, 1, byte_b);
        INFO(text << " row " << row << " column " << column);
        CHECK(got[4 * lane + i] == std::ldexp(32.0f, a + b));
      }
  }
}

}  // namespace
}  // namespace evo::vgpu
