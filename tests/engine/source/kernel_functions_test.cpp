#include "engine/source/kernel_functions.h"

#include <catch2/catch_test_macros.hpp>

using namespace evo;

TEST_CASE("kernels of a source are found whatever stands between __global__ and the name") {
  CHECK(kernel_functions(
            "__global__ void a(int);\ntemplate <class T> __global__ void __launch_bounds__(256, 2)\n b(T* x) {}"
            "__global__ static __attribute__((used)) void c(int) {}  __global__ void a(int) {}") ==
        std::vector<std::string>{"a", "b", "c"});
}

TEST_CASE("names that a source declares extern C are found, one by one and in blocks") {
  CHECK(c_names("__global__ void mangled(int) {}").empty());
  CHECK(c_names("extern \"C\" __global__ void __launch_bounds__(32) k(int x) { f(x); }") ==
        std::vector<std::string>{"k"});
  CHECK(c_names("extern \"C\" __constant__ float table[4];\n  extern \"C\" __device__ int count = 3;") ==
        std::vector<std::string>{"table", "count"});
  CHECK(c_names(
            "extern \"C\" {  // extern \"C\" int no;\n#define NOT this\n__device__ int a[] = {1, 2};\n"
            "__device__ alignas(16) float b;\n/* int c; */ __device__ int d(int x) { return x ? x : 1; }\n}\nint e;") ==
        std::vector<std::string>{"a", "b", "d"});
}

TEST_CASE("kernels that are templates are shown as an instance of theirs") {
  CHECK(kernel_templates("template <typename T, int N>\n__global__ void fill(T* x, T v) {}\n"
                         "template <class A = float, bool kFlag = true, typename... More>\n__launch_bounds__(256) "
                         "__global__ void other() {}\ntemplate <typename T> __device__ T f(T a) { return a; }\n"
                         "__global__ void plain() {}\n") ==
        std::vector<std::string>{"fill<float, 64>", "other<float, true, float>"});
}

TEST_CASE("the parameters of a kernel are counted") {
  const std::string source =
      "__global__ void none() {}\n__global__ void of_c(void);\n// __global__ void k(int) {}\n"
      "__global__ __launch_bounds__(64, 2) void k(const float* x, int (*table)[4], int n) {}\n";
  CHECK(parameter_count(source, "none") == 0);
  CHECK(parameter_count(source, "of_c") == 0);
  CHECK(parameter_count(source, "k") == 3);
  CHECK_FALSE(parameter_count(source, "other"));
}
