#include <catch2/matchers/catch_matchers_string.hpp>

#include "bench.h"

using namespace evo::testing;
using Catch::Matchers::ContainsSubstring;

// Each kernel has a gene `fault`: 0 is an honest kernel, and every other value a wrong one that computes almost the
// same.
namespace {

/// Searches all values of the gene. Returns what was printed on standard error.
std::string check_faults(const std::string& kernel, const std::string& form, int faults) {
  const Bench bench;
  bench.write("k.cu", kernel);
  bench.write("k.json", form);
  const Outcome outcome = bench.evo({"tune", "k.json", "--device", "vgpu", "--evals", "20", "--seed", "1", "--quiet"});
  CHECK(outcome.code == 0);
  CHECK_THAT(outcome.out, ContainsSubstring("tuned: fault=0"));
  CHECK_THAT(outcome.out, ContainsSubstring(std::to_string(faults + 1) + " evaluated: "));
  CHECK_THAT(outcome.out, ContainsSubstring("1 valid"));
  CHECK_THAT(outcome.out, ContainsSubstring(std::to_string(faults) + " wrong_answer"));
  return outcome.err;
}

}  // namespace

TEST_CASE("an optimiser that never writes the weights, moves them uphill, steps too far or forgets is rejected") {
  check_faults(
      R"cuda(#include <cuda_bf16.h>
// fault 1: weights are never written; 2: they move uphill; 3: twice the step; 4: no momentum.
extern "C" __global__ void step(__nv_bfloat16* w, float* momentum, const float* slope, float rate, int n) {
  const int i = blockIdx.x * 64 + threadIdx.x;
  if (i >= n) return;
  const float speed = (fault == 4 ? 0.f : 0.9f * momentum[i]) + slope[i];
  momentum[i] = fault == 4 ? 0.9f * momentum[i] + slope[i] : speed;
  const float moved = __bfloat162float(w[i]) + (fault == 2 ? rate : -rate) * (fault == 3 ? 2.f : 1.f) * speed;
  if (fault != 1) w[i] = __float2bfloat16(moved);
}
extern "C" __global__ void step_plain(__nv_bfloat16* w, float* momentum, const float* slope, float rate, int n) {
  for (int i = 0; i < n; ++i) {
    const double speed = 0.9f * (double)momentum[i] + slope[i];
    w[i] = __double2bfloat16(__bfloat162float(w[i]) - (double)rate * speed);
    momentum[i] = speed;
  }
}
)cuda",
      R"json({ "kernel": "k.cu:step", "genes": {"fault": [0, 1, 2, 3, 4]}, "shapes": [{"N": 1000}, {"N": 4096}],
  "arguments": ["w=inout bf16[N]", "momentum=inout float[N]", "slope=float[N]", "float:0.0002", "N"],
  "grid": ["ceil_div(N, 64)"], "block": [64],
  "reference": "k.cu:step_plain", "reference_grid": [1], "reference_block": [1] }
)json",
      4);
}

TEST_CASE("a running mean in place that stays or runs too fast is rejected") {
  check_faults(R"cuda(#include <cuda_fp16.h>
extern "C" __global__ void ema(__half* mean, const float* x, int n) {
  const int i = blockIdx.x * 64 + threadIdx.x;
  if (i >= n) return;
  const float keep = fault == 1 ? 1.f : fault == 2 ? 0.995f : 0.99f;
  mean[i] = __float2half(keep * __half2float(mean[i]) + (1 - keep) * x[i]);
}
extern "C" __global__ void ema_plain(__half* mean, const float* x, int n) {
  for (int i = 0; i < n; ++i) mean[i] = __double2half(0.99 * __half2float(mean[i]) + 0.01 * x[i]);
}
)cuda",
               R"json({ "kernel": "k.cu:ema", "genes": {"fault": [0, 1, 2]}, "shapes": [{"N": 1000}, {"N": 64}],
  "arguments": ["mean=inout f16[N]", "x=float[N]", "N"],
  "grid": ["ceil_div(N, 64)"], "block": [64],
  "reference": "k.cu:ema_plain", "reference_grid": [1], "reference_block": [1] }
)json",
               2);
}

TEST_CASE("a residual added in place is right; one that is dropped or subtracted is not") {
  check_faults(R"cuda(#include <cuda_bf16.h>
extern "C" __global__ void add(__nv_bfloat16* h, const __nv_bfloat16* x, int n) {
  const int i = blockIdx.x * 64 + threadIdx.x;
  if (i >= n || fault == 1) return;
  h[i] = fault == 2 ? __hsub(h[i], x[i]) : __hadd(h[i], x[i]);
}
extern "C" __global__ void add_plain(__nv_bfloat16* h, const __nv_bfloat16* x, int n) {
  for (int i = 0; i < n; ++i) h[i] = __float2bfloat16(__bfloat162float(h[i]) + __bfloat162float(x[i]));
}
)cuda",
               R"json({ "kernel": "k.cu:add", "genes": {"fault": [0, 1, 2]}, "shapes": [{"N": 1000}],
  "arguments": ["h=inout bf16[N]", "x=bf16[N]", "N"],
  "grid": ["ceil_div(N, 64)"], "block": [64],
  "reference": "k.cu:add_plain", "reference_grid": [1], "reference_block": [1] }
)json",
               2);
}

TEST_CASE("a layer norm in place in two passes is right; one that leaves or forgets something is not") {
  check_faults(
      R"cuda(#include <cuda_bf16.h>
// Layer norm in place: two passes.
extern "C" __global__ void layer_norm(__nv_bfloat16* x, const float* gain, const float* shift, int m) {
  __nv_bfloat16* row = x + (size_t)blockIdx.x * m;
  float sum = 0, squares = 0;
  for (int i = threadIdx.x; i < m; i += 32) sum += __bfloat162float(row[i]);
  for (int d = 16; d > 0; d /= 2) sum += __shfl_xor_sync(~0u, sum, d);
  const float mean = sum / m;
  for (int i = threadIdx.x; i < m; i += 32) {
    const float d = __bfloat162float(row[i]) - mean;
    squares += d * d;
  }
  for (int d = 16; d > 0; d /= 2) squares += __shfl_xor_sync(~0u, squares, d);
  const float inverse = rsqrtf(squares / m + 1e-5f);
  if (fault == 1) return;
  for (int i = threadIdx.x; i < m; i += 32)
    row[i] = __float2bfloat16((__bfloat162float(row[i]) - mean) * inverse * gain[i] + (fault == 2 ? 0.f : shift[i]));
}
extern "C" __global__ void norm_plain(__nv_bfloat16* x, const float* gain, const float* shift, int m) {
  __nv_bfloat16* row = x + (size_t)blockIdx.x * m;
  double sum = 0, squares = 0;
  for (int i = 0; i < m; ++i) sum += __bfloat162float(row[i]);
  for (int i = 0; i < m; ++i) squares += (__bfloat162float(row[i]) - sum / m) * (__bfloat162float(row[i]) - sum / m);
  for (int i = 0; i < m; ++i)
    row[i] = __double2bfloat16((__bfloat162float(row[i]) - sum / m) / sqrt(squares / m + 1e-5) * gain[i] + shift[i]);
}
)cuda",
      R"json({ "kernel": "k.cu:layer_norm", "genes": {"fault": [0, 1, 2]}, "shapes": [{"R": 20, "M": 96}, {"R": 3, "M": 50}],
  "arguments": ["x=inout bf16[R,M]", "gain=float[M]", "shift=float[M]", "M"],
  "grid": ["R"], "block": [32],
  "reference": "k.cu:norm_plain", "reference_grid": ["R"], "reference_block": [1] }
)json",
      2);
}

namespace {

/// Codes of a symmetric range: up to 127 for 8 bits, 7 for 4.
void check_faults_of_codes(const std::string& greatest) {
  std::string kernel =
      R"cuda(// Each row by its largest magnitude. fault 1: halves away from zero, 2: truncation.
extern "C" __global__ void quantise(signed char* q, float* scale, const float* x, int m) {
  const float* row = x + (size_t)blockIdx.x * m;
  float most = 0;
  for (int i = threadIdx.x; i < m; i += 32) most = fmaxf(most, fabsf(row[i]));
  for (int d = 16; d > 0; d /= 2) most = fmaxf(most, __shfl_xor_sync(~0u, most, d));
  const float s = most / GREATEST;
  if (threadIdx.x == 0) scale[blockIdx.x] = s;
  for (int i = threadIdx.x; i < m; i += 32) {
    const float v = s > 0 ? row[i] / s : 0;
    q[(size_t)blockIdx.x * m + i] = (signed char)(fault == 1 ? roundf(v) : fault == 2 ? truncf(v) : rintf(v));
  }
}
extern "C" __global__ void quantise_plain(signed char* q, float* scale, const float* x, int m) {
  const float* row = x + (size_t)blockIdx.x * m;
  float most = 0;
  for (int i = 0; i < m; ++i) most = fmaxf(most, fabsf(row[i]));
  scale[blockIdx.x] = most / GREATEST;
  for (int i = 0; i < m; ++i) q[(size_t)blockIdx.x * m + i] = most > 0 ? rint((double)row[i] / scale[blockIdx.x]) : 0;
}
)cuda";
  for (std::size_t at; (at = kernel.find("GREATEST")) != std::string::npos;) kernel.replace(at, 8, greatest);
  check_faults(
      kernel,
      R"json({ "kernel": "k.cu:quantise", "genes": {"fault": [0, 1, 2]}, "shapes": [{"R": 9, "M": 96}, {"R": 3, "M": 50}],
  "arguments": ["q=out s8[R,M]", "scale=out float[R]", "x=float[R,M]", "M"],
  "grid": ["R"], "block": [32],
  "reference": "k.cu:quantise_plain", "reference_grid": ["R"], "reference_block": [1] }
)json",
      2);
}

}  // namespace

TEST_CASE("int8 codes of halves rounded away from zero are rejected, whose scale follows from the row") {
  check_faults_of_codes("127.f");
}

TEST_CASE("so are those of 4 bits", "[long]") {
  check_faults_of_codes("7.f");
}

TEST_CASE("so are codes with a scale and a zero point for each column") {
  check_faults(R"cuda(// With a given scale and zero point a channel. fault 1: halves away.
extern "C" __global__ void quantise(unsigned char* q, const float* x, const float* inverse, const int* zero, int m) {
  for (int i = threadIdx.x; i < m; i += 32) {
    const float v = x[(size_t)blockIdx.x * m + i] * inverse[i];
    const float r = (fault == 1 ? roundf(v) : rintf(v)) + zero[i];
    q[(size_t)blockIdx.x * m + i] = (unsigned char)fminf(fmaxf(r, 0.f), 255.f);
  }
}
extern "C" __global__ void quantise_plain(unsigned char* q, const float* x, const float* inverse, const int* zero, int m) {
  for (int i = 0; i < m; ++i) {
    const float r = rintf(x[(size_t)blockIdx.x * m + i] * inverse[i]) + zero[i];
    q[(size_t)blockIdx.x * m + i] = (unsigned char)fminf(fmaxf(r, 0.f), 255.f);
  }
}
)cuda",
               R"json({ "kernel": "k.cu:quantise", "genes": {"fault": [0, 1]}, "shapes": [{"R": 9, "M": 96}],
  "arguments": ["q=out u8[R,M]", "x=float[R,M]", "inverse=float[M]", "zero=int[M] :integers(100, 150)", "M"],
  "grid": ["R"], "block": [32],
  "reference": "k.cu:quantise_plain", "reference_grid": ["R"], "reference_block": [1] }
)json",
               1);
}

TEST_CASE("so are sums that a given scale makes codes") {
  check_faults(R"cuda(// s8 by one scale a column from s32 sums. fault 1: halves away.
extern "C" __global__ void requantise(signed char* y, const int* sums, const float* scale, int m) {
  for (int i = threadIdx.x; i < m; i += 32) {
    const float v = (float)sums[(size_t)blockIdx.x * m + i] * scale[i];
    y[(size_t)blockIdx.x * m + i] = (signed char)fminf(fmaxf(fault == 1 ? roundf(v) : rintf(v), -128.f), 127.f);
  }
}
extern "C" __global__ void requantise_plain(signed char* y, const int* sums, const float* scale, int m) {
  for (int i = 0; i < m; ++i)
    y[(size_t)blockIdx.x * m + i] = (signed char)fminf(fmaxf(rintf((float)sums[(size_t)blockIdx.x * m + i] * scale[i]), -128.f), 127.f);
}
)cuda",
               R"json({ "kernel": "k.cu:requantise", "genes": {"fault": [0, 1]}, "shapes": [{"R": 30, "M": 96}],
  "arguments": ["y=out s8[R,M]", "sums=int[R,M] :integers(-60000, 60000)", "scale=float[M] :uniform(0.0001, 0.003)", "M"],
  "grid": ["R"], "block": [32],
  "reference": "k.cu:requantise_plain", "reference_grid": ["R"], "reference_block": [1] }
)json",
               1);
}

TEST_CASE("masked scores are minus infinity, and not a large number, NaN or nothing") {
  check_faults(
      R"cuda(// Scores above the diagonal are minus infinity. fault 1: a large number instead, 2: they are not written, 3: NaN.
extern "C" __global__ void mask(float* s, const float* x, int n) {
  const int i = blockIdx.x, j = threadIdx.x;
  if (j <= i) s[i * n + j] = 0.5f * x[i * n + j];
  else if (fault != 2) s[i * n + j] = fault == 1 ? -1e30f : fault == 3 ? NAN : -INFINITY;
}
extern "C" __global__ void mask_plain(float* s, const float* x, int n) {
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j) s[i * n + j] = j <= i ? 0.5f * x[i * n + j] : -INFINITY;
}
)cuda",
      R"json({ "kernel": "k.cu:mask", "genes": {"fault": [0, 1, 2, 3]}, "shapes": [{"N": 24}],
  "arguments": ["s=out float[N,N]", "x=float[N,N]", "N"], "grid": ["N"], "block": ["N"],
  "reference": "k.cu:mask_plain", "reference_grid": [1], "reference_block": [1] }
)json",
      3);
}

TEST_CASE("a root is NaN below zero, not zero and not left out") {
  check_faults(R"cuda(// Square roots: NaN of what is below zero. fault 1: zero there, 2: not written there.
extern "C" __global__ void root(float* y, const float* x, int n) {
  const int i = blockIdx.x * 64 + threadIdx.x;
  if (i >= n) return;
  if (fault == 2 && x[i] < 0) return;
  y[i] = sqrtf(fault == 1 ? fmaxf(x[i], 0.f) : x[i]);
}
extern "C" __global__ void root_plain(float* y, const float* x, int n) {
  for (int i = 0; i < n; ++i) y[i] = sqrt((double)x[i]);
}
)cuda",
               R"json({ "kernel": "k.cu:root", "genes": {"fault": [0, 1, 2]}, "shapes": [{"N": 300}],
  "arguments": ["y=out float[N]", "x=float[N]", "N"], "grid": ["ceil_div(N, 64)"], "block": [64],
  "reference": "k.cu:root_plain", "reference_grid": [1], "reference_block": [1] }
)json",
               2);
}

TEST_CASE("an f16 is infinite where the reference is") {
  check_faults(R"cuda(#include <cuda_fp16.h>
// fault 1: saturates where the reference is infinite.
extern "C" __global__ void grow(__half* y, const float* x, int n) {
  const int i = blockIdx.x * 64 + threadIdx.x;
  if (i < n) y[i] = __float2half(fault == 1 ? fminf(expf(3 * x[i]), 65504.f) : expf(3 * x[i]));
}
extern "C" __global__ void grow_plain(__half* y, const float* x, int n) {
  for (int i = 0; i < n; ++i) y[i] = __double2half(exp(3.0 * x[i]));
}
)cuda",
               R"json({ "kernel": "k.cu:grow", "genes": {"fault": [0, 1]}, "shapes": [{"N": 300}],
  "arguments": ["y=out f16[N]", "x=float[N]", "N"], "grid": ["ceil_div(N, 64)"], "block": [64],
  "reference": "k.cu:grow_plain", "reference_grid": [1], "reference_block": [1] }
)json",
               1);
}

TEST_CASE("a histogram that is added to holds every count") {
  check_faults(R"cuda(// fault 1: the last bin is lost; 2: the counts of before are dropped.
extern "C" __global__ void count(int* bins, const float* x, int n, int b) {
  const int i = blockIdx.x * 64 + threadIdx.x;
  if (fault == 2 && i < b) bins[i] = 0;
  if (i >= n) return;
  const int bin = min(max((int)floorf(x[i] * b), 0), b - 1);
  if (fault != 1 || bin < b - 1) atomicAdd(&bins[bin], 1);
}
extern "C" __global__ void count_plain(int* bins, const float* x, int n, int b) {
  for (int i = 0; i < n; ++i) ++bins[min(max((int)floorf(x[i] * b), 0), b - 1)];
}
)cuda",
               R"json({ "kernel": "k.cu:count", "genes": {"fault": [0, 1]}, "shapes": [{"N": 300, "B": 16}],
  "arguments": ["bins=inout int[B] :integers(0, 9)", "x=float[N]", "N", "B"], "grid": ["ceil_div(N, 64)"], "block": [64],
  "reference": "k.cu:count_plain", "reference_grid": [1], "reference_block": [1] }
)json",
               1);
}

TEST_CASE("one pixel in a hundred may be off by one, and truncation is not") {
  check_faults(R"cuda(// Averages of pairs of pixels, to nearest. fault 1: truncated; 2: multiplied in f16.
#include <cuda_fp16.h>
extern "C" __global__ void halve(unsigned char* y, const unsigned char* x, int m) {
  for (int i = threadIdx.x; i < m; i += 32) {
    const float v = (x[2 * i] + x[2 * i + 1]) * 0.37f + 0.1f;
    y[i] = (unsigned char)(fault == 1 ? truncf(v) : rintf(fault == 2 ? __half2float(__float2half(v)) : v));
  }
}
extern "C" __global__ void halve_plain(unsigned char* y, const unsigned char* x, int m) {
  for (int i = 0; i < m; ++i) y[i] = (unsigned char)rint((x[2 * i] + x[2 * i + 1]) * 0.37 + 0.1);
}
)cuda",
               R"json({ "kernel": "k.cu:halve", "genes": {"fault": [0, 1]}, "shapes": [{"M": 500}],
  "arguments": ["y=out u8[M]", "x=u8[2 * M]", "M"], "limits": {"y": {"off_by_one": 0.01}},
  "grid": [1], "block": [32],
  "reference": "k.cu:halve_plain", "reference_grid": [1], "reference_block": [1] }
)json",
               1);
}

namespace {

/// Numbers so close to one that the limit of f16 lets their mean pass.
const std::string kNearOne = R"cuda(#include <cuda_fp16.h>
// fault 1: one everywhere.
extern "C" __global__ void near_one(__half* y, const float* x, int m) {
  for (int i = threadIdx.x; i < m; i += 32)
    y[(size_t)blockIdx.x * m + i] = __float2half(fault == 1 ? 1.f : 1 + 0.002f * tanhf(x[(size_t)blockIdx.x * m + i]));
}
extern "C" __global__ void near_one_plain(__half* y, const float* x, int m) {
  for (int i = 0; i < m; ++i) y[(size_t)blockIdx.x * m + i] = __double2half(1 + 0.002 * tanh((double)x[(size_t)blockIdx.x * m + i]));
}
)cuda";
const std::string kNearOneForm =
    R"json({ "kernel": "k.cu:near_one", "genes": {"fault": [0, 1]}, "shapes": [{"R": 20, "M": 96}],
  "arguments": ["y=out f16[R,M]", "x=float[R,M]", "M"],
  "grid": ["R"], "block": [32],
  "reference": "k.cu:near_one_plain", "reference_grid": ["R"], "reference_block": [1] }
)json";

}  // namespace

TEST_CASE("tune takes the limit that rejects a null answer") {
  const std::string said = check_faults(kNearOne, kNearOneForm, 1);
  CHECK_THAT(said, ContainsSubstring("limits: y: each row's mean would pass"));
  CHECK_THAT(said, ContainsSubstring("rejects it, and is taken"));
}

TEST_CASE("check names the null answers that pass, with the limit that rejects them", "[long]") {
  const Bench bench;
  bench.write("k.cu", kNearOne);
  bench.write("k.json", kNearOneForm);
  CHECK_THAT(bench.json({"check", "k.json"})["limits"][0]["text"].get<std::string>(),
             ContainsSubstring("each row's mean would pass") && ContainsSubstring("rejects it, and is taken"));
  bench.write("k.json", kNearOneForm.substr(0, kNearOneForm.rfind('}')) + R"(, "limits": {"relative_l2": 0.01}})");
  const auto nulls = bench.json({"check", "k.json"})["null_answers"];
  const auto mean =
      std::find_if(nulls.begin(), nulls.end(), [](const auto& each) { return each["what"] == "each row's mean"; });
  REQUIRE(mean != nulls.end());
  CHECK((*mean)["output"] == "y");
  CHECK((*mean)["limit"] < (*mean)["relative_l2"]);
}

TEST_CASE("a limit that the file sets stays, whatever it lets pass") {
  const Bench bench;
  bench.write("k.cu", kNearOne);
  bench.write("k.json", kNearOneForm.substr(0, kNearOneForm.rfind('}')) + R"(, "limits": {"y": {"atol": 0.1}}})");
  const Outcome outcome = bench.evo({"tune", "k.json", "--device", "vgpu", "--evals", "20", "--seed", "1", "--quiet"});
  CHECK_THAT(outcome.out, ContainsSubstring("2 evaluated: 2 valid"));
  CHECK_THAT(bench.evo({"check", "k.json"}).out, ContainsSubstring("limits: y: each row's mean would pass"));
}

TEST_CASE("a layer norm in two passes is right for constant and far rows, one in one pass is not") {
  check_faults(
      R"cuda(// Layer norm. fault 1: in one pass, which loses rows far from zero.
extern "C" __global__ void layer_norm(float* y, const float* x, int m) {
  const float* row = x + (size_t)blockIdx.x * m;
  float sum = 0, squares = 0;
  for (int i = threadIdx.x; i < m; i += 32) { sum += row[i]; squares += row[i] * row[i]; }
  for (int d = 16; d > 0; d /= 2) { sum += __shfl_xor_sync(~0u, sum, d); squares += __shfl_xor_sync(~0u, squares, d); }
  const float mean = sum / m;
  float var = squares / m - mean * mean;
  if (fault == 0) {
    squares = 0;
    for (int i = threadIdx.x; i < m; i += 32) squares += (row[i] - mean) * (row[i] - mean);
    for (int d = 16; d > 0; d /= 2) squares += __shfl_xor_sync(~0u, squares, d);
    var = squares / m;
  }
  const float inverse = rsqrtf(var + 1e-5f);
  for (int i = threadIdx.x; i < m; i += 32) y[(size_t)blockIdx.x * m + i] = (row[i] - mean) * inverse;
}
extern "C" __global__ void norm_plain(float* y, const float* x, int m) {
  const float* row = x + (size_t)blockIdx.x * m;
  double sum = 0, squares = 0;
  for (int i = 0; i < m; ++i) sum += row[i];
  for (int i = 0; i < m; ++i) squares += (row[i] - sum / m) * (row[i] - sum / m);
  for (int i = 0; i < m; ++i) y[(size_t)blockIdx.x * m + i] = (row[i] - sum / m) / sqrt(squares / m + 1e-5);
}
)cuda",
      R"json({ "kernel": "k.cu:layer_norm", "genes": {"fault": [0, 1]}, "shapes": [{"R": 20, "M": 96}, {"R": 3, "M": 50}],
  "arguments": ["y=out float[R,M]", "x=float[R,M]", "M"],
  "grid": ["R"], "block": [32],
  "reference": "k.cu:norm_plain", "reference_grid": ["R"], "reference_block": [1] }
)json",
      1);
}

TEST_CASE("a softmax whose largest value begins at a finite number is rejected") {
  check_faults(R"cuda(// fault 1: the largest value begins at a finite number, which rows may lie below.
extern "C" __global__ void softmax(float* y, const float* x, int m) {
  const float* row = x + blockIdx.x * m;
  float most = fault == 1 ? -3e4f : -INFINITY, sum = 0;
  for (int i = threadIdx.x; i < m; i += 32) most = fmaxf(most, row[i]);
  for (int d = 16; d > 0; d /= 2) most = fmaxf(most, __shfl_xor_sync(~0u, most, d));
  for (int i = threadIdx.x; i < m; i += 32) sum += expf(row[i] - most);
  for (int d = 16; d > 0; d /= 2) sum += __shfl_xor_sync(~0u, sum, d);
  for (int i = threadIdx.x; i < m; i += 32) y[blockIdx.x * m + i] = sum > 0 ? expf(row[i] - most) / sum : 0;
}
extern "C" __global__ void softmax_plain(float* y, const float* x, int m) {
  const float* row = x + blockIdx.x * m;
  double most = row[0], sum = 0;
  for (int i = 1; i < m; ++i) most = fmax(most, (double)row[i]);
  for (int i = 0; i < m; ++i) sum += exp(row[i] - most);
  for (int i = 0; i < m; ++i) y[blockIdx.x * m + i] = exp(row[i] - most) / sum;
}
)cuda",
               R"json({ "kernel": "k.cu:softmax", "genes": {"fault": [0, 1]}, "shapes": [{"R": 12, "M": 100}],
  "arguments": ["y=out float[R,M]", "x=float[R,M]", "M"], "grid": ["R"], "block": [32],
  "reference": "k.cu:softmax_plain", "reference_grid": ["R"], "reference_block": [1] }
)json",
               1);
}

TEST_CASE("an absolute limit of each element is enough, and grows with the inputs of a regime") {
  check_faults(
      R"cuda(// Sums in another order than the reference's, in single precision as that one. fault 1: the last product is missing.
extern "C" __global__ void dots(float* y, const float* a, const float* x, int m) {
  float sum = 0;
  for (int i = threadIdx.x; i < m - fault; i += 32) sum += a[blockIdx.x * m + i] * x[i];
  for (int d = 16; d > 0; d /= 2) sum += __shfl_xor_sync(~0u, sum, d);
  if (threadIdx.x == 0) y[blockIdx.x] = sum;
}
extern "C" __global__ void dots_plain(float* y, const float* a, const float* x, int m) {
  float sum = 0;
  for (int i = 0; i < m; ++i) sum += a[blockIdx.x * m + i] * x[i];
  y[blockIdx.x] = sum;
}
)cuda",
      R"json({ "kernel": "k.cu:dots", "genes": {"fault": [0, 1]}, "shapes": [{"R": 40, "M": 280}],
  "arguments": ["y=out float[R]", "a=float[R,M]", "x=float[M]", "M"], "grid": ["R"], "block": [32],
  "limits": {"atol": 0.0001},
  "reference": "k.cu:dots_plain", "reference_grid": ["R"], "reference_block": [1] }
)json",
      1);
}
