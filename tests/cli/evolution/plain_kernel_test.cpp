#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "../bench.h"

using namespace evo::testing;
using Catch::Matchers::ContainsSubstring;

namespace {

void take(const Bench& bench, const std::string& name) {
  std::ifstream file(std::string(EVO_TEST_DATA) + "/plain/" + name);
  bench.write(name, {std::istreambuf_iterator<char>(file), {}});
}

Outcome tune(const Bench& bench, const std::string& file, const std::string& evaluations) {
  return bench.evo({"tune", file, "--device", "vgpu", "--evals", evaluations, "--seed", "1", "--quiet"});
}

}  // namespace

TEST_CASE("a plain kernel is tuned from its source and its launch alone") {
  const Bench bench;
  take(bench, "copy.cu");
  const Outcome outcome = tune(bench, "copy.cu", "8");
  INFO(outcome.out << outcome.err);
  REQUIRE(outcome.code == 0);
  CHECK_THAT(outcome.out, ContainsSubstring("copy on vgpu:h200"));
  CHECK_THAT(outcome.out, ContainsSubstring("block_x="));
  CHECK_THAT(outcome.out, ContainsSubstring("8 evaluated: 8 valid"));
  CHECK_THAT(bench.evo({"show", "1"}).out, ContainsSubstring("block_x=256"));  // The author's own is the first.
  CHECK_THAT(outcome.out, !ContainsSubstring("self-consistent"));
  CHECK(bench.evo({"export", "-o", "best.cu"}).code == 0);
  CHECK(bench.evo({"verify", "best.cu", "--kernels-only"}).code == 0);
}

TEST_CASE("ten plain kernels have valid candidates that are not theirs", "[sweep]") {
  const Bench bench;
  const std::string file = GENERATE("convolution.cu", "gemm.cu", "histogram.cu", "layer_norm.cu", "nbody.cu",
                                    "row_sums.cu", "softmax.cu", "stencil.cu", "transpose.cu");
  take(bench, file);
  const Outcome outcome = tune(bench, file, "12");
  INFO(outcome.out << outcome.err);
  REQUIRE(outcome.code == 0);
  const auto elites = bench.json({"elites"})["elites"];
  CHECK(elites.size() >= 2);
}

TEST_CASE("the choices of a plain kernel are shown with their lines, and the author's values in brackets") {
  const Bench bench;
  take(bench, "gemm.cu");
  const std::string text = bench.evo({"tune", "gemm.cu", "--genes"}).out;
  CHECK_THAT(text, ContainsSubstring("4, 8, [16], 32, 64"));
  CHECK_THAT(text, ContainsSubstring("pad_of_b"));
  const auto json = bench.json({"tune", "gemm.cu", "--genes"});
  for (const auto& choice : json["choices"])
    if (choice["gene"] == "TILE") CHECK(choice["line"] == 4);
  CHECK(bench.files().size() == 1);  // Nothing is written.
}

TEST_CASE("a constant that the result depends on is tried, and what it breaks is rejected") {
  const Bench bench;
  take(bench, "convolution.cu");
  REQUIRE(bench
              .evo({"tune", "convolution.cu", "--device", "vgpu", "--strategy", "random", "--evals", "10", "--seed",
                    "3", "--quiet"})
              .code == 0);
  int right = 0, wrong = 0;
  for (int id = 1; id <= 10; ++id) {
    const Outcome shown = bench.evo({"show", std::to_string(id), "--json"});
    if (shown.code != 0) continue;
    const auto json = nlohmann::json::parse(shown.out);
    const bool own = json["genome"]["genes"]["kWidth"] == 9;
    const bool valid = json["evaluation"]["verdict"] == "valid";
    if (valid) CHECK(own);
    (own ? right : wrong) += 1;
  }
  CHECK((right > 0 && wrong > 0));
}

TEST_CASE("a plain kernel without a launch, sizes or choices is refused in one line") {
  const Bench bench;
  bench.write("k.cu", "__global__ void k(float* y, int n) { y[threadIdx.x] = n; }\n");
  check_refused(
      bench.evo({"tune", "k.cu"}), 2,
      {"k.cu: nothing says how it is launched", "--launch", "k<<<ceil_div(N, 256), 256>>>(y=out float[N], N)"});
  check_refused(bench.evo({"tune", "k.cu", "--launch", "k<<<1, 32>>>(y=out float[N], N)"}), 2, {"--size"});
  check_refused(bench.evo({"tune", "k.cu", "--launch", "k<<<1, 32>>>(y=out float[N], N)", "--size", "32"}), 2,
                {"size '32'", "NAME=NUMBER"});
  check_refused(bench.evo({"tune", "k.cu", "--launch", "q<<<1, 32>>>(y=out float[N], N)", "--size", "N=32"}), 2,
                {"no kernel q"});
  check_refused(bench.evo({"tune", "k.cu", "--launch", "k<<<1, 32>>>(y=out flaot[N], N)", "--size", "N=32"}), 2,
                {"k.cu", "flaot"});
  bench.write("k.json", "{}");
  check_refused(bench.evo({"tune", "k.json", "--size", "N=32"}), 2, {"--launch, --size and --genes", "k.json"});
  check_refused(bench.evo({"tune", "none.cu", "--genes"}), 2, {"none.cu"});
}

TEST_CASE("what a compiler says of a plain kernel names the author's file and line") {
  const Bench bench;
  bench.write("k.cu",
              "// evo: launch k<<<1, 32>>>(y=out float[N], N)\n// evo: size N=32\n"
              "__global__ void k(float* y, int n) {\n  for (int i = 0; i < 4; ++i) y[threadIdx.x] = wrong;\n}\n");
  const Outcome outcome = tune(bench, "k.cu", "1");
  CHECK(outcome.code != 0);
  CHECK_THAT(outcome.out + outcome.err, ContainsSubstring("k.cu:4"));
  CHECK_THAT(outcome.out + outcome.err, !ContainsSubstring("choices"));
}

TEST_CASE("several blocks at once compute what each computes alone", "[long]") {
  const Bench bench;
  const auto [name, text] = GENERATE(table<const char*, const char*>({
      {"product",  // Nothing is shared: every load is each thread's own.
       "// evo: launch k<<<dim3(ceil_div(N, 8), ceil_div(M, 4)), dim3(8, 4)>>>(c=out float[M,N], a=float[M,K], "
       "b=float[K,N], M, N, K)\n// evo: size M=13,N=37,K=11\n"
       "__global__ void k(float* c, const float* a, const float* b, int m, int n, int k) {\n"
       "  const int column = blockIdx.x * 8 + threadIdx.x, row = blockIdx.y * 4 + threadIdx.y;\n"
       "  if (row >= m || column >= n) return;\n  float sum = 0;\n"
       "  for (int i = 0; i < k; ++i) sum += a[row * k + i] * b[i * n + column];\n  c[row * n + column] = sum;\n}\n"},
      {"rows without a guard",
       "// evo: launch k<<<M, 32>>>(y=out float[M,N], x=float[M,N], N)\n// evo: size M=7,N=50\n"
       "template <class T>\n__device__ T twice(T v) { return v + v; }\n"
       "extern \"C\" __global__ void k(float* y, const float* x, int n) {\n"
       "  const float* row = x + blockIdx.x * n;\n  float4 sum = make_float4(0, 0, 0, 0);\n  int j = 0;\n"
       "  while (j < n) { sum.x += row[j]; if (row[j] > 1) sum.y += twice(row[j]); ++j; }\n"
       "  for (int i = threadIdx.x; i < n; i += blockDim.x) y[blockIdx.x * n + i] = row[i] + sum.x + sum.y;\n}\n"},
      {"strides of the grid",
       "// evo: launch k<<<5, 64>>>(count=inout int[1], y=out float[N], x=float[N], N)\n// evo: size N=777\n"
       "__global__ void k(int* count, float* y, const float* x, int n) {\n"
       "  int mine = 0;\n  float window[3];\n"
       "  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {\n"
       "    for (int k = 0; k < 3; ++k) window[k] = x[i > k ? i - k : 0];\n"
       "    y[i] = window[0] + window[1] * window[2];\n    if (y[i] > 0) ++mine;\n  }\n"
       "  if (mine > 0) atomicAdd(count, mine);\n}\n"},
  }));
  INFO(name);
  bench.write("k.cu", text);
  const Outcome outcome = bench.evo(
      {"tune", "k.cu", "--device", "vgpu", "--strategy", "random", "--evals", "12", "--seed", "2", "--quiet"});
  INFO(outcome.out << outcome.err);
  REQUIRE(outcome.code == 0);
  int several = 0;
  for (int id = 1; id <= 12; ++id) {
    const Outcome shown = bench.evo({"show", std::to_string(id), "--json"});
    if (shown.code != 0) continue;
    const auto json = nlohmann::json::parse(shown.out);
    INFO(shown.out);
    CHECK(json["evaluation"]["verdict"] == "valid");
    if (json["genome"]["genes"]["each_x"] > 1) ++several;
  }
  CHECK(several > 3);
}
