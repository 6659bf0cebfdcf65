#include <catch2/matchers/catch_matchers_string.hpp>

#include "tests/cli/bench.h"

using namespace evo::testing;
using Catch::Matchers::ContainsSubstring;

// Kernels with a gene `way`: the first ways are honest, the others err more than single precision does, and less than
// the usual limit of the outputs' type.
namespace {

void check_ways(const std::string& kernel, const std::string& form, int honest, int wrong) {
  const Bench bench;
  bench.write("k.cu", kernel);
  bench.write("k.json", form);
  const Outcome outcome = bench.evo({"tune", "k.json", "--device", "vgpu", "--evals", "10", "--seed", "1", "--quiet"});
  CHECK_THAT(outcome.err, ContainsSubstring("times what single precision errs by"));
  CHECK_THAT(outcome.out, ContainsSubstring(std::to_string(honest) + " valid"));
  CHECK_THAT(outcome.out, ContainsSubstring(std::to_string(wrong) + " wrong_answer"));
  const auto best = bench.json({"elites"})["elites"];
  for (const auto& elite : best) CHECK(elite["genome"]["genes"]["way"].get<int>() < honest);
}

}  // namespace

TEST_CASE("rotary embeddings by any power are right, sines beyond what the hardware documents are not", "[long]") {
  check_ways(
      R"cuda(#include <cuda_bf16.h>
extern "C" __global__ void turn(__nv_bfloat16* q, const int* at, int d) {
  const int half = d / 2, i = threadIdx.x;
  __nv_bfloat16* row = q + (size_t)blockIdx.x * d;
  const float power = way == 1 ? exp2f(-2.f * i / d * log2f(10000.f)) : powf(10000.f, -2.f * i / d);
  float s, c;
  if (way == 2) __sincosf(at[blockIdx.x] * power, &s, &c);
  else sincosf(at[blockIdx.x] * power, &s, &c);
  const float a = __bfloat162float(row[i]), b = __bfloat162float(row[i + half]);
  row[i] = __float2bfloat16(a * c - b * s);
  row[i + half] = __float2bfloat16(b * c + a * s);
}
extern "C" __global__ void turn_plain(__nv_bfloat16* q, const int* at, int d) {
  __nv_bfloat16* row = q + (size_t)blockIdx.x * d;
  for (int i = 0; i < d / 2; ++i) {
    const double angle = at[blockIdx.x] * pow(10000., -2. * i / d);
    const double a = __bfloat162float(row[i]), b = __bfloat162float(row[i + d / 2]);
    row[i] = __double2bfloat16(a * cos(angle) - b * sin(angle));
    row[i + d / 2] = __double2bfloat16(b * cos(angle) + a * sin(angle));
  }
}
)cuda",
      R"json({ "kernel": "k.cu:turn", "genes": {"way": [0, 1, 2]}, "shapes": [{"T": 200}],
  "arguments": ["q=inout bf16[T,64]", "at=int[T] :integers(0, 30000)", "64"], "grid": ["T"], "block": [32],
  "reference": "k.cu:turn_plain", "reference_block": [1] }
)json",
      2, 1);
}

TEST_CASE("attention may round its weights as a tensor core takes them, and not further", "[long]") {
  check_ways(
      R"cuda(#include <cuda_bf16.h>
#include <cuda_fp8.h>
extern "C" __global__ void attend(__nv_bfloat16* o, const __nv_bfloat16* q, const __nv_bfloat16* k,
                                  const __nv_bfloat16* v, int s, int d) {
  __shared__ float weight[64];
  const int r = blockIdx.x, t = threadIdx.x;
  float most = -1e30f, sum = 0;
  for (int j = 0; j < s; ++j) {
    float dot = 0;
    for (int i = 0; i < d; ++i) dot += __bfloat162float(q[r * d + i]) * __bfloat162float(k[j * d + i]);
    most = fmaxf(most, weight[j] = dot * rsqrtf(d));
    __syncwarp();
  }
  for (int j = 0; j < s; ++j) {
    const float w = way == 1 ? __expf(weight[j] - most) : expf(weight[j] - most);
    sum += w;
    __syncwarp();
    weight[j] = way == 2 ? (float)__nv_fp8_e4m3(w) : way == 0 ? w : __bfloat162float(__float2bfloat16(w));
    __syncwarp();
  }
  float acc = 0;
  for (int j = 0; j < s; ++j) acc += weight[j] * __bfloat162float(v[j * d + t]);
  o[r * d + t] = __float2bfloat16(acc / sum);
}
extern "C" __global__ void attend_plain(__nv_bfloat16* o, const __nv_bfloat16* q, const __nv_bfloat16* k,
                                        const __nv_bfloat16* v, int s, int d) {
  const int r = blockIdx.x, t = threadIdx.x;
  double most = -1e300, sum = 0, acc = 0;
  for (int pass = 0; pass < 2; ++pass)
    for (int j = 0; j < s; ++j) {
      double dot = 0;
      for (int i = 0; i < d; ++i) dot += (double)__bfloat162float(q[r * d + i]) * __bfloat162float(k[j * d + i]);
      dot /= sqrt((double)d);
      if (pass == 0) { most = fmax(most, dot); continue; }
      const double w = exp(dot - most);
      sum += w;
      acc += w * __bfloat162float(v[j * d + t]);
    }
  o[r * d + t] = __double2bfloat16(acc / sum);
}
)cuda",
      R"json({ "kernel": "k.cu:attend", "genes": {"way": [0, 1, 2]}, "shapes": [{"S": 40}], "specialised": ["S"],
  "arguments": ["o=out bf16[S,32]", "q=bf16[S,32]", "k=bf16[S,32]", "v=bf16[S,32]", "S", "32"],
  "grid": ["S"], "block": [32], "reference": "k.cu:attend_plain" }
)json",
      2, 1);
}

TEST_CASE("a layer norm that loses a few digits everywhere is rejected though the limit of its type lets it pass") {
  check_ways(R"cuda(
extern "C" __global__ void centre(float* y, const float* x, int m) {
  const float* row = x + (size_t)blockIdx.x * m;
  float sum = 0, part[4] = {};
  for (int i = 0; i < m; ++i) sum += row[i];
  for (int i = 0; i < m; ++i) part[i % 4] += row[i];
  if (way == 1) sum = (part[0] + part[1]) + (part[2] + part[3]);
  const float mean = sum / m;
  for (int i = threadIdx.x; i < m; i += 32)
    y[(size_t)blockIdx.x * m + i] = (row[i] - mean) * (way == 2 ? 1.00001f : 1.f);
}
extern "C" __global__ void centre_plain(float* y, const float* x, int m) {
  const float* row = x + (size_t)blockIdx.x * m;
  double sum = 0;
  for (int i = 0; i < m; ++i) sum += row[i];
  for (int i = 0; i < m; ++i) y[(size_t)blockIdx.x * m + i] = row[i] - sum / m;
}
)cuda",
             R"json({ "kernel": "k.cu:centre", "genes": {"way": [0, 1, 2]}, "shapes": [{"R": 12, "M": 96}],
  "arguments": ["y=out float[R,M]", "x=float[R,M]", "M"], "grid": ["R"], "block": [32],
  "reference": "k.cu:centre_plain", "reference_block": [1] }
)json",
             2, 1);
}

TEST_CASE("check says where limits come from and in which regimes the first genome is right", "[long]") {
  const Bench bench;
  bench.write("k.cu", R"cuda(extern "C" __global__ void twice(float* y, int* n, const float* x, int m) {
  const int i = blockIdx.x * 32 + threadIdx.x;
  if (i < m) { y[i] = 2 * x[i]; n[i] = way == 1 && fabsf(x[i]) > 1e4f; }
}
extern "C" __global__ void twice_plain(float* y, int* n, const float* x, int m) {
  for (int i = 0; i < m; ++i) { y[i] = 2 * (double)x[i]; n[i] = 0; }
}
)cuda");
  const auto form = [](int way) {
    return R"json({ "kernel": "k.cu:twice", "genes": {"way": [)json" + std::to_string(way) +
           R"json(]}, "shapes": [{"M": 300}], "arguments": ["y=out float[M]", "n=out int[M]", "x=float[M]", "M"],
  "grid": ["ceil_div(M, 32)"], "block": [32], "reference": "k.cu:twice_plain", "reference_grid": [1],
  "reference_block": [1] })json";
  };
  bench.write("k.json", form(0));
  const Outcome right = bench.evo({"check", "k.json"});
  CHECK(right.code == 0);
  CHECK_THAT(right.out, ContainsSubstring("limits: y: relative_l2 2e-05, usual for f32; over all draws"));
  CHECK_THAT(right.out, ContainsSubstring("limits: n: exact"));
  CHECK_THAT(right.out, ContainsSubstring("regimes: ") && ContainsSubstring("far_rows"));

  bench.write("k.json", form(1));
  const Outcome wrong = bench.evo({"check", "k.json"});
  CHECK(wrong.code != 0);
  CHECK_THAT(wrong.out, ContainsSubstring("regime far_rows"));
}
