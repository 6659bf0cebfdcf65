// Groups larger than a warp, the grid's barrier, 128-bit and vector atomics, sparse products:
// tests/vgpu/kernels/cooperation.cu.
#include <numeric>
#include <random>

#include "evaluator/numbers/float_formats.h"
#include "tests/vgpu/outside_kernels.h"

using namespace evo;
using namespace evo::vgpu;

namespace {

using Ints = std::vector<std::int32_t>;
using Longs = std::vector<std::uint64_t>;

}  // namespace

TEST_CASE("blocks of a cooperative launch synchronise at the grid's barrier") {
  Outside gpu("cooperation.cu");
  constexpr int kCount = 1000, kRounds = 3;
  Ints values(kCount * (kRounds + 1), 0);
  std::iota(values.begin(), values.begin() + kCount, 0);
  const auto at = gpu.upload("values", values);
  gpu.run("rotate", {{8, 1, 1}, {64, 1, 1}}, at, kCount, kRounds);
  const Ints got = gpu.download<std::int32_t>(at, values.size());
  for (int i = 0; i < kCount; ++i) CHECK(got[kRounds * kCount + i] == (i + kRounds) % kCount + kRounds);
}

TEST_CASE("a tile of four warps reduces through the memory that cooperative groups reserve") {
  Outside gpu("cooperation.cu");
  const auto out = gpu.upload("out", Ints(256, 0));
  gpu.run("sum_of_halves", {{1, 1, 1}, {256, 1, 1}}, out);
  const Ints got = gpu.download<std::int32_t>(out, 256);
  for (std::size_t i = 0; i < got.size(); ++i) CHECK(got[i] == (i < 128 ? 127 * 64 : 383 * 64));
}

TEST_CASE("atomics of 128 bits compare, exchange and lose no update") {
  Outside gpu("cooperation.cu");
  const auto pair = gpu.upload("pair", Longs{0, 0});
  gpu.run("count_pairs", {{2, 1, 1}, {64, 1, 1}}, pair);
  CHECK(gpu.download<std::uint64_t>(pair, 2) == Longs{128, 256});
  const auto out = gpu.upload("out", Longs(128, 0));
  gpu.run("exchange_pairs", {{1, 1, 1}, {64, 1, 1}}, pair, out);
  CHECK(gpu.download<std::uint64_t>(pair, 2) == Longs{63, 126});
  CHECK(gpu.download<std::uint64_t>(out, 4) == Longs{128, 256, 0, 0});
}

TEST_CASE("vector atomics add each element") {
  Outside gpu("cooperation.cu");
  const auto sums = gpu.upload("sums", std::vector<float>(8, 0));
  const auto halves = gpu.upload("halves", std::vector<std::uint16_t>(2, 0));
  gpu.run("add_vectors", {{2, 1, 1}, {32, 1, 1}}, sums, halves);
  CHECK(gpu.download<float>(sums, 8) == std::vector<float>{64, 128, 0, 0, 64, 128, 192, 256});
  CHECK(gpu.download<std::uint16_t>(halves, 2) ==
        std::vector<std::uint16_t>{f16_from_f32(32, {}), f16_from_f32(64, {})});
}

TEST_CASE("a vector atomic reads all its values before it returns the old ones in their registers") {
  TestGpu gpu;
  gpu.load_ptx(R"(.version 9.0
.target sm_90
.address_size 64
.visible .entry swap(.param .u64 sums, .param .u64 out) { .reg .f32 x, y; .reg .b64 at, to;
ld.param.u64 at, [sums]; ld.param.u64 to, [out];
mov.f32 x, 0f3F800000; mov.f32 y, 0f40000000;
atom.global.add.v2.f32 {x, y}, [at], {y, x};
st.global.v2.f32 [to], {x, y};
ret; })");
  const auto sums = gpu.upload("sums", std::vector<float>{10, 20});
  const auto out = gpu.upload("out", std::vector<float>(2, 0));
  const auto failure = gpu.launch("swap", {{1, 1, 1}, {1, 1, 1}}, sums, out);
  if (failure) FAIL(failure->reason);
  CHECK(gpu.download<float>(sums, 2) == std::vector<float>{12, 21});
  CHECK(gpu.download<float>(out, 2) == std::vector<float>{10, 20});
}

TEST_CASE("a vector atomic requires the whole vector to be aligned and inside its buffer") {
  const auto failure_of = [](const std::string& operation, int offset) {
    TestGpu gpu;
    gpu.load_ptx(R"(.version 9.0
.target sm_90
.address_size 64
.visible .entry add(.param .u64 sums) { .reg .b32 x; .reg .b64 at;
ld.param.u64 at, [sums]; mov.b32 x, 0;
)" + operation + " [at+" +
                 std::to_string(offset) + "], {x, x, x, x};\nret; }");
    const auto failure = gpu.launch("add", {{1, 1, 1}, {1, 1, 1}}, gpu.upload("sums", std::vector<float>(6, 0)));
    return failure ? failure->reason : "";
  };
  for (const char* operation : {"red.global.add.v4.f32", "red.global.add.noftz.v4.bf16x2"}) {
    CHECK(failure_of(operation, 0).empty());
    CHECK(contains(failure_of(operation, 4), "writes 16 bytes at a misaligned address"));
    CHECK(contains(failure_of(operation, 16), "writes 16 bytes at"));
  }
}

TEST_CASE("mma.sp multiplies the stored half of A with the elements that the metadata names") {
  std::mt19937 source(3);
  const auto small = [&] { return static_cast<int>(source() % 7) - 3; };
  std::array<std::array<int, 16>, 16> a{}, b{};  // b[column][k].
  std::vector<std::uint16_t> stored, columns;
  std::vector<std::uint32_t> metadata(8, 0);
  for (std::size_t row = 0; row < 16; ++row)
    for (std::size_t group = 0; group < 4; ++group) {
      const std::uint32_t first = source() % 3, second = first + 1 + source() % (3 - first);
      for (const std::uint32_t index : {first, second}) {
        a[row][group * 4 + index] = small();
        stored.push_back(f16_from_f32(static_cast<float>(a[row][group * 4 + index]), {}));
      }
      metadata[row % 8] |= (first | second << 2) << (4 * group + 16 * (row / 8));
    }
  for (std::size_t column = 0; column < 8; ++column)
    for (int& value : b[column]) columns.push_back(f16_from_f32(static_cast<float>(value = small()), {}));
  Outside gpu("cooperation.cu");
  const auto out = gpu.upload("out", std::vector<float>(128, 0));
  gpu.run("sparse_product", {}, out, gpu.upload("a", stored), gpu.upload("b", columns),
          gpu.upload("metadata", metadata));
  const auto got = gpu.download<float>(out, 128);
  for (std::size_t row = 0; row < 16; ++row)
    for (std::size_t column = 0; column < 8; ++column) {
      int sum = 0;
      for (std::size_t k = 0; k < 16; ++k) sum += a[row][k] * b[column][k];
      CHECK(got[row * 8 + column] == static_cast<float>(sum));
    }
}
