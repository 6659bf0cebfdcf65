#include "engine/source/host_code.h"

#include <catch2/catch_test_macros.hpp>
#include <string>

using namespace evo;

TEST_CASE("classes and templates that call what launches kernels are left out with it") {
  const std::string code =
      "template <int T> __global__ void rows(float* y) { y[T] = T; }\n"
      "struct Pair { float a, b; };\n"
      "extern \"C\" void launch_rows(float* y) { rows<1><<<1, 1>>>(y); }\n"
      "class Runner {\n public:\n  void run(float* y) { launch_rows(y); }\n};\n"
      "template <typename T> void launch_any(T* y) { launch_rows(y); }\n"
      "template <typename T> struct Sum { __device__ T operator()(T a, T b) { return a + b; } };\n";
  const std::string left = device_code(code);
  CHECK(left.find("__global__ void rows") != std::string::npos);
  CHECK(left.find("struct Pair") != std::string::npos);
  CHECK(left.find("struct Sum") != std::string::npos);
  CHECK(left.find("launch_") == std::string::npos);
  CHECK(left.find("Runner") == std::string::npos);
}
