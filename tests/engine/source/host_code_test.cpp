#include "engine/source/host_code.h"

#include <catch2/catch_test_macros.hpp>
#include <string>

using namespace evo;

TEST_CASE("host code is what only a compiler for the host reads") {
  for (const char* host :
       {"void f() { k<<<1, 1>>>(); }\n", "namespace py = pybind11;\n", "#include <torch/extension.h>\n",
        "int main() { return 0; }\n", "std::vector<int> a;\n", "using namespace at;\n"})
    CHECK(has_host_code(host));
  for (const char* device : {"#include <cuda_runtime.h>\n__global__ void k() {}\n", "#include <cuda.h>\n",
                             "inline int f(int a) { return a; }\n", "// std::vector<int>\n", "#include \"vector.h\"\n"})
    CHECK_FALSE(has_host_code(device));
}

TEST_CASE("functions that say nothing stay where device code names them, directly or through others") {
  const std::string called = "static int inner(int a) { return a; }\nint outer(int a) { return inner(a); }\n";
  const std::string kernel = "__global__ void k(int* x) { *x = outer(2); }\n";
  const std::string host = "static inline int pick(int w) {\n  return w > 9 ? 512 : 128;\n}\n";
  CHECK(device_code(called + host + kernel) == called + "\n\n\n" + kernel);
  CHECK(device_code("float launch(float* x, int n);\n" + kernel) == "\n" + kernel);
}

TEST_CASE("constants, templates, structs and functions of constant expressions are the device's") {
  const std::string code =
      "constexpr int kWarp = 32;\nconstexpr int cdiv(int a, int b) { return (a + b - 1) / b; }\n"
      "template <typename T> struct Pair { T a; T sum() const { return a; } };\n"
      "struct Shape { int rows; int get() const { return rows; } };\ntypedef float real;\nusing half2x = float;\n"
      "__constant__ float weights[cdiv(7, 2)];\nstatic const int table[] = {1, 2, 3};\n"
      "#define SQUARE(x) ((x) * (x))\n__device__ int f();\n";
  CHECK(device_code(code) == code);
}

TEST_CASE("headers of the host go, those of the compiler and of the author stay") {
  CHECK(
      device_code("#include <torch/extension.h>\n#include <ATen/cuda/CUDAContext.h>\n#include <vector>\n"
                  "#include <cuda_runtime.h>\n#include <cub/cub.cuh>\n#include \"tile.h\"\n#include <cuda_fp16.h>\n") ==
      "\n\n\n\n#include <cub/cub.cuh>\n#include \"tile.h\"\n#include <cuda_fp16.h>\n");
}

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

TEST_CASE("a stretch of code without an end takes no stack, and many functions no more time than they are long") {
  const std::string kernel = "__global__ void k(int* x) { *x = f0(2); }\n";
  for (const std::string& part : {std::string("a"), std::string("a "), std::string("a::"), std::string(" ")}) {
    std::string stretch = "int f0(int a) { return a; }\nint main(";
    while (stretch.size() < 70'000) stretch += part;
    CHECK(has_host_code(stretch + ") {}\ncudaFree(x);\n" + kernel));
    CHECK(device_code(stretch + "\n" + kernel).ends_with(kernel));
  }
  std::string chain = kernel;
  for (int i = 0; i < 2'000; ++i)
    chain += "int f" + std::to_string(i) + "(int a) { return f" + std::to_string(i + 1) + "(a); }\n";
  CHECK(device_code(chain) == chain);
}
