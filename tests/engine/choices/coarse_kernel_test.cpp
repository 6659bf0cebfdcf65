#include "engine/choices/coarse_kernel.h"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

using namespace evo;
using Catch::Matchers::ContainsSubstring;

namespace {

/// A kernel k of this body; empty: it has no form for several blocks.
std::string coarse(const std::string& body, const std::string& ahead = "") {
  const auto made =
      coarse_kernel(ahead + "__global__ void k(float* y, const float* x, int n) {\n" + body + "\n}\n", "k", true);
  return made ? made->kernel : "";
}

const std::string kPlace = "const int i = blockIdx.x * blockDim.x + threadIdx.x;\n";

}  // namespace

TEST_CASE("a loop whose bounds are the same for several blocks is passed once for all of them") {
  const std::string kernel = coarse(
      "int row = blockIdx.y, column = blockIdx.x * 16 + threadIdx.x;\n"
      "if (column >= n) return;\n"
      "float sum = 0, scale = x[0];\n"
      "for (int k = 0; k < n; ++k) { const float* p = x + k * n; sum += x[row * n + k] * p[column]; }\n"
      "y[row * n + column] = sum * scale;");
  CHECK_THAT(kernel, ContainsSubstring("int row[evo_all];"));
  CHECK_THAT(kernel, ContainsSubstring("evo_each row[evo_v] = evo_block_y;"));
  CHECK_THAT(kernel, ContainsSubstring("evo_any = evo_any || (column[evo_v] >= n);"));
  CHECK_THAT(kernel, ContainsSubstring("  for (int k = 0; k < n; ++k) {\n"));
  CHECK_THAT(kernel, ContainsSubstring("const float * p = x + k * n;"));  // Once for all blocks.
  CHECK_THAT(kernel, ContainsSubstring("evo_each { sum[evo_v] += x[row[evo_v] * n + k] * p[column[evo_v]]; }"));
  CHECK_THAT(kernel, ContainsSubstring("float scale = x[0];"));
}

TEST_CASE("a loop that differs from block to block is passed for each of them") {
  const std::string kernel = coarse(kPlace +
                                    "int steps = 0;\nfor (int j = i; j < n; j += 7) { float v = x[j]; if (v > 0) "
                                    "++steps; }\nif (i < n) y[i] = steps;");
  CHECK_THAT(kernel, ContainsSubstring("evo_each { for (int j = i[evo_v]; j < n; j += 7) { float v = x[j]; if (v > 0) "
                                       "++steps[evo_v]; } }"));
  CHECK_THAT(kernel, ContainsSubstring("int steps[evo_all];"));
}

TEST_CASE("a counter that blocks change differently is one for each of them") {
  const std::string kernel = coarse(kPlace + "for (int k = 0; k < n; ++k) { if (x[i] > k) k += 2; y[i] = k; }");
  CHECK_THAT(kernel, ContainsSubstring("evo_each { for (int k = 0;"));
  CHECK_THAT(coarse(kPlace + "float s = 0;\nint old = atomicAdd((int*)y, 1);\ny[i] = old + s;"),
             ContainsSubstring("int old[evo_all];"));
}

TEST_CASE("a kernel's template arguments, linkage and macros stay when it does several blocks") {
  const auto made = coarse_kernel(
      "#define WIDTH 4\ntemplate <class T, int ROWS = 2>\n__global__ void k(T* y) {\n  y[blockIdx.x] = ROWS * "
      "gridDim.x;\n}\n",
      "k", false);
  REQUIRE(made);
  CHECK_THAT(made->kernel, ContainsSubstring("evo_one<T, ROWS>(y, make_uint3("));
  CHECK_THAT(made->kernel,
             ContainsSubstring("template <class T, int ROWS = 2>\n__global__ void k(T* y, const unsigned"));
  CHECK_THAT(made->source, ContainsSubstring("evo_head(T* y evo_more) {\n  y[evo_block.x] = ROWS * evo_grid.x;"));
  CHECK(!made->along_y);
  const auto linked = coarse_kernel("extern \"C\" __global__ void k(float* y) { y[blockIdx.x] = 1; }", "k", false);
  REQUIRE(linked);
  CHECK_THAT(linked->kernel, ContainsSubstring("extern \"C\" __global__ void k("));
  CHECK(std::ranges::count(linked->source, '\n') == 0);
}

TEST_CASE("kernels whose threads work together, and code that is not understood, have no form for several blocks") {
  CHECK(!coarse(kPlace + "y[i] = x[i];").empty());
  for (const char* body :
       {"__shared__ float s[4]; y[blockIdx.x] = s[0];", "y[blockIdx.x] = __shfl_xor_sync(~0u, x[blockIdx.x], 1);",
        "__syncthreads(); y[blockIdx.x] = 1;",
        "y[threadIdx.x] = 1;",                                             // No place of a block.
        "y[0] = 1; if (blockIdx.x > 3) return; y[1] = 2;",                 // Leaves after a store.
        "for (int k = 0; k < n; ++k) { if (x[blockIdx.x] > k) return; }",  // In a loop.
        "n += blockIdx.x; y[n] = 1;",                                      // A parameter changes.
        "auto at = blockIdx.x; y[at] = 1;",                                // Of an unknown type.
        "const float values[2] = {1, x[blockIdx.x]}; y[blockIdx.x] = values[1];",
        "const float& first = x[blockIdx.x]; y[blockIdx.x] = first;", "struct P { int a; }; P p; y[blockIdx.x] = p.a;",
        "auto f = [&](int j) { return x[j]; }; y[blockIdx.x] = f(1);", "asm(\"\"); y[blockIdx.x] = 1;",
        "printf(\"%d\", blockIdx.x);", "again: y[blockIdx.x] += 1; if (n > 3) goto again;",
        "dim3 place = blockIdx; y[place.x] = 1;", "y[blockIdx.x] = 1"}) {
    INFO(body);
    CHECK(coarse(body).empty());
  }
  CHECK(coarse(kPlace + "y[i] = f();", "__device__ float f() { return blockIdx.x; }\n").empty());
  CHECK(!coarse_kernel("namespace a { __global__ void k(float* y) { y[blockIdx.x] = 1; } }", "k", false));
  CHECK(!coarse_kernel("__global__ void k() { }", "k", false));
  const auto nested = [](std::size_t depth) {
    return coarse(std::string(depth, '{') + "y[blockIdx.x] = 1;" + std::string(depth, '}'));
  };
  CHECK(!nested(20).empty());
  CHECK(nested(100'000).empty());
  CHECK(!coarse_kernel("__global__ void k(float* y) {", "k", false));
}
