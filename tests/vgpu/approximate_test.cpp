#include "evaluator/vgpu/numbers/approximate.h"

#include <bit>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <functional>
#include <limits>

#include "tests/vgpu/conformance/recorded_numerics.h"

namespace evo::vgpu {
namespace {

constexpr Subnormals kKeep = Subnormals::keep, kFlush = Subnormals::flush;
constexpr float kInfinity = std::numeric_limits<float>::infinity();

std::uint32_t bits(float value) {
  return std::bit_cast<std::uint32_t>(value);
}
std::uint32_t nan_bits() {
  return 0x7fffffffu;
}

using RowFunction = std::function<void(std::uint32_t*, const std::uint32_t*)>;
using Function = void (*)(std::uint32_t*, const std::uint32_t*, Subnormals);

RowFunction with(Function function, Subnormals subnormals) {
  return [=](std::uint32_t* d, const std::uint32_t* a) { function(d, a, subnormals); };
}

/// A function of one lane.
template <Function kFunction>
float lane_of(float x, Subnormals subnormals) {
  WarpRow row{bits(x)};
  kFunction(row.data(), row.data(), subnormals);
  return std::bit_cast<float>(row[0]);
}
constexpr auto ex2_approx = lane_of<row::ex2_approx>, lg2_approx = lane_of<row::lg2_approx>,
               rcp_approx = lane_of<row::rcp_approx>, rsqrt_approx = lane_of<row::rsqrt_approx>,
               sqrt_approx = lane_of<row::sqrt_approx>, sin_approx = lane_of<row::sin_approx>,
               cos_approx = lane_of<row::cos_approx>;
float tanh_approx(float x) {
  WarpRow row{bits(x)};
  row::tanh_approx(row.data(), row.data());
  return std::bit_cast<float>(row[0]);
}

/// The inputs of record_numerics.cu's uniform_inputs.
std::vector<std::uint32_t> uniform_inputs(std::size_t count, double low, double high, std::uint64_t seed) {
  std::vector<std::uint32_t> in(count);
  for (auto& word : in) {
    std::uint64_t z = (seed += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    z ^= z >> 31;
    word = bits(static_cast<float>(low + (high - low) * (static_cast<double>(z >> 11) * 0x1p-53)));
  }
  return in;
}

std::vector<std::uint32_t> pairs_of_16_bits() {
  std::vector<std::uint32_t> all(65536);
  for (std::uint32_t i = 0; i < all.size(); ++i) all[i] = i | i << 16;
  return all;
}

TEST_CASE("every function equals an H200 on edge cases and random bits") {
  const RecordedSection section = recorded_sections("approx.bin").at("approx.f32.all");
  const RowFunction functions[] = {
      with(row::ex2_approx, kKeep),   with(row::ex2_approx, kFlush),   with(row::lg2_approx, kKeep),
      with(row::lg2_approx, kFlush),  with(row::rcp_approx, kKeep),    with(row::rcp_approx, kFlush),
      with(row::rsqrt_approx, kKeep), with(row::rsqrt_approx, kFlush), with(row::sqrt_approx, kKeep),
      with(row::sqrt_approx, kFlush), with(row::sin_approx, kKeep),    with(row::sin_approx, kFlush),
      with(row::cos_approx, kKeep),   with(row::cos_approx, kFlush),   row::tanh_approx};
  REQUIRE(section.words_out == std::size(functions));
  std::vector<std::uint32_t> inputs;
  for (std::size_t i = 0; i < section.records(); ++i) inputs.push_back(*section.in(i));
  for (std::size_t f = 0; f < std::size(functions); ++f) {
    const std::vector<std::uint32_t> outputs = map_rows(inputs, functions[f]);
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      CAPTURE(f, inputs[i]);
      REQUIRE(outputs[i] == section.out(i)[f]);
    }
  }
}

TEST_CASE("every function equals an H200 on large samples") {
  const auto checksums = recorded_checksums();
  const auto check = [&](const std::string& name, const std::vector<std::uint32_t>& inputs,
                         const RowFunction& function) {
    CAPTURE(name);
    CHECK(checksum_of(map_rows(inputs, function)) == checksums.at(name));
  };
  constexpr double kTwoPi = 6.2831853;
  check("ex2.ftz.f32.0", uniform_inputs(32768, -30, 30, 2), with(row::ex2_approx, kFlush));
  check("ex2.ftz.f32.unit.0", uniform_inputs(32768, -1, 1, 3), with(row::ex2_approx, kFlush));
  check("lg2.ftz.f32.0", uniform_inputs(32768, 0, 8, 4), with(row::lg2_approx, kFlush));
  check("sqrt.ftz.f32.0", uniform_inputs(32768, 1, 4, 5), with(row::sqrt_approx, kFlush));
  check("tanh.f32.0", uniform_inputs(65536, 0, 10, 6), row::tanh_approx);
  check("tanh.f32.unit.0", uniform_inputs(32768, 0, 0.25, 7), row::tanh_approx);
  check("sincos.ftz.f32.unit.0", uniform_inputs(65536, 0, kTwoPi, 8), with(row::sin_approx, kFlush));
  check("sincos.ftz.f32.unit.1", uniform_inputs(65536, 0, kTwoPi, 8), with(row::cos_approx, kFlush));
  check("sincos.ftz.f32.0", uniform_inputs(16384, -200, 200, 9), with(row::sin_approx, kFlush));
  check("sincos.ftz.f32.1", uniform_inputs(16384, -200, 200, 9), with(row::cos_approx, kFlush));
}

TEST_CASE("ex2, rcp and rsqrt equal an H200 across whole binades") {
  const auto checksums = recorded_checksums();
  const auto check = [&](const std::string& name, std::uint32_t count, Function function) {
    std::vector<std::uint32_t> inputs;
    for (std::uint32_t i = 0; i < count; i += 61) inputs.push_back(bits(1.f) + i);
    CAPTURE(name);
    CHECK(checksum_of(map_rows(inputs, with(function, kFlush))) == checksums.at(name));
  };
  check("sweep.ex2", 1u << 23, row::ex2_approx);
  check("sweep.rcp", 1u << 23, row::rcp_approx);
  check("sweep.rsqrt", 1u << 24, row::rsqrt_approx);
}

TEST_CASE("the 16-bit forms equal an H200 on every input") {
  const auto checksums = recorded_checksums();
  const std::vector<std::uint32_t> all = pairs_of_16_bits();
  CHECK(checksum_of(map_rows(all, row::ex2_approx_f16x2)) == checksums.at("from.16bits.0"));
  CHECK(checksum_of(map_rows(all, row::tanh_approx_f16x2)) == checksums.at("from.16bits.1"));
  CHECK(checksum_of(map_rows(all, row::ex2_approx_bf16x2)) == checksums.at("from.16bits.2"));
  CHECK(checksum_of(map_rows(all, row::tanh_approx_bf16x2)) == checksums.at("from.16bits.3"));
  for (const auto function :
       {row::ex2_approx_f16x2, row::tanh_approx_f16x2, row::ex2_approx_bf16x2, row::tanh_approx_bf16x2})
    for (std::uint32_t i = 0; i < 65536; i += 97) {
      WarpRow low{i}, high{i << 16};
      function(low.data(), low.data());
      function(high.data(), high.data());
      REQUIRE(high[0] >> 16 == (low[0] & 0xffffu));
    }
}

TEST_CASE("special values follow the ISA's tables") {
  const float nan = std::nanf(""), tiny = 0x1p-140f;
  for (Subnormals s : {kKeep, kFlush}) {
    CHECK(ex2_approx(-kInfinity, s) == 0);
    CHECK(ex2_approx(-0.f, s) == 1);
    CHECK(ex2_approx(tiny, s) == 1);
    CHECK(ex2_approx(kInfinity, s) == kInfinity);
    CHECK(bits(lg2_approx(-1, s)) == nan_bits());
    CHECK(lg2_approx(-0.f, s) == -kInfinity);
    CHECK(lg2_approx(1, s) == 0);
    CHECK(lg2_approx(kInfinity, s) == kInfinity);
    CHECK(bits(rcp_approx(-kInfinity, s)) == bits(-0.f));
    CHECK(rcp_approx(-0.f, s) == -kInfinity);
    CHECK(rcp_approx(2, s) == 0.5f);
    CHECK(bits(rsqrt_approx(-1, s)) == nan_bits());
    CHECK(rsqrt_approx(-0.f, s) == -kInfinity);
    CHECK(rsqrt_approx(kInfinity, s) == 0);
    CHECK(bits(sqrt_approx(-1, s)) == nan_bits());
    CHECK(bits(sqrt_approx(-0.f, s)) == bits(-0.f));
    CHECK(sqrt_approx(kInfinity, s) == kInfinity);
    CHECK(bits(sin_approx(-0.f, s)) == bits(-0.f));
    CHECK(cos_approx(0, s) == 1);
    CHECK(bits(sin_approx(kInfinity, s)) == nan_bits());
    CHECK(bits(cos_approx(-kInfinity, s)) == nan_bits());
    for (auto function : {ex2_approx, lg2_approx, rcp_approx, rsqrt_approx, sqrt_approx, sin_approx, cos_approx})
      CHECK(bits(function(nan, s)) == nan_bits());
  }
  CHECK(tanh_approx(kInfinity) == 1);
  CHECK(tanh_approx(-kInfinity) == -1);
  CHECK(bits(tanh_approx(-0.f)) == bits(-0.f));
  CHECK(tanh_approx(tiny) == tiny);
  CHECK(bits(tanh_approx(nan)) == nan_bits());
}

TEST_CASE("ftz sets subnormal operands and results to zero, and without it they are kept") {
  CHECK(ex2_approx(-140, kFlush) == 0);
  CHECK(ex2_approx(-140, kKeep) == 0x1p-140f);
  CHECK(rcp_approx(0x1p127f, kFlush) == 0);
  CHECK(rcp_approx(0x1p127f, kKeep) == 0x1p-127f);
  CHECK(rcp_approx(-0x1p-127f, kFlush) == -kInfinity);
  CHECK(rcp_approx(-0x1p-127f, kKeep) == -0x1p127f);
  CHECK(lg2_approx(0x1p-140f, kFlush) == -kInfinity);
  CHECK(std::fabs(lg2_approx(0x1p-140f, kKeep) + 140) < 1e-4);
  CHECK(rsqrt_approx(0x1p-140f, kFlush) == kInfinity);
  CHECK(rsqrt_approx(0x1p-140f, kKeep) == 0x1p70f);
  CHECK(sqrt_approx(0x1p-140f, kFlush) == 0);
  CHECK(sqrt_approx(0x1p-140f, kKeep) == 0x1p-70f);
}

TEST_CASE("errors stay within the ISA's bounds") {
  for (std::uint32_t word : uniform_inputs(20000, 0.001, 50, 99)) {
    const float x = std::bit_cast<float>(word);
    const double exact = x;
    REQUIRE(std::fabs(ex2_approx(x, kFlush) / std::exp2(exact) - 1) <= 0x1p-22);
    REQUIRE(std::fabs(rcp_approx(x, kFlush) * exact - 1) <= 0x1p-23);
    REQUIRE(std::fabs(rsqrt_approx(x, kFlush) * std::sqrt(exact) - 1) <= 0x1p-22);
    REQUIRE(std::fabs(sqrt_approx(x, kFlush) / std::sqrt(exact) - 1) <= 0x1p-23);
    REQUIRE(std::fabs(tanh_approx(x) / std::tanh(exact) - 1) <= 0x1p-11);
    const double lg2 = std::log2(exact);
    REQUIRE(std::fabs(lg2_approx(x, kFlush) - lg2) <= (x > 0.5f && x < 2 ? 0x1p-22 : std::fabs(lg2) * 0x1p-22));
    const float angle = x - 25;
    REQUIRE(std::fabs(sin_approx(angle, kFlush) - std::sin(static_cast<double>(angle))) <= 0x1p-16);
    REQUIRE(std::fabs(cos_approx(angle, kFlush) - std::cos(static_cast<double>(angle))) <= 0x1p-16);
  }
}

}  // namespace
}  // namespace evo::vgpu
