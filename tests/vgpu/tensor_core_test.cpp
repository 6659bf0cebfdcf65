#include "evaluator/vgpu/numbers/tensor_core.h"

#include <bit>
#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cmath>

#include "tests/vgpu/conformance/recorded_numerics.h"

namespace evo::vgpu {
namespace {

using T = MmaType;

const std::map<std::string, MmaForm> kRecordedForms = {
    {"mma.m16n8k32.e4m3.e4m3.f32", {16, 8, 32, T::e4m3, T::e4m3, T::f32, false}},
    {"mma.m16n8k32.e5m2.e5m2.f32", {16, 8, 32, T::e5m2, T::e5m2, T::f32, false}},
    {"mma.m16n8k32.e4m3.e5m2.f32", {16, 8, 32, T::e4m3, T::e5m2, T::f32, false}},
    {"mma.m16n8k32.e4m3.e4m3.f16", {16, 8, 32, T::e4m3, T::e4m3, T::f16, false}},
    {"mma.m16n8k32.e5m2.e5m2.f16", {16, 8, 32, T::e5m2, T::e5m2, T::f16, false}},
    {"mma.m16n8k16.e4m3.e4m3.f32", {16, 8, 16, T::e4m3, T::e4m3, T::f32, false}},
    {"mma.m16n8k16.f16.f16.f32", {16, 8, 16, T::f16, T::f16, T::f32, false}},
    {"mma.m16n8k16.f16.f16.f16", {16, 8, 16, T::f16, T::f16, T::f16, false}},
    {"mma.m16n8k16.bf16.bf16.f32", {16, 8, 16, T::bf16, T::bf16, T::f32, false}},
    {"mma.m16n8k8.f16.f16.f32", {16, 8, 8, T::f16, T::f16, T::f32, false}},
    {"mma.m16n8k8.f16.f16.f16", {16, 8, 8, T::f16, T::f16, T::f16, false}},
    {"mma.m16n8k8.bf16.bf16.f32", {16, 8, 8, T::bf16, T::bf16, T::f32, false}},
    {"mma.m16n8k8.tf32.tf32.f32", {16, 8, 8, T::tf32, T::tf32, T::f32, false}},
    {"mma.m16n8k4.tf32.tf32.f32", {16, 8, 4, T::tf32, T::tf32, T::f32, false}},
    {"mma.m16n8k32.s8.s8.s32", {16, 8, 32, T::s8, T::s8, T::s32, false}},
    {"mma.m16n8k32.u8.s8.s32.satfinite", {16, 8, 32, T::u8, T::s8, T::s32, true}},
    {"mma.m8n8k4.f64", {8, 8, 4, T::f64, T::f64, T::f64, false}},
};

/// The registers of one mma.sync, as rows; D starts with arbitrary values.
struct Registers {
  int row_words = 32;
  MmaRegisters counts;
  std::vector<std::uint32_t> a, b, c, d;

  explicit Registers(const MmaForm& form) : row_words(form.a == T::f64 ? 64 : 32), counts(mma_registers(form)) {
    a.resize(static_cast<std::size_t>(counts.a * row_words));
    b.resize(static_cast<std::size_t>(counts.b * row_words));
    c.resize(static_cast<std::size_t>(counts.c * row_words));
    d.assign(c.size(), 0xdeadbeefu);
  }
  MmaOperands operands() {
    MmaOperands rows;
    for (int i = 0; i < counts.a; ++i) rows.a[i] = &a[i * row_words];
    for (int i = 0; i < counts.b; ++i) rows.b[i] = &b[i * row_words];
    for (int i = 0; i < counts.c; ++i) {
      rows.c[i] = &c[i * row_words];
      rows.d[i] = &d[i * row_words];
    }
    return rows;
  }
};

/// Sets element (row, k) of A, (k, column) of B or (row, column) of C in its register (PTX ISA 9.7.14.5).
void set(std::vector<std::uint32_t>& rows, int reg, int lane, int element, int width, std::uint32_t bits) {
  std::uint32_t& word = rows[static_cast<std::size_t>(reg * 32 + lane)];
  const std::uint32_t mask = width == 32 ? ~0u : ((1u << width) - 1) << (element * width);
  word = (word & ~mask) | ((bits << (element * width)) & mask);
}
void set_a(Registers& r, int width, int row, int k, std::uint32_t bits) {
  const int per = 32 / width, reg_k = k / (4 * per);
  set(r.a, 2 * reg_k + row / 8, row % 8 * 4 + k % (4 * per) / per, k % per, width, bits);
}
void set_b(Registers& r, int width, int k, int column, std::uint32_t bits) {
  const int per = 32 / width;
  set(r.b, k / (4 * per), column * 4 + k % (4 * per) / per, k % per, width, bits);
}
std::size_t c_index(int row, int column) {
  return static_cast<std::size_t>((row / 8 * 2 + column % 2) * 32 + row % 8 * 4 + column / 2);
}

std::uint32_t bits(float value) {
  return std::bit_cast<std::uint32_t>(value);
}
std::uint32_t f16(float value) {
  return f16_from_f32(value);
}
std::uint32_t e4m3(float value) {
  return e4m3_from_f32(value);
}

void check_records(const TensorCoreNumerics& numerics, bool wgmma) {
  int sections = 0;
  for (const auto& [name, section] : recorded_sections("mma.bin")) {
    const MmaForm& form = kRecordedForms.at(name);
    Registers registers(form);
    // wgmma has no forms of half the k; the record has its D after that of mma.sync.
    if (wgmma && (registers.counts.b == 1 || form.a == T::f64)) continue;
    ++sections;
    for (std::size_t record = 0; record < section.records(); ++record) {
      const std::uint32_t* in = section.in(record);
      REQUIRE(section.words_in == registers.a.size() + registers.b.size() + registers.c.size());
      std::copy_n(in, registers.a.size(), registers.a.begin());
      std::copy_n(in + registers.a.size(), registers.b.size(), registers.b.begin());
      std::copy_n(in + registers.a.size() + registers.b.size(), registers.c.size(), registers.c.begin());
      mma_sync(form, numerics, registers.operands());
      const std::uint32_t* want = section.out(record) + (wgmma ? registers.d.size() : 0);
      for (std::size_t i = 0; i < registers.d.size(); ++i) {
        CAPTURE(name, record, i);
        REQUIRE(registers.d[i] == want[i]);
      }
    }
  }
  CHECK(sections == (wgmma ? 11 : 17));
}

TEST_CASE("mma.sync equals an H200 bit for bit on every recorded product") {
  check_records(tensor_core_numerics(90), false);
}

TEST_CASE("without conversion of 8-bit floats to f16, products equal the H200's wgmma bit for bit") {
  TensorCoreNumerics numerics = tensor_core_numerics(90);
  numerics.fp8_through_f16 = false;
  check_records(numerics, true);
}

TEST_CASE("fragments have PTX's layout: a product of integers in f16 is the matrix product") {
  const MmaForm form{16, 8, 16, T::f16, T::f16, T::f32, false};
  Registers r(form);
  const auto a = [](int i, int k) { return (i * 3 + k * 5) % 11 - 5; };
  const auto b = [](int k, int j) { return (k * 7 + j * 2) % 9 - 4; };
  for (int i = 0; i < 16; ++i)
    for (int k = 0; k < 16; ++k) set_a(r, 16, i, k, f16(static_cast<float>(a(i, k))));
  for (int k = 0; k < 16; ++k)
    for (int j = 0; j < 8; ++j) set_b(r, 16, k, j, f16(static_cast<float>(b(k, j))));
  for (int i = 0; i < 16; ++i)
    for (int j = 0; j < 8; ++j) r.c[c_index(i, j)] = bits(static_cast<float>(100 * i + j));
  mma_sync(form, tensor_core_numerics(90), r.operands());
  for (int i = 0; i < 16; ++i)
    for (int j = 0; j < 8; ++j) {
      int want = 100 * i + j;
      for (int k = 0; k < 16; ++k) want += a(i, k) * b(k, j);
      REQUIRE(std::bit_cast<float>(r.d[c_index(i, j)]) == static_cast<float>(want));
    }
}

TEST_CASE("integer products of every width are exact, and wrap or saturate as the form says") {
  struct Case {
    MmaForm form;
    int width;
    bool signed_a, signed_b;
  };
  const Case cases[] = {{{16, 8, 32, T::s8, T::s8, T::s32, false}, 8, true, true},
                        {{16, 8, 16, T::u8, T::s8, T::s32, false}, 8, false, true},
                        {{16, 8, 64, T::s4, T::u4, T::s32, false}, 4, true, false},
                        {{16, 8, 32, T::u4, T::u4, T::s32, false}, 4, false, false}};
  for (const Case& c : cases) {
    REQUIRE(mma_supported(c.form));
    Registers r(c.form);
    const int range = 1 << c.width;
    const auto code_a = [&](int i, int k) { return (i * 37 + k * 101 + 13) % range; };
    const auto code_b = [&](int k, int j) { return (k * 53 + j * 71 + 5) % range; };
    const auto value = [&](int code, bool is_signed) { return is_signed && code >= range / 2 ? code - range : code; };
    for (int k = 0; k < c.form.k; ++k) {
      for (int i = 0; i < 16; ++i) set_a(r, c.width, i, k, static_cast<std::uint32_t>(code_a(i, k)));
      for (int j = 0; j < 8; ++j) set_b(r, c.width, k, j, static_cast<std::uint32_t>(code_b(k, j)));
    }
    for (bool saturate : {false, true}) {
      MmaForm form = c.form;
      form.saturate = saturate;
      for (std::uint32_t& word : r.c) word = 0x7ffffff0u;
      mma_sync(form, tensor_core_numerics(90), r.operands());
      for (int i = 0; i < 16; ++i)
        for (int j = 0; j < 8; ++j) {
          std::int64_t want = 0x7ffffff0;
          for (int k = 0; k < form.k; ++k) want += value(code_a(i, k), c.signed_a) * value(code_b(k, j), c.signed_b);
          if (saturate) want = std::min<std::int64_t>(want, 0x7fffffff);
          REQUIRE(r.d[c_index(i, j)] == static_cast<std::uint32_t>(want));
        }
    }
  }
}

TEST_CASE("the small integer form m8n8k16 fills eight rows") {
  const MmaForm form{8, 8, 16, T::s8, T::s8, T::s32, false};
  REQUIRE(mma_supported(form));
  Registers r(form);
  CHECK(r.counts.a == 1);
  CHECK(r.counts.c == 2);
  for (int i = 0; i < 8; ++i)
    for (int k = 0; k < 16; ++k) set(r.a, 0, i * 4 + k / 4, k % 4, 8, static_cast<std::uint32_t>(i - k) & 0xffu);
  for (int k = 0; k < 16; ++k)
    for (int j = 0; j < 8; ++j) set_b(r, 8, k, j, static_cast<std::uint32_t>(k * j - 30) & 0xffu);
  mma_sync(form, tensor_core_numerics(80), r.operands());
  for (int i = 0; i < 8; ++i)
    for (int j = 0; j < 8; ++j) {
      int want = 0;
      for (int k = 0; k < 16; ++k) want += (i - k) * static_cast<std::int8_t>(k * j - 30);
      REQUIRE(static_cast<int>(r.d[static_cast<std::size_t>(j % 2 * 32 + i * 4 + j / 2)]) == want);
    }
}

/// D of row 0, column 0 for 32 products a[k] * 1 in e4m3 plus c.
float e4m3_sum(const std::vector<float>& a, float c, const TensorCoreNumerics& numerics) {
  const MmaForm form{16, 8, 32, T::e4m3, T::e4m3, T::f32, false};
  Registers r(form);
  for (int k = 0; k < static_cast<int>(a.size()); ++k) set_a(r, 8, 0, k, e4m3(a[static_cast<std::size_t>(k)]));
  for (int k = 0; k < 32; ++k) set_b(r, 8, k, 0, e4m3(1));
  r.c[0] = bits(c);
  mma_sync(form, numerics, r.operands());
  return std::bit_cast<float>(r.d[0]);
}

TEST_CASE("tensor cores that take 8-bit floats keep thirteen bits of the accumulator, Hopper's mma.sync all of them") {
  const float c = 1000.f + 1.f / 64;
  CHECK(e4m3_sum({1}, c, tensor_core_numerics(90)) == c + 1);
  // 1000 needs ten bits, and the last of thirteen fraction bits after the leading one is worth 1/16.
  CHECK(e4m3_sum({1}, c, tensor_core_numerics(89)) == 1001.f);
  CHECK(e4m3_sum({1}, 1000.f + 1.f / 16, tensor_core_numerics(89)) == 1001.f + 1.f / 16);
}

TEST_CASE(
    "an RTX Blackwell takes 8-bit floats, keeps all of the accumulator and cuts the sum, where Hopper rounds it") {
  const float c = 16777218.f;  // Two units in the last place away from 2^24.
  CHECK(e4m3_sum({1}, c, tensor_core_numerics(90)) == c + 2);
  CHECK(e4m3_sum({1}, c, tensor_core_numerics(120)) == c);
  CHECK(e4m3_sum({1, 1}, c, tensor_core_numerics(121)) == c + 2);
}

TEST_CASE("sums are truncated towards zero, not rounded") {
  const MmaForm form{16, 8, 16, T::f16, T::f16, T::f32, false};
  Registers r(form);
  set_a(r, 16, 0, 0, f16(1));
  set_b(r, 16, 0, 0, f16(0x1p-10f));
  set_a(r, 16, 1, 0, f16(-1));
  r.c[c_index(0, 0)] = bits(std::nextafter(0x1p14f, 0x1p15f));  // Its last place is 2^-9: the product is half of it.
  r.c[c_index(1, 0)] = bits(-std::nextafter(0x1p14f, 0x1p15f));
  mma_sync(form, tensor_core_numerics(90), r.operands());
  CHECK(r.d[c_index(0, 0)] == r.c[c_index(0, 0)]);
  CHECK(r.d[c_index(1, 0)] == r.c[c_index(1, 0)]);
}

TEST_CASE("the accumulator may be updated in place") {
  const MmaForm form{16, 8, 32, T::e4m3, T::e4m3, T::f32, false};
  Registers apart(form);
  for (std::size_t i = 0; i < apart.a.size(); ++i) apart.a[i] = 0x38303428u + static_cast<std::uint32_t>(i);
  for (std::size_t i = 0; i < apart.b.size(); ++i) apart.b[i] = 0x30b83428u + static_cast<std::uint32_t>(i);
  for (std::size_t i = 0; i < apart.c.size(); ++i) apart.c[i] = bits(static_cast<float>(i));
  Registers in_place = apart;
  mma_sync(form, tensor_core_numerics(90), apart.operands());
  MmaOperands rows = in_place.operands();
  for (int i = 0; i < 4; ++i) rows.d[i] = &in_place.c[i * 32];
  mma_sync(form, tensor_core_numerics(90), rows);
  CHECK(in_place.c == apart.d);
}

TEST_CASE("f64 products are fused multiply-adds in ascending k") {
  const MmaForm form{16, 8, 8, T::f64, T::f64, T::f64, false};
  REQUIRE(mma_supported(form));
  Registers r(form);
  const auto put = [](std::vector<std::uint32_t>& rows, int reg, int lane, double value) {
    std::memcpy(&rows[static_cast<std::size_t>(reg * 64 + 2 * lane)], &value, 8);
  };
  const auto a = [](int i, int k) { return 1.0 / (1 + i + k); };
  const auto b = [](int k, int j) { return 1.0 / (3 + k * j); };
  for (int k = 0; k < 8; ++k) {
    for (int i = 0; i < 16; ++i) put(r.a, k / 4 * 2 + i / 8, i % 8 * 4 + k % 4, a(i, k));
    for (int j = 0; j < 8; ++j) put(r.b, k / 4, j * 4 + k % 4, b(k, j));
  }
  mma_sync(form, tensor_core_numerics(90), r.operands());
  for (int i = 0; i < 16; ++i)
    for (int j = 0; j < 8; ++j) {
      double want = 0, got = 0;
      for (int k = 0; k < 8; ++k) want = std::fma(a(i, k), b(k, j), want);
      std::memcpy(&got, &r.d[static_cast<std::size_t>((i / 8 * 2 + j % 2) * 64 + 2 * (i % 8 * 4 + j / 2))], 8);
      REQUIRE(got == want);
    }
}

TEST_CASE("a form that mma.sync does not have is refused by name") {
  std::string why;
  CHECK_FALSE(mma_supported({16, 8, 24, T::f16, T::f16, T::f32, false}, &why));
  CHECK_THAT(why, Catch::Matchers::ContainsSubstring("m16n8k24") && Catch::Matchers::ContainsSubstring("f16"));
  CHECK_FALSE(mma_supported({16, 8, 16, T::f16, T::bf16, T::f32, false}));
  CHECK_FALSE(mma_supported({16, 8, 16, T::bf16, T::bf16, T::f16, false}));
  CHECK_FALSE(mma_supported({8, 8, 32, T::s8, T::s8, T::s32, false}));
  CHECK_FALSE(mma_supported({16, 16, 16, T::f16, T::f16, T::f32, false}));
  CHECK_FALSE(mma_supported({8, 8, 0, T::f16, T::f16, T::f32, false}));
  for (const auto& [name, form] : kRecordedForms) CHECK(mma_supported(form));
}

TEST_CASE("register counts follow from the shape") {
  const MmaRegisters fp8 = mma_registers({16, 8, 32, T::e4m3, T::e4m3, T::f32, false});
  CHECK((fp8.a == 4 && fp8.b == 2 && fp8.c == 4));
  const MmaRegisters half = mma_registers({16, 8, 8, T::f16, T::f16, T::f16, false});
  CHECK((half.a == 2 && half.b == 1 && half.c == 2));
  const MmaRegisters f64 = mma_registers({8, 8, 4, T::f64, T::f64, T::f64, false});
  CHECK((f64.a == 1 && f64.b == 1 && f64.c == 2));
}

}  // namespace
}  // namespace evo::vgpu
