#include <catch2/catch_test_macros.hpp>

#include "bench.h"

using namespace evo::testing;

namespace {

constexpr const char* kSaxpy = R"(#include <cstdint>
#include <cstdio>
__global__ void saxpy(float* y, const float* x, float a, uint32_t n) {
  const uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] += a * x[i];
  if (i == 0) printf("n is %u\n", n);
}
template <class T> __global__ void scale(T* y, T a) { y[threadIdx.x] *= a; }
struct Pair { int first; double second; };
__global__ void sum(double* out, Pair pair, float4 v) { *out = pair.first + pair.second + v.w; }
)";

std::vector<std::string> saxpy(std::vector<std::string> more = {}) {
  std::vector<std::string> arguments{"vgpu",  "k.cu",    "--kernel", "saxpy",           "--grid", "2",
                                     "--block", "64",    "--arg",    "y=float[100]:iota", "--arg",  "x=float[100]:{2,4}",
                                     "--arg", "float:0.5", "--arg",  "unsigned:100"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

}  // namespace

TEST_CASE("evo vgpu runs somebody's kernel: results, what it prints, modelled cost") {
  const Bench bench;
  bench.write("k.cu", kSaxpy);
  const auto json = bench.json(saxpy());
  CHECK(json["ok"] == true);
  CHECK(json["launches"][0]["printed"] == "n is 100\n");
  CHECK(json["launches"][0]["finding"].is_null());
  CHECK(json["launches"][0]["cost"]["timing"] == "modelled");
  CHECK(json["launches"][0]["cost"]["latency_us"].get<double>() > 0);
  CHECK(json["buffers"][0]["name"] == "y");
  CHECK(json["buffers"][0]["changed"] == 2);
  CHECK(json["buffers"][0]["values"][0] == 1);
  CHECK(json["buffers"][0]["values"][1] == 3);
  CHECK(json["buffers"][0]["sum"] == 4953);
  CHECK(json["buffers"][1]["changed"] == 0);
}

TEST_CASE("evo vgpu runs kernels after each other on the same buffers, instances of templates and files included") {
  const Bench bench;
  bench.write("k.cu", kSaxpy);
  const Outcome first = bench.evo(saxpy({"--then", "--kernel", "scale<float>", "--block", "100", "--arg", "y", "--arg",
                                         "float:2", "--out", "y=y.npy", "--out", "x=x.bin"}));
  CHECK(first.code == 0);
  CHECK(bench.read("x.bin").size() == 400);
  const auto again = bench.json({"vgpu", "k.cu", "--kernel", "scale<float>", "--block", "100", "--arg",
                                 "y=float[]:@y.npy", "--arg", "float:10"});
  CHECK(again["buffers"][0]["dims"][0] == 100);
  CHECK(again["buffers"][0]["values"][1] == 60);
  const auto structs = bench.json({"vgpu", "k.cu", "--kernel", "sum", "--arg", "double[1]:zeros", "--arg",
                                   "{int:3;double:0.25}", "--arg", "float4:1,2,3,4"});
  CHECK(structs["buffers"][0]["name"] == "arg0");
  CHECK(structs["buffers"][0]["values"][0] == 7.25);
}

TEST_CASE("evo vgpu reports a finding and exits with 1") {
  const Bench bench;
  bench.write("k.cu", kSaxpy);
  const Outcome outcome = bench.evo({"vgpu", "k.cu", "--kernel", "saxpy", "--block", "64", "--arg", "y=float[10]:zeros",
                                     "--arg", "x=float[64]:ones", "--arg", "float:1", "--arg", "unsigned:64"});
  CHECK(outcome.code == 1);
  CHECK(outcome.out.find("line 5") != std::string::npos);
  CHECK(outcome.out.find("'y'") != std::string::npos);
}

TEST_CASE("evo vgpu names a kernel as its source does, also where the name would be a type's in mangled form") {
  const Bench bench;
  bench.write("k.cu", "extern \"C\" __global__ void f(int* out) { *out = 1; }\n");
  CHECK(bench.json({"vgpu", "k.cu", "--arg", "out=int[1]:zeros"})["launches"][0]["kernel"] == "f");
}

TEST_CASE("evo vgpu says which limit of a block a launch breaks") {
  const Bench bench;
  bench.write("k.cu", "__global__ void k(int* out) { *out = 1; }\n");
  const Outcome outcome = bench.evo({"vgpu", "k.cu", "--block", "1,1,65", "--arg", "out=int[1]:zeros"});
  CHECK(outcome.code == 1);
  CHECK(outcome.out.find("a block of 65 threads in z: 1 to 64 are possible") != std::string::npos);
}

TEST_CASE("evo vgpu says in one line what is wrong with what it is given") {
  const Bench bench;
  bench.write("k.cu", kSaxpy);
  bench.write("broken.cu", "__global__ void k() { return 1 }\n");
  const std::vector<std::string> kernel{"vgpu", "k.cu", "--kernel"};
  const auto with = [&](std::vector<std::string> more) {
    std::vector<std::string> all = kernel;
    all.insert(all.end(), more.begin(), more.end());
    return bench.evo(all);
  };
  check_refused(bench.evo({"vgpu", "none.cu"}), 2, {"none.cu"});
  check_refused(bench.evo({"vgpu", "broken.cu"}), 2, {"broken.cu(1)"});
  check_refused(with({"nothing"}), 2, {"nothing", "saxpy"});
  check_refused(with({"scale"}), 2, {"scale<float>"});
  check_refused(with({"saxpy", "--arg", "flaot:1"}), 2, {"flaot", "float"});
  check_refused(with({"saxpy", "--arg", "float[10]:normall"}), 2, {"normall", "normal"});
  check_refused(with({"saxpy", "--arg", "float[]:zeros"}), 2, {"how many"});
  check_refused(with({"saxpy", "--arg", "y"}), 2, {"y"});
  check_refused(with({"saxpy", "--arg", "float[4]:@none.npy"}), 2, {"none.npy"});
  check_refused(with({"saxpy", "--grid", "0"}), 2, {"--grid"});
  check_refused(with({"saxpy", "--device", "cuda:0"}), 3, {"cuda:0"});
  const Outcome few = with({"saxpy", "--arg", "float:1"});
  CHECK(few.code == 1);
  CHECK(few.out.find("takes 4 arguments") != std::string::npos);
}
