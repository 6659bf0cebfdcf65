#include <fmt/format.h>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <functional>
#include <vector>

#include "tests/vgpu/gpu_for_tests.h"
#include "tests/vgpu/tcgen05/source.h"

// tcgen05.cp, shift and commit. From the document, not checked on hardware.
namespace evo::vgpu {
namespace {

using Catch::Matchers::ContainsSubstring;

constexpr std::uint32_t kColumns = 32;
constexpr std::uint32_t kFirst = 8;     ///< Column that is written first.
constexpr std::uint32_t kBefore = 5;    ///< In all cells.
constexpr std::uint32_t kRowWords = 8;  ///< Of shared memory: 32 bytes a row, 128 rows, without a swizzle.

/// Runs `body` in one thread, commits, waits, and returns tensor memory lane by lane, or the finding in `reason`.
std::vector<std::uint32_t> run(const std::string& body, const std::vector<std::uint32_t>& words, std::string& reason,
                               const std::string& first = "5") {
  TestGpu gpu;
  gpu.load_cuda(with(std::string(kTensorPrelude), "GROUP", "1") + fmt::format(R"(
extern "C" __global__ void k(unsigned* out, const unsigned* in) {{
  __shared__ alignas(128) unsigned smem[1024];
  __shared__ unsigned slot;
  __shared__ unsigned long long barrier;
  const unsigned warp = threadIdx.x / 32;
  for (int i = threadIdx.x; i < 1024; i += 128) smem[i] = in[i];
  if (warp == 0) allocate(&slot, {0});
  if (threadIdx.x == 0) init(&barrier, 1);
  asm volatile("fence.proxy.async;" ::: "memory");
  before(); __syncthreads(); after();
  const unsigned base = slot, mine = base + (warp * 32 << 16);
  for (unsigned column = 0; column < {0}; ++column) {{
    const unsigned lane = threadIdx.x;
    store(mine + column, {2});
  }}
  before(); __syncthreads(); after();
  if (threadIdx.x == 0) {{
    const unsigned long long rows = at(smem) >> 4 | 128ull << 16 | 8ull << 32 | 1ull << 46;
    {1}
    commit(&barrier);
  }}
  __syncwarp();
  await(&barrier, 0);
  after();
  for (unsigned column = 0; column < {0}; ++column) out[threadIdx.x * {0} + column] = load(mine + column);
  before(); __syncthreads(); after();
  if (warp == 0) release(base, {0});
}}
)",
                                                                              kColumns, body, first),
                "sm_100a");
  const std::uint64_t out = gpu.allocate("out", 4 * 128 * kColumns);
  const auto failure = gpu.launch("k", {{1, 1, 1}, {128, 1, 1}}, out, gpu.upload("in", words));
  reason = failure ? failure->reason : "";
  return gpu.download<std::uint32_t>(out, 128 * kColumns);
}

/// The word of a row in shared memory: eight rows of 16 bytes side by side, then the next ones; the second 16 bytes of
/// all rows lie behind the first ones of all.
std::size_t word_at(std::uint32_t row, std::uint32_t word) {
  return word / 4 * 512 + row * 4 + word % 4;
}

struct Copied {
  std::string_view shape;
  std::uint32_t rows;
  std::uint32_t words;  ///< Of a row.
  std::string_view lane;
  std::function<std::vector<std::uint32_t>(std::uint32_t)> lanes;  ///< Of a row.
};

const std::vector<Copied>& copies() {
  static const std::vector<Copied> all = {
      {"128x256b", 128, 8, "0", [](std::uint32_t row) { return std::vector{row}; }},
      {"128x128b", 128, 4, "0", [](std::uint32_t row) { return std::vector{row}; }},
      {"4x256b", 4, 8, "31", [](std::uint32_t row) { return std::vector{row * 32 + 31}; }},
      {"64x128b.warpx2::02_13", 64, 4, "0",
       [](std::uint32_t row) {
         return std::vector{row, row + 64};
       }},
      {"64x128b.warpx2::01_23", 64, 4, "0",
       [](std::uint32_t row) {
         const std::uint32_t lane = row < 32 ? row : row + 32;
         return std::vector{lane, lane + 32};
       }},
      {"32x128b.warpx4", 32, 4, "0", [](std::uint32_t row) {
         return std::vector{row, row + 32, row + 64, row + 96};
       }}};
  return all;
}

std::string copy(std::string_view shape, std::string_view lane, std::string_view formats = "") {
  return fmt::format(R"(asm volatile("tcgen05.cp.cta_group::1.{}{} [%0], %1;" :: "r"(base + {} + ({} << 16)), "l"(rows)
                 : "memory");)",
                     shape, formats, kFirst, lane);
}

}  // namespace

TEST_CASE("tcgen05.cp brings rows of shared memory to the lanes of every shape and multicast") {
  std::vector<std::uint32_t> words(1024);
  for (std::uint32_t i = 0; i < words.size(); ++i) words[i] = 1000 + i;
  for (const Copied& one : copies()) {
    CAPTURE(one.shape);
    std::vector<std::uint32_t> wanted(128 * kColumns, kBefore);
    for (std::uint32_t row = 0; row < one.rows; ++row)
      for (const std::uint32_t lane : one.lanes(row))
        for (std::uint32_t word = 0; word < one.words; ++word)
          wanted[lane * kColumns + kFirst + word] = words[word_at(row, word)];
    std::string reason;
    CHECK(run(copy(one.shape, one.lane), words, reason) == wanted);
    CHECK(reason == "");
  }
}

TEST_CASE("tcgen05.cp spreads elements of 4 and 6 bits to bytes") {
  std::vector<std::uint32_t> words(1024);
  for (std::uint32_t i = 0; i < words.size(); ++i) words[i] = i * 2654435761u;
  for (const std::uint32_t bits : {4u, 6u}) {
    CAPTURE(bits);
    std::vector<std::uint32_t> wanted(128 * kColumns, kBefore);
    for (std::uint32_t row = 0; row < 128; ++row)
      for (std::uint32_t i = 0; i < 16; ++i) {
        std::uint32_t element = 0;
        for (std::uint32_t bit = i * bits; bit < (i + 1) * bits; ++bit)
          element |= (words[word_at(row, bit / 32)] >> bit % 32 & 1u) << (bit - i * bits);
        std::uint32_t& word = wanted[row * kColumns + kFirst + i / 4];
        word = (i % 4 == 0 ? 0 : word) | (bits == 4 ? element << 2 : element) << i % 4 * 8;
      }
    std::string reason;
    CHECK(run(copy("128x128b", "0", bits == 4 ? ".b8x16.b4x16_p64" : ".b8x16.b6x16_p32"), words, reason) == wanted);
    CHECK(reason == "");
  }
}

TEST_CASE("tcgen05.shift moves eight columns of 32 lanes down by one, but for the last lane") {
  std::string reason;
  const auto got =
      run(R"(asm volatile("tcgen05.shift.cta_group::1.down [%0];" :: "r"(base + 4 + (32 << 16)) : "memory");)",
          std::vector<std::uint32_t>(1024), reason, "100 * lane + column");
  CHECK(reason == "");
  for (std::uint32_t lane = 0; lane < 128; ++lane)
    for (std::uint32_t column = 0; column < kColumns; ++column) {
      const bool moved = lane >= 32 && lane < 63 && column >= 4 && column < 12;
      if (got[lane * kColumns + column] != 100 * (moved ? lane + 1 : lane) + column)
        FAIL("lane " << lane << " column " << column << ": " << got[lane * kColumns + column]);
    }
}

TEST_CASE("tcgen05.cp and shift have findings of their own") {
  const std::vector<std::uint32_t> words(1024);
  std::string reason;
  run(copy("128x256b", "32"), words, reason);
  CHECK_THAT(reason, ContainsSubstring("the address has lane 32"));
  run("asm volatile(\"tcgen05.cp.cta_group::1.128x256b [%0], %1;\" :: \"r\"(base), \"l\"(rows & ~(1ull << 46)));",
      words, reason);
  CHECK_THAT(reason, ContainsSubstring("bits 46 to 48 must be 0b001"));
  run("asm volatile(\"tcgen05.cp.cta_group::1.128x256b [%0], %1;\" :: \"r\"(base), \"l\"(rows + 64));", words, reason);
  CHECK_THAT(reason, ContainsSubstring("outside the block's shared memory"));
  run(copy("128x256b", "0") + "smem[0] = 1;", words, reason);
  CHECK_THAT(reason, ContainsSubstring("an operand in shared memory was written while it was being read"));
  run("asm volatile(\"tcgen05.shift.cta_group::1.down [%0];\" :: \"r\"(base + (16 << 16)));", words, reason);
  CHECK_THAT(reason, ContainsSubstring("no multiple of 32"));
}

}  // namespace evo::vgpu
