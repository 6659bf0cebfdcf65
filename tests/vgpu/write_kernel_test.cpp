// The kernel that writes memory on a GPU, run on the virtual one.
#include "evaluator/cuda/write_kernel.h"

#include <numeric>

#include "tests/vgpu/gpu_for_tests.h"

using namespace evo;

TEST_CASE("the write kernel copies and fills any bytes, also with bits set, and nothing beside them") {
  constexpr std::size_t kRoom = 4096;
  vgpu::TestGpu gpu;
  gpu.load_ptx(cuda::write_ptx());
  std::vector<std::uint8_t> content(kRoom);
  std::iota(content.begin(), content.end(), std::uint8_t{1});
  const std::uint64_t from = gpu.upload("from", content);
  const std::uint64_t to = gpu.upload("to", std::vector<std::uint8_t>(kRoom, 0xee));
  std::vector<std::uint8_t> expected(kRoom, 0xee);

  cuda::WriteTable table{};
  std::size_t count = 0, place = 0;
  for (const std::size_t bytes : {0, 1, 15, 16, 17, 333, 640}) {
    for (const std::size_t shift : {0, 5}) {
      const bool fills = shift == 0 && bytes % 2 == 1, sets = bytes > 16;
      table.entries[count++] = {to + place + shift, fills ? 0 : from + 32 * shift, bytes,
                                fills || sets ? std::uint64_t{0x4242424242424242} : 0};
      const auto target = expected.begin() + static_cast<std::ptrdiff_t>(place + shift);
      if (fills) {
        std::fill_n(target, bytes, std::uint8_t{0x42});
      } else {
        std::transform(content.begin() + static_cast<std::ptrdiff_t>(32 * shift),
                       content.begin() + static_cast<std::ptrdiff_t>(32 * shift + bytes), target,
                       [&](std::uint8_t one) { return static_cast<std::uint8_t>(sets ? one | 0x42 : one); });
      }
      place += (bytes + shift + 31) / 16 * 16;
    }
  }
  REQUIRE(place < kRoom);
  REQUIRE_FALSE(
      gpu.launch("evo_write", {.grid = {2, static_cast<std::uint32_t>(count), 1}, .block = {32, 1, 1}}, table));
  CHECK(gpu.download<std::uint8_t>(to, kRoom) == expected);
}
