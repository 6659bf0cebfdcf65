#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "bench.h"

using namespace evo::testing;
using Catch::Matchers::ContainsSubstring;

namespace {

// A softmax whose maximum begins at LOWEST, a product that adds in ACC, a sum that is compensated or not. References
// compute in double precision.
constexpr const char* kKernels = R"cu(
#include <cuda_fp16.h>
__global__ void softmax(float* y, const float* x, int m) {
  const float* row = x + blockIdx.x * m;
  float top = LOWEST, sum = 0;
  for (int i = threadIdx.x; i < m; i += 32) top = fmaxf(top, row[i]);
  for (int d = 16; d > 0; d >>= 1) top = fmaxf(top, __shfl_xor_sync(~0u, top, d));
  for (int i = threadIdx.x; i < m; i += 32) sum += expf(row[i] - top);
  for (int d = 16; d > 0; d >>= 1) sum += __shfl_xor_sync(~0u, sum, d);
  for (int i = threadIdx.x; i < m; i += 32) y[blockIdx.x * m + i] = sum > 0 ? expf(row[i] - top) / sum : 0.0f;
}
__global__ void softmax_plain(float* y, const float* x, int m) {
  const float* row = x + blockIdx.x * m;
  double top = row[0], sum = 0;
  for (int i = 1; i < m; ++i) top = fmax(top, (double)row[i]);
  for (int i = 0; i < m; ++i) sum += exp((double)row[i] - top);
  for (int i = 0; i < m; ++i) y[blockIdx.x * m + i] = exp((double)row[i] - top) / sum;
}
__global__ void gemm(half* c, const half* a, const half* b, int n, int k) {
  ACC sum = 0;
  for (int i = 0; i < k; ++i)
    sum = (ACC)((float)sum + (float)a[blockIdx.x * k + i] * (float)b[i * n + threadIdx.x]);
  c[blockIdx.x * n + threadIdx.x] = (half)sum;
}
__global__ void gemm_plain(half* c, const half* a, const half* b, int n, int k) {
  double sum = 0;
  for (int i = 0; i < k; ++i) sum += (double)(float)a[blockIdx.x * k + i] * (double)(float)b[i * n + threadIdx.x];
  c[blockIdx.x * n + threadIdx.x] = (half)sum;
}
__global__ void row_sum(float* y, const float* x, int m) {
  float sum = 0, lost = 0;
  for (int i = threadIdx.x; i < m; i += 32) {
    const float add = COMPENSATED ? __fsub_rn(x[blockIdx.x * m + i], lost) : x[blockIdx.x * m + i];
    const float next = __fadd_rn(sum, add);
    lost = __fsub_rn(__fsub_rn(next, sum), add);
    sum = next;
  }
  double all = COMPENSATED ? (double)sum - lost : sum;
  for (int d = 16; d > 0; d >>= 1) all += __shfl_xor_sync(~0u, all, d);
  if (threadIdx.x == 0) y[blockIdx.x] = all;
}
__global__ void row_sum_plain(float* y, const float* x, int m) {
  double sum = 0;
  for (int i = 0; i < m; ++i) sum += x[blockIdx.x * m + i];
  y[blockIdx.x] = sum;
}
)cu";

void write_kernels(const Bench& bench) {
  bench.write("k.cu", std::string("#ifndef LOWEST\n#define LOWEST -INFINITY\n#endif\n#ifndef ACC\n#define ACC float\n"
                                  "#endif\n#ifndef COMPENSATED\n#define COMPENSATED 1\n#endif\n") +
                          kKernels);
}

void write_softmax(const Bench& bench, const std::string& lowest) {
  write_kernels(bench);
  bench.write("softmax.json", R"({"kernel": "k.cu:softmax", "genes": {"LOWEST": [)" + lowest + R"(]},
    "shapes": [{"N": 16, "M": 128}], "arguments": ["y=out float[N,M]", "x=float[N,M]", "M"],
    "grid": ["N"], "block": [32], "reference": "k.cu:softmax_plain", "reference_grid": ["N"],
    "reference_block": [1]})");
}

void write_gemm(const Bench& bench, const std::string& type) {
  write_kernels(bench);
  bench.write("gemm.json", R"({"kernel": "k.cu:gemm", "genes": {"ACC": [")" + type + R"("]},
    "shapes": [{"M": 4, "N": 32, "K": 512}], "requires": "N == 32",
    "arguments": ["c=out half[M,N]", "a=half[M,K]", "b=half[K,N]", "N", "K"], "grid": ["M"], "block": [32],
    "limits": {"relative_l2": 0.004, "cosine": 0.999}, "reference": "k.cu:gemm_plain", "reference_grid": ["M"],
    "reference_block": [32]})");
}

void write_sum(const Bench& bench, const std::string& compensated) {
  write_kernels(bench);
  bench.write("sum.json", R"({"kernel": "k.cu:row_sum", "genes": {"COMPENSATED": [)" + compensated + R"(]},
    "shapes": [{"N": 8, "M": 2048}], "arguments": ["y=out float[N]", "x=float[N,M]", "M"],
    "grid": ["N"], "block": [32], "limits": {"relative_l2": 1e-6, "cosine": 0.999},
    "reference": "k.cu:row_sum_plain", "reference_grid": ["N"], "reference_block": [1]})");
}

nlohmann::json attacked(const Bench& bench, const std::string& subject, int code, const std::string& time = "100s") {
  return bench.json({"attack", subject, "--device", "vgpu", "--time", time, "--db", "t.db"}, code)["kernels"][0];
}

}  // namespace

TEST_CASE("an attack finds a maximum that begins too high, by rows far below zero", "[long]") {
  const Bench bench;
  write_softmax(bench, "\"-5e4f\"");
  const nlohmann::json one = attacked(bench, "softmax.json", 1);
  INFO(one.dump(1));
  CHECK(one["found"]["verdict"] == "wrong_answer");
  CHECK(one["found"]["error"].get<double>() > 1000);
  CHECK_FALSE(one["found"]["regime"]["steps"].empty());
}

TEST_CASE("an attack finds sums in f16, and sums without compensation", "[long]") {
  const Bench bench;
  write_gemm(bench, "half");
  CHECK(attacked(bench, "gemm.json", 1)["found"]["error"].get<double>() > 1);
  write_sum(bench, "0");
  CHECK(attacked(bench, "sum.json", 1)["found"]["error"].get<double>() > 1);
}

TEST_CASE("an attack finds nothing wrong with honest kernels", "[long]") {
  const Bench bench;
  write_softmax(bench, "\"-INFINITY\"");
  write_gemm(bench, "float");
  write_sum(bench, "1");
  for (const char* file : {"softmax.json", "gemm.json", "sum.json"}) {
    const nlohmann::json one = attacked(bench, file, 0, "10s");
    INFO(one.dump(1));
    CHECK(one["found"].is_null());
    CHECK(one["tries"].get<int>() > 8);
  }
  CHECK_FALSE(std::filesystem::exists(bench / "t.db"));
}

TEST_CASE("what an attack has found rejects later candidates of the task, and those of before when they are verified",
          "[long]") {
  const Bench bench;
  write_softmax(bench, R"("-5e4f", "-INFINITY")");
  // The usual regimes would show it to the first search already.
  std::string form = bench.read("softmax.json");
  form.insert(form.find('{') + 1, R"("regimes": {"normal": {"distribution": "normal"}},)");
  bench.write("softmax.json", form);
  const std::vector<std::string> tune = {"tune", "softmax.json", "--device", "vgpu", "--evals", "2", "--seed",
                                         "1",    "--quiet",      "--db",     "t.db"};
  CHECK_THAT(bench.evo(tune).out, ContainsSubstring("2 valid"));
  const nlohmann::json one = attacked(bench, "1", 1);
  INFO(one.dump(1));
  REQUIRE_FALSE(one["found"].is_null());
  const Outcome again = bench.evo(tune);
  INFO(again.out << again.err);
  CHECK_THAT(again.out, ContainsSubstring("1 valid, 1 wrong_answer"));
  CHECK(bench.evo({"verify", "1", "--db", "t.db"}).code == 1);
  CHECK(bench.evo({"verify", "2", "--db", "t.db"}).code == 0);
}

TEST_CASE("the regime that an attack prints can be pasted into a task") {
  const Bench bench;
  write_softmax(bench, R"("-5e4f", "-INFINITY")");
  std::string form = bench.read("softmax.json");
  const std::string regime = attacked(bench, "softmax.json", 1)["found"]["regime"].dump();
  form.insert(form.rfind('}'), R"(, "regimes": {"normal": {"distribution": "normal"}, "attack": )" + regime + "}");
  bench.write("pasted.json", form);
  const Outcome outcome =
      bench.evo({"tune", "pasted.json", "--device", "vgpu", "--evals", "2", "--seed", "1", "--quiet", "--db", "p.db"});
  INFO(outcome.out << outcome.err);
  CHECK_THAT(outcome.out, ContainsSubstring("1 valid, 1 wrong_answer"));
}

TEST_CASE("an attack of one seed finds the same again") {
  const Bench bench;
  write_softmax(bench, "\"-5e4f\"");
  const nlohmann::json one = attacked(bench, "softmax.json", 1), again = attacked(bench, "softmax.json", 1);
  CHECK(one["found"]["regime"] == again["found"]["regime"]);
  CHECK(one["tries"] == again["tries"]);
}
