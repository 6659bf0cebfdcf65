#include "engine/source/single_precision.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

using namespace evo;
using Catch::Matchers::ContainsSubstring;

TEST_CASE("a kernel's floats compute in single precision; its parameters, pointers, comments and texts stay") {
  const InSinglePrecision rewritten = in_single_precision(
      R"cuda(#include <float.h>
// a double
extern "C" __global__ void f(float* y, const double* x, float eps) {
  const float* row = x;
  double sum = 0; float2 pair;
  for (int i = 0; i < 3; ++i) sum += (double)row[i] * 1e-3;
  printf("a double");
  y[0] = sum;
}
)cuda",
      "f");
  CHECK(rewritten.had_doubles);
  CHECK(rewritten.source == R"cuda(#include <float.h>
// a double
extern "C" __global__ void f(float* y, const double* x, float eps) {
  const float* row = x;
  evo_single sum = 0; float2 pair;
  for (int i = 0; i < 3; ++i) sum += (evo_single)row[i] * 1e-3;
  printf("a double");
  y[0] = sum;
}
)cuda");
}

TEST_CASE("other kernels of the file do nothing, and functions that both call compute in single precision") {
  const InSinglePrecision rewritten = in_single_precision(R"cuda(__device__ float twice(float x) { return 2 * x; }
__global__ void __launch_bounds__(32) tuned(float* y) { if (y) { *y = twice(1); } /* } */ }
__global__ void plain(float* y) { *y = twice(1); }
)cuda",
                                                          "plain");
  CHECK_FALSE(rewritten.had_doubles);
  CHECK(rewritten.source == R"cuda(__device__ evo_single twice(evo_single x) { return 2 * x; }
__global__ void __launch_bounds__(32) tuned(float* y) {}
__global__ void plain(float* y) { *y = twice(1); }
)cuda");
}

TEST_CASE("a source that is in single precision already is rounded at random") {
  CHECK_THAT(single_precision_header({}, true), ContainsSubstring("#define EVO_AT_RANDOM 1"));
  CHECK_THAT(single_precision_header({.operands = DType::bf16}, false), ContainsSubstring("__float2bfloat16(x)"));
  CHECK(single_precision_header({.plain = true}, true) == "using evo_single = float;\n");
}
