// Outside kernels that use the compiler's library: tests/vgpu/kernels/arithmetic.cu.
#include <cmath>
#include <numeric>
#include <random>

#include "tests/vgpu/outside_kernels.h"

using namespace evo::vgpu;

TEST_CASE("outside kernels: the library's functions of doubles are as exact as CUDA promises") {
  Outside gpu("arithmetic.cu");
  std::mt19937_64 source(1);
  std::vector<double> in(64);
  for (double& x : in) x = std::normal_distribution<double>()(source);
  const auto out = gpu.allocate("out", in.size() * 12 * 8);
  gpu.run("functions", {{1, 1, 1}, {64, 1, 1}}, out, gpu.upload("in", in));
  const auto got = gpu.download<double>(out, in.size() * 12);
  for (std::size_t i = 0; i < in.size(); ++i) {
    const double x = in[i], a = std::fabs(x);
    const double expected[12] = {std::sin(x * 1e5), std::cos(x * 1e10),    std::exp(x * 5),    std::log(a),
                                 std::pow(a, 3.7),  std::erf(x),           std::tgamma(a + 1), std::atan2(x, 0.3),
                                 std::cbrt(x),      std::fmod(x * 100, 7), 1 / std::sqrt(a),   1 / x};
    for (std::size_t f = 0; f < 12; ++f) {
      INFO("function " << f << " of " << x);
      CHECK(std::fabs(got[i * 12 + f] - expected[f]) <= 5e-15 * std::fabs(expected[f]));
    }
  }
}

TEST_CASE("outside kernels: plain x86-64, AVX2 and AVX-512 give the same bits") {
  std::vector<std::uint64_t> first;
  for (const Simd simd : all_simd()) {
    Outside gpu("arithmetic.cu", simd);
    std::vector<double> in(64);
    for (std::size_t i = 0; i < in.size(); ++i) in[i] = (static_cast<double>(i) - 31.7) * 0.1;
    const auto out = gpu.allocate("out", in.size() * 12 * 8);
    gpu.run("functions", {{1, 1, 1}, {64, 1, 1}}, out, gpu.upload("in", in));
    const auto got = gpu.download<std::uint64_t>(out, in.size() * 12);
    if (first.empty()) first = got;
    CHECK(got == first);
  }
}

TEST_CASE("outside kernels: integers of 128 bits divide and multiply") {
  Outside gpu("arithmetic.cu");
  std::mt19937_64 source(2);
  std::vector<std::uint64_t> a(32);
  for (auto& word : a) word = source();
  const auto out = gpu.allocate("out", 32 * 4 * 8);
  gpu.run("wide_integers", {}, out, gpu.upload("a", a));
  const auto got = gpu.download<std::uint64_t>(out, 32 * 4);
  __extension__ typedef unsigned __int128 Wide;
  const auto joined = [&](std::size_t at) { return Wide{got[at + 1]} << 64 | got[at]; };
  for (std::size_t i = 0; i < 32; ++i) {
    const Wide x = Wide{a[i]} << 64 | a[31 - i], quotient = x / (a[(i + 5) % 32] | 1);
    CHECK((joined(4 * i) == quotient));
    CHECK((joined(4 * i + 2) == x * a[i] + quotient % 1000003));
  }
}

TEST_CASE("outside kernels: a scan whose blocks wait for their predecessors is right") {
  Outside gpu("arithmetic.cu");
  std::vector<std::int32_t> in(32 * 128);
  for (std::size_t i = 0; i < in.size(); ++i) in[i] = static_cast<int>(i * 7919 % 2001) - 1000;
  const auto out = gpu.upload("out", std::vector<std::int32_t>(in.size(), 0));
  gpu.run("chained_scan", {{32, 1, 1}, {128, 1, 1}}, out, gpu.upload("in", in),
          gpu.upload("state", std::vector<std::int32_t>(64, 0)));
  std::vector<std::int32_t> expected(in.size());
  std::partial_sum(in.begin(), in.end(), expected.begin());
  CHECK(gpu.download<std::int32_t>(out, in.size()) == expected);
}
