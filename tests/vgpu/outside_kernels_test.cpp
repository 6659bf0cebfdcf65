// Ordinary CUDA kernels that do not belong to this project's tasks: tests/vgpu/kernels/*.cu.
#include "tests/vgpu/outside_kernels.h"

#include <catch2/matchers/catch_matchers_floating_point.hpp>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>

#include "evaluator/numbers/float_formats.h"

using namespace evo;
using namespace evo::vgpu;

namespace {

using Floats = std::vector<float>;

Floats random_floats(std::size_t count, float low, float high, unsigned seed = 1) {
  std::mt19937 source(seed);
  Floats values(count);
  for (float& value : values) value = low + (high - low) * static_cast<float>(source() >> 8) * 0x1p-24f;
  return values;
}

/// C = A B in double, of values that `rounded` has rounded.
std::vector<double> product(const Floats& a, const Floats& b, int m, int n, int k, float (*rounded)(float)) {
  std::vector<double> c(static_cast<std::size_t>(m * n));
  for (int i = 0; i < m; ++i) {
    for (int j = 0; j < n; ++j) {
      double sum = 0;
      for (int l = 0; l < k; ++l) sum += static_cast<double>(rounded(a[i * k + l])) * rounded(b[l * n + j]);
      c[static_cast<std::size_t>(i * n + j)] = sum;
    }
  }
  return c;
}
float same(float x) {
  return x;
}
float through_half(float x) {
  return f32_from_f16(f16_from_f32(x));
}
float through_bf16(float x) {
  return f32_from_bf16(bf16_from_f32(x));
}

template <class T>
void check_close(const std::vector<T>& got, const std::vector<double>& want, double tolerance) {
  REQUIRE(got.size() == want.size());
  double worst = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    const double error = std::abs(static_cast<double>(got[i]) - want[i]);
    worst = std::isfinite(error) ? std::max(worst, error) : std::numeric_limits<double>::infinity();
  }
  CHECK(worst <= tolerance);
}

std::vector<std::uint16_t> as_bits(const Floats& values, std::uint16_t (*narrow)(float, Narrowing)) {
  std::vector<std::uint16_t> bits;
  for (const float value : values) bits.push_back(narrow(value, {}));
  return bits;
}

}  // namespace

TEST_CASE("outside kernels: matrix products, plain, tiled and with wmma in every type") {
  Outside gpu("matrix_products.cu");
  const int m = 32, n = 48, k = 64;
  const Floats a = random_floats(m * k, -1, 1, 1), b = random_floats(k * n, -1, 1, 2);
  const auto c_at = gpu.allocate("c", m * n * 4);
  const auto c = [&] { return gpu.download<float>(c_at, m * n); };
  const auto a_at = gpu.upload("a", a), b_at = gpu.upload("b", b);
  gpu.run("matmul_naive", {{2, 4, 1}, {32, 8, 1}}, c_at, a_at, b_at, m, n, k);
  check_close(c(), product(a, b, m, n, k, same), 1e-5);
  gpu.run("_Z12matmul_tiledILi16EEvPfPKfS2_iii", {{3, 2, 1}, {16, 16, 1}}, c_at, a_at, b_at, m, n, k);
  check_close(c(), product(a, b, m, n, k, same), 1e-5);
  gpu.run("matmul_wmma_half", {{3, 2, 1}, {32, 1, 1}}, c_at, gpu.upload("ah", as_bits(a, f16_from_f32)),
          gpu.upload("bh", as_bits(b, f16_from_f32)), n, k);
  check_close(c(), product(a, b, m, n, k, through_half), 1e-5);
  gpu.run("matmul_wmma_bf16", {{3, 2, 1}, {32, 1, 1}}, c_at, gpu.upload("ab", as_bits(a, bf16_from_f32)),
          gpu.upload("bb", as_bits(b, bf16_from_f32)), n, k);
  check_close(c(), product(a, b, m, n, k, through_bf16), 1e-5);
  gpu.run("matmul_wmma_tf32", {{3, 2, 1}, {32, 1, 1}}, c_at, a_at, b_at, n, k);
  check_close(c(), product(a, b, m, n, k, same), 2e-2);

  std::vector<double> ad(a.begin(), a.begin() + 16 * 8), bd(b.begin(), b.begin() + 8 * 24);
  const auto cd_at = gpu.allocate("cd", 16 * 24 * 8);
  gpu.run("matmul_wmma_f64", {{3, 2, 1}, {32, 1, 1}}, cd_at, gpu.upload("ad", ad), gpu.upload("bd", bd), 24, 8);
  check_close(gpu.download<double>(cd_at, 16 * 24), product(a, b, 16, 24, 8, same), 1e-14);

  std::vector<std::int8_t> ai(16 * 32), bi(32 * 16);
  Floats af(ai.size()), bf(bi.size());
  for (std::size_t i = 0; i < ai.size(); ++i) {
    af[i] = ai[i] = static_cast<std::int8_t>(i * 37);
    bf[i] = bi[i] = static_cast<std::int8_t>(i * 91 + 5);
  }
  gpu.run("matmul_wmma_s8", {{1, 1, 1}, {32, 1, 1}}, c_at, gpu.upload("ai", ai), gpu.upload("bi", bi), 16, 32);
  check_close(gpu.download<std::int32_t>(c_at, 256), product(af, bf, 16, 16, 32, same), 0);

  // Small whole numbers: f16 sums are exact.
  Floats small_a(32 * 32), small_b(32 * 8);
  for (std::size_t i = 0; i < small_a.size(); ++i) small_a[i] = static_cast<float>(i % 5) - 2;
  for (std::size_t i = 0; i < small_b.size(); ++i) small_b[i] = static_cast<float>(i % 7) - 3;
  Floats b_columns(small_b.size());
  for (int row = 0; row < 32; ++row) {
    for (int column = 0; column < 8; ++column) b_columns[column * 32 + row] = small_b[row * 8 + column];
  }
  gpu.run("matmul_wmma_f16_sum", {{1, 1, 1}, {32, 1, 1}}, c_at, gpu.upload("sa", as_bits(small_a, f16_from_f32)),
          gpu.upload("sb", as_bits(b_columns, f16_from_f32)), 32);
  const auto bits = gpu.download<std::uint16_t>(c_at, 256);
  const auto want = product(small_a, small_b, 32, 8, 32, same);
  for (int row = 0; row < 32; ++row) {
    for (int column = 0; column < 8; ++column) CHECK(f32_from_f16(bits[column * 32 + row]) == want[row * 8 + column]);
  }
}

TEST_CASE("outside kernels: reductions with shuffles, cooperative groups, CUB and the last block") {
  Outside gpu("reductions.cu");
  const int n = 3000;
  std::vector<float> floats(n);
  std::vector<int> ints(n);
  std::vector<double> doubles(n);
  for (int i = 0; i < n; ++i) doubles[i] = floats[i] = static_cast<float>(ints[i] = i * 37 % 101 - 40);
  const double sum = std::accumulate(doubles.begin(), doubles.end(), 0.0);
  const auto f_at = gpu.upload("floats", floats), i_at = gpu.upload("ints", ints),
             d_at = gpu.upload("doubles", doubles);

  const auto one = gpu.upload("one", std::vector<float>{0});
  gpu.run("sum_shuffle", {{3, 1, 1}, {128, 1, 1}}, one, f_at, n);
  CHECK(gpu.download<float>(one, 1)[0] == sum);

  const auto counts = gpu.upload("counts", std::vector<int>(8));
  gpu.run("sum_groups", {{2, 1, 1}, {128, 1, 1}}, counts, i_at, n);
  const auto got = gpu.download<int>(counts, 8);
  int most = 0, odd = 0;
  for (int thread = 0; thread < 256; ++thread) {
    int own = 0;
    for (int i = thread; i < n; i += 256) own += ints[i];
    most = std::max(most, own);
    odd += own % 2 != 0 ? 1 : 0;
  }
  CHECK(got == std::vector<int>{static_cast<int>(sum), most, odd, 0, 256, 0, 0, 0});

  const auto of_block = gpu.allocate("of_block", 24 * 4);
  gpu.run("sum_cub", {{24, 1, 1}, {128, 1, 1}}, of_block, f_at, n);
  const auto parts = gpu.download<float>(of_block, 24);
  CHECK(std::accumulate(parts.begin(), parts.end(), 0.0) == sum);

  const auto all = gpu.allocate("all", 8), d_parts = gpu.allocate("parts", 4 * 8);
  for (int again = 0; again < 2; ++again) {  // The counter wraps round.
    gpu.run("sum_f64_last_block", {{4, 1, 1}, {256, 1, 1}}, all, d_parts, d_at, n);
    CHECK(gpu.download<double>(all, 1)[0] == sum);
  }

  std::vector<unsigned> in(32);
  for (unsigned i = 0; i < 32; ++i) in[i] = i * 29 % 23;
  const auto votes_at = gpu.allocate("votes", 320 * 4);
  gpu.run("warp_votes", {{1, 1, 1}, {32, 1, 1}}, votes_at, gpu.upload("in", in));
  const auto votes = gpu.download<unsigned>(votes_at, 320);
  unsigned total = 0, bits = 0, thirds = 0, any_odd = 0, all_even = ~0u;
  for (unsigned i = 0; i < 32; ++i) {
    total += in[i];
    bits ^= in[i];
    thirds |= static_cast<unsigned>(in[i] % 3 == 0) << i;
    if (i % 2 != 0)
      any_odd |= in[i];
    else
      all_even &= in[i];
  }
  for (unsigned i = 0; i < 32; ++i) {
    unsigned alike = 0;
    for (unsigned j = 0; j < 32; ++j) alike |= static_cast<unsigned>(in[j] % 4 == in[i] % 4) << j;
    const unsigned want[] = {
        total, 0, 22, bits, thirds, alike, 0, 3, in[i % 16 < 3 ? i : i - 3], i % 2 != 0 ? any_odd : all_even};
    const std::vector<unsigned> row(votes.begin() + 10 * i, votes.begin() + 10 * i + 10);
    CHECK(row == std::vector<unsigned>(std::begin(want), std::end(want)));
  }
}

TEST_CASE("outside kernels: scans and sorts, by hand and with CUB") {
  Outside gpu("scans_and_sorts.cu");
  std::mt19937 source(5);
  std::vector<int> ints(512);
  for (int& x : ints) x = static_cast<int>(source() % 1000) - 300;
  std::vector<int> inclusive(512), exclusive(512);
  std::inclusive_scan(ints.begin(), ints.end(), inclusive.begin());
  std::exclusive_scan(ints.begin(), ints.end(), exclusive.begin(), 0);
  const auto in = gpu.upload("in", ints), out = gpu.allocate("out", 512 * 4);
  gpu.run("scan_warps", {{1, 1, 1}, {512, 1, 1}}, out, in);
  CHECK(gpu.download<int>(out, 512) == inclusive);
  gpu.run("scan_cub", {{1, 1, 1}, {128, 1, 1}}, out, in);
  CHECK(gpu.download<int>(out, 512) == exclusive);

  Floats floats = random_floats(256, -5, 5, 9);
  const auto floats_at = gpu.upload("floats", floats);
  TestGpu::Geometry geometry{{1, 1, 1}, {256, 1, 1}};
  geometry.dynamic_smem_bytes = 1024;
  gpu.run("sort_bitonic", geometry, floats_at);
  Floats sorted = floats;
  std::sort(sorted.begin(), sorted.end());
  CHECK(gpu.download<float>(floats_at, 256) == sorted);

  std::vector<int> order(256);
  std::iota(order.begin(), order.end(), 0);
  const auto keys_at = gpu.upload("keys", floats), order_at = gpu.upload("order", order);
  gpu.run("_Z10sort_radixIfEvPT_Pi", {{1, 1, 1}, {64, 1, 1}}, keys_at, order_at);
  CHECK(gpu.download<float>(keys_at, 256) == sorted);
  const auto moved = gpu.download<int>(order_at, 256);
  for (std::size_t i = 0; i < 256; ++i) CHECK(floats[static_cast<std::size_t>(moved[i])] == sorted[i]);

  std::vector<int> first(ints.begin(), ints.begin() + 256);
  const auto first_at = gpu.upload("first", first);
  gpu.run("sort_merge_cub", {{1, 1, 1}, {64, 1, 1}}, first_at);
  std::sort(first.begin(), first.end());
  CHECK(gpu.download<int>(first_at, 256) == first);

  std::vector<std::uint8_t> bytes(256);
  std::vector<unsigned> counts(16);
  for (auto& byte : bytes) counts[(byte = static_cast<std::uint8_t>(source())) % 16]++;
  const auto bins = gpu.upload("bins", std::vector<unsigned>(16));
  gpu.run("histogram_cub", {{1, 1, 1}, {64, 1, 1}}, bins, gpu.upload("bytes", bytes));
  CHECK(gpu.download<unsigned>(bins, 16) == counts);
}
