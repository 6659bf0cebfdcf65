#include "engine/choices/source_choices.h"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "engine/base/error.h"

using namespace evo;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::MessageMatches;
using Texts = std::vector<std::string>;

namespace {

KernelChoices choices_of(const std::string& source, const std::string& launch,
                         const std::vector<std::string>& sizes = {"N"}) {
  return find_choices(source, parse_launch_line(launch), sizes);
}

const Choice* find(const KernelChoices& found, const std::string& gene) {
  const auto choice = std::ranges::find(found.choices, gene, &Choice::gene);
  return choice == found.choices.end() ? nullptr : &*choice;
}

std::vector<Value> numbers(std::vector<std::int64_t> list) {
  return {list.begin(), list.end()};
}

}  // namespace

TEST_CASE("constants that reach a bound, a size or the launch are choices, and others stay") {
  const std::string source =
      "#define TILE 16\n"
      "#define TIMES 3  // of a loop\n"
      "#define SEED 17\n"
      "#ifdef DEBUG\n#define DEPTH 4\n#endif\n"
      "constexpr int kRows = 6;\n"
      "#define N 4\n"
      "__global__ void k(float* y) {\n"
      "  __shared__ float rows[kRows];\n"
      "  for (int i = 0; i < TIMES; ++i) y[i] = SEED + N;\n"
      "}\n";
  const KernelChoices found = choices_of(source, "k<<<1, TILE>>>(y=out float[N])");
  REQUIRE(find(found, "TILE") != nullptr);
  CHECK(find(found, "TILE")->line == 1);
  CHECK(find(found, "TILE")->values == numbers({4, 8, 16, 32, 64}));
  CHECK(find(found, "TILE")->own == Value(std::int64_t{16}));
  REQUIRE(find(found, "TIMES") != nullptr);
  CHECK(find(found, "TIMES")->values == numbers({3, 6, 12}));
  REQUIRE(find(found, "kRows") != nullptr);
  CHECK(find(found, "kRows")->line == 7);
  for (const char* other : {"SEED", "DEPTH", "N"}) CHECK(find(found, other) == nullptr);
  CHECK_THAT(found.source, !ContainsSubstring("#define TILE"));
  CHECK_THAT(found.source, ContainsSubstring("#define SEED 17"));
  CHECK(std::ranges::count(found.source, '\n') == std::ranges::count(source, '\n'));
}

TEST_CASE("a constant is no choice where its name has another use, and a default may be overridden") {
  const auto found = [](const std::string& source) {
    return choices_of(source + "__global__ void k(float* y, int n) {\n  for (int i = 0; i < TILE; ++i) y[i] = n;\n}\n",
                      "k<<<1, 32>>>(y=out float[N], N)");
  };
  CHECK(find(found("#define TILE 8\n"), "TILE") != nullptr);
  const KernelChoices by_default = found("#ifndef TILE\n#define TILE 8\n#endif\n");
  CHECK(find(by_default, "TILE") != nullptr);
  CHECK_THAT(by_default.source, ContainsSubstring("#define TILE 8"));
  for (const char* other : {"#ifdef A\n#define TILE 8\n#else\n#define TILE 4\n#endif\n",
                            "#ifdef A\n#define TILE 8\n#endif\n", "#define TILE 8\n#undef TILE\n#define TILE 4\n",
                            "const int TILE = 8;\n__device__ int f(int TILE) { return TILE; }\n",
                            "struct C { static constexpr int TILE = 8; };\n__device__ int f() { return C::TILE; }\n"}) {
    INFO(other);
    CHECK(find(found(other), "TILE") == nullptr);
  }
  // A word of expressions.
  CHECK(find(choices_of("#define wgmma 8\n__global__ void k(float* y) { for (int i = 0; i < wgmma; ++i) y[i] = 1; }",
                        "k<<<1, 32>>>(y=out float[N])"),
             "wgmma") == nullptr);
}

TEST_CASE("a block of numbers is a choice where the kernel reads blockDim, and the grid follows it") {
  const std::string reads = "__global__ void k(float* y, int n) { y[blockIdx.x * blockDim.x + threadIdx.x] = 1; }";
  const KernelChoices found = choices_of(reads, "k<<<ceil_div(N, 256), 256>>>(y=out float[N], N)");
  REQUIRE(find(found, "block_x") != nullptr);
  CHECK(find(found, "block_x")->values == numbers({32, 64, 128, 256, 512, 1024}));
  CHECK(found.launch.block == Texts{"block_x"});
  CHECK(found.launch.grid == Texts{"ceil_div(ceil_div(N, block_x), each_x)"});
  CHECK(choices_of(reads, "k<<<ceil_div(N, blockDim.x), 96>>>(y=out float[N], N)").launch.grid ==
        Texts{"ceil_div(ceil_div(N, block_x), each_x)"});
  const KernelChoices fixed =
      choices_of("__global__ void k(float* y, int n) { y[blockIdx.x * 256 + threadIdx.x] = 1; }",
                 "k<<<ceil_div(N, 256), 256>>>(y=out float[N], N)");
  CHECK(find(fixed, "block_x") == nullptr);
  CHECK(fixed.launch.grid == Texts{"ceil_div(ceil_div(N, 256), each_x)"});
}

TEST_CASE("each axis of the grid follows its own axis of the block") {
  const std::string reads =
      "__global__ void k(float* y) { y[blockIdx.x * blockDim.x + threadIdx.y + blockIdx.y * blockDim.y] = 1; }";
  const auto grid = [&](const std::string& grid, const std::string& block) {
    return choices_of(reads, "k<<<" + grid + ", " + block + ">>>(y=out float[N])", {"M", "N"}).launch.grid;
  };
  CHECK(grid("dim3(ceil_div(N, 16), ceil_div(M, 16))", "dim3(16, 16)") ==
        Texts{"ceil_div(ceil_div(N, block_x), each_x)", "ceil_div(ceil_div(M, block_y), each_y)"});
  CHECK(grid("ceil_div(M, 4)", "dim3(32, 4)") == Texts{"ceil_div(ceil_div(M, block_y), each_x)"});
  CHECK(grid("dim3(ceil_div(M, 4), 32)", "dim3(32, 4)") ==
        Texts{"ceil_div(ceil_div(M, block_y), each_x)", "ceil_div(32, each_y)"});
  CHECK(grid("ceil_div(M, blockDim.x * blockDim.y)", "dim3(8, 8)") ==
        Texts{"ceil_div(ceil_div(M, block_x * block_y), each_x)"});
}

TEST_CASE("loops may be unrolled otherwise, and a pragma's factor is the author's own") {
  const KernelChoices found = choices_of(
      "__global__ void k(float* y, int n) {\n"
      "  for (int i = 0; i < n; ++i) y[i] = 1;\n"
      "#pragma unroll 3\n"
      "  for (int i = 0; i < n; ++i) y[i] += 1;\n"
      "#pragma unroll\n"
      "  for (int i = 0; i < 4; ++i) y[i] += 1;  // for (;;)\n"
      "#pragma unroll FACTOR\n"
      "  for (int i = 0; i < 4; ++i) y[i] += 1;\n"
      "}\n",
      "k<<<1, 32>>>(y=out float[N], N)");
  REQUIRE(find(found, "unroll_2") != nullptr);
  CHECK(find(found, "unroll_2")->own == Value(std::int64_t{0}));
  REQUIRE(find(found, "unroll_4") != nullptr);
  CHECK(find(found, "unroll_4")->values == numbers({0, 1, 2, 3, 4, 8}));
  CHECK(find(found, "unroll_4")->own == Value(std::int64_t{3}));
  REQUIRE(find(found, "unroll_6") != nullptr);
  CHECK(find(found, "unroll_6")->own == Value(std::int64_t{1024}));
  CHECK(find(found, "unroll_8") == nullptr);
  CHECK_THAT(found.source, ContainsSubstring("  evo_unroll_2 for (int i"));
  CHECK_THAT(found.source, !ContainsSubstring("#pragma unroll 3"));
  CHECK_THAT(found.source, ContainsSubstring("#pragma unroll FACTOR"));
}

TEST_CASE("pointers may be restricted, and arrays that are only read may be loaded otherwise") {
  const KernelChoices found = choices_of(
      "__global__ void k(float* y, const float* __restrict__ x, const int* at, const char* text) {\n"
      "  y[0] = x[at[1]] + x [2] + text[0];\n"
      "  const float* p = &x[4];\n"
      "}\n",
      "k<<<1, 32>>>(y=out float[N], x=float[N], at=int[N], text=s8[N])");
  CHECK_THAT(found.source, ContainsSubstring("float* evo_restrict  y"));
  CHECK_THAT(found.source, ContainsSubstring("const float* __restrict__ x"));
  CHECK_THAT(found.source, ContainsSubstring("load_x(&x[load_at(&at[1])]) + load_x(&x [2]) + text[0]"));
  CHECK_THAT(found.source, ContainsSubstring("p = &x[4];"));
  REQUIRE(find(found, "load_x") != nullptr);
  CHECK(find(found, "load_x")->own == Value(std::string("evo_load")));
  CHECK(find(found, "load_text") == nullptr);
  CHECK(find(found, "restrict_pointers") != nullptr);
}

TEST_CASE("rows in shared memory may be padded") {
  const KernelChoices found = choices_of(
      "__global__ void k(float* y) {\n  __shared__ float tile[32][33];\n  __shared__ int line[4], plane[2] [3];\n"
      "  tile[threadIdx.x][0] = line[0];\n}\n",
      "k<<<1, 32>>>(y=out float[N])");
  CHECK_THAT(found.source, ContainsSubstring("tile[32][33 + pad_tile];"));
  CHECK_THAT(found.source, ContainsSubstring("line[4], plane[2] [3];"));
  CHECK(find(found, "pad_line") == nullptr);
}

TEST_CASE("least blocks on an SM are a choice where the kernel says none, and its block is known") {
  const std::string body = " k(float* y) { y[threadIdx.x] = 1; }";
  CHECK(find(choices_of("__global__ void" + body, "k<<<1, 32>>>(y=out float[N])"), "min_blocks") != nullptr);
  CHECK(find(choices_of("__global__ void" + body, "k<<<1, N>>>(y=out float[N])"), "min_blocks") == nullptr);
  for (const char* bound : {"__global__ void __launch_bounds__(32)", "__global__ __launch_bounds__(32) void"})
    CHECK(find(choices_of(bound + body, "k<<<1, 32>>>(y=out float[N])"), "min_blocks") == nullptr);
}

TEST_CASE("choices are those of the kernel's own code, whatever stands in comments, texts and other kernels") {
  const std::string source =
      "// for (int i = 0; i < 4; ++i) __global__ void k(float* q);\n"
      "__global__ void k(float* y);\n"
      "__global__ void other(const float* z) {}\n"
      "__global__ void k(float* y) { printf(\"for (int i = 0; i < n; ++i)\"); y[0] = 1; }\n";
  const KernelChoices found = choices_of(source, "k<<<1, 32>>>(y=out float[N])");
  CHECK(std::ranges::none_of(found.choices, [](const Choice& one) { return one.gene.starts_with("unroll"); }));
  CHECK_THAT(found.source, ContainsSubstring("void other(const float* z) {}"));
  CHECK_THAT(found.source, ContainsSubstring("evo_bounds void k(float* evo_restrict  y) { printf"));
  CHECK_THROWS_MATCHES(choices_of(source, "q<<<1, 32>>>(y=out float[N])"), Error,
                       MessageMatches(ContainsSubstring("no kernel q")));
}

TEST_CASE("a source with a stretch that no pattern can be matched to is refused in one line") {
  const auto with_blanks = [](std::size_t count) {
    return choices_of("__global__ void k(float* y) { y[blockIdx.x] = 1 +" + std::string(count, ' ') + "2; }",
                      "k<<<1, 32>>>(y=out float[N])");
  };
  CHECK(find(with_blanks(40'000), "each_x") != nullptr);
  CHECK_THROWS_MATCHES(with_blanks(400'000), Error, MessageMatches(ContainsSubstring("50000 characters")));
}
