// The kernel that computes digests on a GPU, run on the virtual one.
#include "evaluator/cuda/digest_kernel.h"

#include <numeric>
#include <span>

#include "evaluator/device/digest.h"
#include "tests/vgpu/gpu_for_tests.h"

using namespace evo;

namespace {

constexpr std::uint64_t kKey = 0x123456789abcdef0;

cuda::DigestedRanges table_of(std::span<const DeviceRange> ranges) {
  cuda::DigestedRanges table{};
  std::ranges::copy(ranges, table.ranges);
  return table;
}

}  // namespace

TEST_CASE("the digest kernel gives the host's digests of several ranges, of any length") {
  vgpu::TestGpu gpu;
  gpu.load_ptx(cuda::digest_ptx());
  std::vector<std::vector<std::uint8_t>> contents;
  std::vector<DeviceRange> ranges;
  for (const std::size_t bytes : {8, 3, 0, 248, 511, 8001}) {
    contents.emplace_back(bytes);
    std::iota(contents.back().begin(), contents.back().end(), static_cast<std::uint8_t>(bytes + 130));
    ranges.push_back({bytes > 0 ? gpu.upload("content", contents.back()) : 0, bytes});
  }
  const std::uint64_t results = gpu.upload("results", std::vector<std::uint64_t>(ranges.size()));
  const auto rows = static_cast<std::uint32_t>(ranges.size());
  REQUIRE_FALSE(gpu.launch("evo_digest", {.grid = {3, rows, 1}, .block = {64, 1, 1}}, table_of(ranges), kKey, results));
  const auto found = gpu.download<std::uint64_t>(results, ranges.size());
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    INFO(contents[i].size());
    CHECK(found[i] == digest_of(std::as_bytes(std::span(contents[i])), kKey));
  }
}

TEST_CASE("the digest kernel reads words that begin at any byte") {
  vgpu::TestGpu gpu;
  gpu.load_ptx(cuda::digest_ptx());
  std::vector<std::uint8_t> bytes(330);
  std::iota(bytes.begin(), bytes.end(), std::uint8_t{130});
  const std::uint64_t content = gpu.upload("content", bytes);
  for (std::uint64_t first = 0; first < 8; ++first) {
    const std::vector<DeviceRange> range = {{content + first, 320 + first % 3}};
    const std::uint64_t result = gpu.upload("result", std::vector<std::uint64_t>{0});
    REQUIRE_FALSE(gpu.launch("evo_digest", {.grid = {1, 1, 1}, .block = {64, 1, 1}}, table_of(range), kKey, result));
    const auto there = std::as_bytes(std::span(bytes)).subspan(first, 320 + first % 3);
    CHECK(gpu.download<std::uint64_t>(result, 1)[0] == digest_of(there, kKey));
  }
}

TEST_CASE("a digest depends on every byte, its position and the key") {
  std::vector<std::byte> content(29, std::byte{1});
  const std::uint64_t before = digest_of(content, 7);
  CHECK(digest_of(content, 8) != before);
  CHECK(digest_of(std::span(content).first(28), 7) != before);
  for (std::byte& byte : content) {
    byte = std::byte{0};
    CHECK(digest_of(content, 7) != before);
    byte = std::byte{1};
  }
  std::vector<std::uint64_t> words = {1, 2};
  const std::uint64_t ordered = digest_of(std::as_bytes(std::span(words)), 7);
  std::swap(words[0], words[1]);
  CHECK(digest_of(std::as_bytes(std::span(words)), 7) != ordered);
}

TEST_CASE("words that swap positions and compensate for the distance still change the digest") {
  constexpr std::uint64_t kSteps[] = {1, 0x9E3779B97F4A7C15};  // a sum of mixed (word + (position + key) * step) stays
  for (const std::uint64_t step : kSteps) {
    const std::vector<std::uint64_t> words = {11, 22, 33, 44};
    std::vector<std::uint64_t> moved = words;
    moved[0] = words[3] + 3 * step;
    moved[3] = words[0] - 3 * step;
    for (const std::uint64_t key : {std::uint64_t{0}, std::uint64_t{7}, digest_key()})
      CHECK(digest_of(std::as_bytes(std::span(moved)), key) != digest_of(std::as_bytes(std::span(words)), key));
  }
}
