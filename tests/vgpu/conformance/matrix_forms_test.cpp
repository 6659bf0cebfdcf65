// Matrix products of single bits, of quad pairs and in directed rounding, and movmatrix. Expected elements and
// their lanes follow the PTX ISA 9.0, 9.7.14.
#include <bit>
#include <random>

#include "evaluator/numbers/float_formats.h"
#include "tests/vgpu/conformance/warp_snippet.h"
#include "tests/vgpu/outside_kernels.h"

using namespace evo;
using namespace evo::vgpu;

namespace {

using Words = std::vector<std::uint32_t>;

std::string registers(char letter, int first, int count) {
  std::string text = "{";
  for (int i = 0; i < count; ++i) text += (i > 0 ? "," : "") + std::string(1, letter) + std::to_string(first + i);
  return text + "}";
}

// ---- Single bits

/// One random matrix of bits, with a row of ones and one of zeros.
struct Bits {
  int columns;
  std::vector<std::vector<bool>> rows;
  Bits(int count, int k, std::mt19937& source)
      : columns(k), rows(static_cast<std::size_t>(count), std::vector<bool>(static_cast<std::size_t>(k))) {
    for (auto& row : rows)
      for (std::size_t i = 0; i < row.size(); ++i) row[i] = source() % 2 != 0;
    rows.front().assign(rows.front().size(), true);
    rows.back().assign(rows.back().size(), false);
  }
  std::uint32_t word(int row, int first) const {
    std::uint32_t bits = 0;
    for (int i = 0; i < 32; ++i)
      bits |= static_cast<std::uint32_t>(rows[static_cast<std::size_t>(row)][static_cast<std::size_t>(first + i)]) << i;
    return bits;
  }
};

void check_bits(int m, int k, const std::string& operation) {
  std::mt19937 source(static_cast<unsigned>(m * k));
  const Bits a(m, k, source), b(8, k, source);  // B by columns.
  const int halves = m / 8, steps = k / 128;
  const auto c_at = [](int row, int column) {
    return row == 1 && column == 1 ? 0x7fffffffu : static_cast<std::uint32_t>(row * 100 - column);
  };
  Words in;
  for (int lane = 0; lane < 32; ++lane) {
    const int group = lane / 4, first = lane % 4 * 32;
    for (int step = 0; step < steps; ++step)
      for (int half = 0; half < halves; ++half) in.push_back(a.word(group + 8 * half, first + 128 * step));
    for (int step = 0; step < steps; ++step) in.push_back(b.word(group, first + 128 * step));
    for (int i = 0; i < 2 * halves; ++i) in.push_back(c_at(group + i / 2 * 8, lane % 4 * 2 + i % 2));
  }
  const int of_a = halves * steps, of_c = 2 * halves;
  const Words got =
      run_warp("mma.sync.aligned.m" + std::to_string(m) + "n8k" + std::to_string(k) + ".row.col.s32.b1.b1.s32." +
                   operation + ".popc " + registers('o', 0, of_c) + "," + registers('r', 0, of_a) + "," +
                   registers('r', of_a, steps) + "," + registers('r', of_a + steps, of_c) + ";",
               of_a + steps + of_c, of_c, in);
  for (int lane = 0; lane < 32; ++lane)
    for (int i = 0; i < of_c; ++i) {
      const int row = lane / 4 + i / 2 * 8, column = lane % 4 * 2 + i % 2;
      std::uint32_t expected = c_at(row, column);
      for (int x = 0; x < k; ++x) {
        const bool in_a = a.rows[static_cast<std::size_t>(row)][static_cast<std::size_t>(x)],
                   in_b = b.rows[static_cast<std::size_t>(column)][static_cast<std::size_t>(x)];
        expected += operation == "xor" ? in_a != in_b : in_a && in_b;
      }
      INFO("row " << row << ", column " << column);
      CHECK(got[static_cast<std::size_t>(lane * of_c + i)] == expected);
    }
}

// ---- m8n8k4 of f16

struct At {
  int row, column;
};
bool upper(int lane) {
  return lane >= 16;
}
At a_at(int lane, int i, bool by_columns) {
  return by_columns ? At{i + (upper(lane) ? 4 : 0), lane % 4} : At{lane % 4 + (upper(lane) ? 4 : 0), i};
}
At b_at(int lane, int i, bool by_columns) {
  return by_columns ? At{i, lane % 4 + (upper(lane) ? 4 : 0)} : At{lane % 4, i + (upper(lane) ? 4 : 0)};
}
At half_at(int lane, int i) {
  return {lane % 4 + (upper(lane) ? 4 : 0), i};
}
At word_at(int lane, int i) {
  return {(lane & 1) + (i & 2) + (upper(lane) ? 4 : 0), (i & 4) + (lane & 2) + (i & 1)};
}

std::uint32_t half_bits(int value) {
  return f16_from_f32(static_cast<float>(value), {});
}

/// Whole numbers small enough to be exact in f16.
void check_quad_pairs(bool a_by_columns, bool b_by_columns, const std::string& d_type, const std::string& c_type) {
  const auto a = [](int pair, At at) { return (at.row * 5 + at.column * 3 + pair) % 7 - 3; };
  const auto b = [](int pair, At at) { return (at.row * 2 + at.column * 11 + 3 * pair) % 9 - 4; };
  const auto c = [](int pair, At at) { return at.row * 8 + at.column - 20 * pair; };
  const bool half_c = c_type == "f16", half_d = d_type == "f16";
  Words in;
  for (int lane = 0; lane < 32; ++lane) {
    const int pair = lane % 16 / 4;
    for (int i = 0; i < 4; i += 2)
      in.push_back(half_bits(a(pair, a_at(lane, i, a_by_columns))) | half_bits(a(pair, a_at(lane, i + 1, a_by_columns)))
                                                                         << 16);
    for (int i = 0; i < 4; i += 2)
      in.push_back(half_bits(b(pair, b_at(lane, i, b_by_columns))) | half_bits(b(pair, b_at(lane, i + 1, b_by_columns)))
                                                                         << 16);
    for (int i = 0; i < 8; i += half_c ? 2 : 1)
      in.push_back(half_c ? half_bits(c(pair, half_at(lane, i))) | half_bits(c(pair, half_at(lane, i + 1))) << 16
                          : std::bit_cast<std::uint32_t>(static_cast<float>(c(pair, word_at(lane, i)))));
  }
  const int of_c = half_c ? 4 : 8, of_d = half_d ? 4 : 8;
  const std::string layouts = std::string(a_by_columns ? ".col" : ".row") + (b_by_columns ? ".col" : ".row");
  INFO(layouts << "." << d_type << "." << c_type);
  const Words got = run_warp("mma.sync.aligned.m8n8k4" + layouts + "." + d_type + ".f16.f16." + c_type + " " +
                                 registers('o', 0, of_d) + ", {r0, r1}, {r2, r3}, " + registers('r', 4, of_c) + ";",
                             4 + of_c, of_d, in);
  for (int lane = 0; lane < 32; ++lane)
    for (int i = 0; i < 8; ++i) {
      const int pair = lane % 16 / 4;
      const At at = half_d ? half_at(lane, i) : word_at(lane, i);
      int expected = c(pair, at);
      for (int k = 0; k < 4; ++k) expected += a(pair, {at.row, k}) * b(pair, {k, at.column});
      const std::uint32_t word = got[static_cast<std::size_t>(lane * of_d + (half_d ? i / 2 : i))];
      CHECK((half_d ? word >> 16 * (i % 2) & 0xffffu : word) ==
            (half_d ? half_bits(expected) : std::bit_cast<std::uint32_t>(static_cast<float>(expected))));
    }
}

}  // namespace

TEST_CASE("products of single bits count common or differing bits, and wrap") {
  for (const std::string operation : {"and", "xor"}) {
    check_bits(8, 128, operation);
    check_bits(16, 128, operation);
    check_bits(16, 256, operation);
  }
}

TEST_CASE("m8n8k4 of f16 is a product for each quad pair, in four layouts") {
  for (const bool a_by_columns : {false, true})
    for (const bool b_by_columns : {false, true}) {
      check_quad_pairs(a_by_columns, b_by_columns, "f32", "f32");
      check_quad_pairs(a_by_columns, b_by_columns, "f32", "f16");
      check_quad_pairs(a_by_columns, b_by_columns, "f16", "f16");
    }
}

TEST_CASE("products of doubles round in the named mode") {
  // (1 + 2^-52)^2 lies between 1 + 2^-51 and the next double, close to the former.
  const auto below = std::bit_cast<std::uint64_t>(1 + 0x1p-51), above = below + 1;
  const auto factor = std::bit_cast<std::uint64_t>(1 + 0x1p-52);
  for (const bool negative : {false, true}) {
    const std::uint64_t sign = negative ? 1ull << 63 : 0;
    Words in;
    for (int lane = 0; lane < 32; ++lane) {
      const bool first = lane % 4 == 0;  // k = 0.
      for (const std::uint64_t value : {first ? factor | sign : 0, first ? factor : 0}) {
        in.push_back(static_cast<std::uint32_t>(value));
        in.push_back(static_cast<std::uint32_t>(value >> 32));
      }
    }
    for (const std::string rounding : {"", ".rn", ".rz", ".rm", ".rp"})
      for (const std::string name : {"mma.sync.aligned.m8n8k4.row.col", "wmma.mma.sync.aligned.row.col.m8n8k4"}) {
        const Words got =
            run_warp("mov.b64 d0, {r0, r1}; mov.b64 d1, {r2, r3}; mov.b64 d2, 0; mov.b64 d3, 0; " + name + rounding +
                         ".f64.f64.f64.f64 {d4, d5}, {d0}, {d1}, {d2, d3}; mov.b64 {o0, o1}, d4; mov.b64 {o2, o3}, d5;",
                     4, 4, in);
        const bool away = rounding == (negative ? ".rm" : ".rp");
        INFO(name << rounding << (negative ? ", negative" : ""));
        for (std::size_t i = 0; i < got.size(); i += 2)
          CHECK((got[i] | std::uint64_t{got[i + 1]} << 32) == ((away ? above : below) | sign));
      }
  }
}

TEST_CASE("wmma widens a half C and rounds a half D, and multiplies single bits") {
  Outside gpu("matrix_products.cu");
  std::vector<std::uint16_t> a(256), b(256);
  for (std::size_t i = 0; i < 256; ++i) {
    a[i] = static_cast<std::uint16_t>(half_bits(static_cast<int>(i % 5) - 2));
    b[i] = static_cast<std::uint16_t>(half_bits(static_cast<int>(i % 7) - 3));
  }
  const std::vector<std::uint16_t> c(256, static_cast<std::uint16_t>(f16_from_f32(2049 / 2.0f, {})));
  const auto product = [](std::size_t row, std::size_t column) {
    int sum = 0;
    for (std::size_t k = 0; k < 16; ++k)
      sum += (static_cast<int>((row * 16 + k) % 5) - 2) * (static_cast<int>((k * 16 + column) % 7) - 3);
    return static_cast<float>(sum);
  };
  const auto at_a = gpu.upload("a", a), at_b = gpu.upload("b", b), at_c = gpu.upload("c", c);
  const auto wide = gpu.upload("wide", std::vector<float>(256, 0.25f));
  const auto half_out = gpu.upload("half", std::vector<std::uint16_t>(256, 0));
  gpu.run("matmul_wmma_half_c", {}, wide, at_a, at_b, at_c);
  const auto sums = gpu.download<float>(wide, 256);
  gpu.run("matmul_wmma_half_d", {}, half_out, at_a, at_b, wide);
  const auto halves = gpu.download<std::uint16_t>(half_out, 256);
  const float rounded_c = f32_from_f16(c[0]);
  for (std::size_t row = 0; row < 16; ++row)
    for (std::size_t column = 0; column < 16; ++column) {
      const float expected = rounded_c + product(row, column);
      CHECK(sums[row * 16 + column] == expected);
      CHECK(halves[row * 16 + column] == f16_from_f32(expected + product(row, column), {}));
    }

  std::mt19937 source(5);
  std::vector<std::uint32_t> bits_a(32), bits_b(32);
  for (auto* words : {&bits_a, &bits_b})
    for (auto& word : *words) word = static_cast<std::uint32_t>(source());
  const auto at_bits_a = gpu.upload("bits of a", bits_a), at_bits_b = gpu.upload("bits of b", bits_b);
  const auto counts = gpu.upload("counts", std::vector<std::int32_t>(128, 0));
  gpu.run("multiply_bits", {}, counts, at_bits_a, at_bits_b);
  const auto got = gpu.download<std::int32_t>(counts, 128);
  for (std::size_t row = 0; row < 8; ++row)
    for (std::size_t column = 0; column < 8; ++column) {
      int both = 0, differ = 0;
      for (std::size_t word = 0; word < 4; ++word) {
        both += std::popcount(bits_a[row * 4 + word] & bits_b[column * 4 + word]);
        differ += std::popcount(bits_a[row * 4 + word] ^ bits_b[column * 4 + word]);
      }
      CHECK(got[row * 8 + column] == both + 7);
      CHECK(got[64 + row * 8 + column] == differ + 7);
    }
}

TEST_CASE("movmatrix transposes 8 by 8 elements of 16 bits") {
  Words in;
  for (std::uint32_t lane = 0; lane < 32; ++lane) {
    const std::uint32_t row = lane / 4, column = lane % 4 * 2;
    in.push_back((row << 8 | column) | (row << 8 | (column + 1)) << 16);
  }
  const Words got = run_warp("movmatrix.sync.aligned.m8n8.trans.b16 o0, r0;", 1, 1, in);
  for (std::uint32_t lane = 0; lane < 32; ++lane) {
    const std::uint32_t row = lane / 4, column = lane % 4 * 2;
    CHECK(got[lane] == ((column << 8 | row) | ((column + 1) << 8 | row) << 16));
  }
}
