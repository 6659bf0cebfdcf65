#include <catch2/catch_test_macros.hpp>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

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
  std::vector<std::string> arguments{"vgpu",     "k.cu",
                                     "--kernel", "saxpy",
                                     "--grid",   "2",
                                     "--block",  "64",
                                     "--arg",    "y=float[100]:iota",
                                     "--arg",    "x=float[100]:{2,4}",
                                     "--arg",    "float:0.5",
                                     "--arg",    "unsigned:100"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

}  // namespace

TEST_CASE("evo vgpu runs a kernel and prints its results, its output and its modelled cost") {
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

TEST_CASE("evo vgpu runs several kernels on the same buffers, also template instances and kernels of included files") {
  const Bench bench;
  bench.write("k.cu", kSaxpy);
  const Outcome first = bench.evo(saxpy({"--then", "--kernel", "scale<float>", "--block", "100", "--arg", "y", "--arg",
                                         "float:2", "--out", "y=y.npy", "--out", "x=x.bin"}));
  CHECK(first.code == 0);
  CHECK(bench.read("x.bin").size() == 400);
  const auto again = bench.json(
      {"vgpu", "k.cu", "--kernel", "scale<float>", "--block", "100", "--arg", "y=float[]:@y.npy", "--arg", "float:10"});
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

TEST_CASE("evo vgpu names a kernel as its source does, also where the mangled name could be that of a type") {
  const Bench bench;
  bench.write("k.cu", "extern \"C\" __global__ void f(int* out) { *out = 1; }\n");
  CHECK(bench.json({"vgpu", "k.cu", "--arg", "out=int[1]:zeros"})["launches"][0]["kernel"] == "f");
}

TEST_CASE("evo vgpu names the limit of a block that a launch exceeds") {
  const Bench bench;
  bench.write("k.cu", "__global__ void k(int* out) { *out = 1; }\n");
  const Outcome outcome = bench.evo({"vgpu", "k.cu", "--block", "1,1,65", "--arg", "out=int[1]:zeros"});
  CHECK(outcome.code == 1);
  CHECK(outcome.out.find("a block of 65 threads in z: 1 to 64 are possible") != std::string::npos);
}

TEST_CASE("evo vgpu refuses wrong input with a message of one line") {
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
  check_refused(with({"saxpy", "--arch", "x"}), 2, {"--arch x", "sm_90"});
  for (const char* option : {"--seed", "--print"}) {
    for (const char* number : {"-1", "99999999999999999999", "1x", ""})
      check_refused(with({"saxpy", option, number}), 2, {option, "give a whole number"});
  }
  const Outcome few = with({"saxpy", "--arg", "float:1"});
  CHECK(few.code == 1);
  CHECK(few.out.find("takes 4 arguments") != std::string::npos);
}

TEST_CASE("a number that an argument's type does not hold is refused, not changed") {
  const Bench bench;
  bench.write("k.cu", "template <class T> __global__ void k(T x) {}\n");
  const auto passed = [&](const std::string& type, const std::string& argument) {
    return bench.evo({"vgpu", "k.cu", "--kernel", "k<" + type + ">", "--arg", argument});
  };
  check_refused(passed("int", "int:99999999999999"), 2, {"-2147483648 to 2147483647", "99999999999999"});
  check_refused(passed("int", "int:0x1ffffffff"), 2, {"-2147483648 to 2147483647"});
  check_refused(passed("int", "int:1.9"), 2, {"whole numbers", "1.9"});
  check_refused(passed("int", "int:nan"), 2, {"whole numbers", "nan"});
  check_refused(passed("unsigned char", "uchar:300"), 2, {"0 to 255", "300"});
  check_refused(passed("unsigned char", "uchar:-1"), 2, {"0 to 255", "-1"});
  check_refused(passed("bool", "bool:0.5"), 2, {"bool", "0.5"});
  check_refused(passed("unsigned long", "ulong:-1"), 2, {"0 to 18446744073709551615", "-1"});
  check_refused(passed("long", "long:18446744073709551615"), 2, {"to 9223372036854775807", "18446744073709551615"});
  check_refused(passed("long", "long:-18446744073709551615"), 2, {"no number of 64 bits"});
  check_refused(passed("double", "double:1e999"), 2, {"no number of 64 bits"});
  check_refused(passed("float", "float:1e39"), 2, {"float", "1e+39"});
  check_refused(passed("int2", "int2:1,3000000000"), 2, {"3000000000"});
  check_refused(passed("int", "{int:3000000000}"), 2, {"3000000000"});
}

TEST_CASE("the least and greatest numbers of each type are passed unchanged") {
  const Bench bench;
  bench.write("k.cu", "template <class T> __global__ void k(T* x) { volatile T held = *x; *x = held; }\n");
  const auto value_of = [&](const std::string& type, const std::string& written, const std::string& number) {
    return bench.json(
        {"vgpu", "k.cu", "--kernel", "k<" + type + ">", "--arg", written + "[1]:" + number})["buffers"][0]["values"][0];
  };
  CHECK(value_of("unsigned long", "ulong", "18446744073709551615") == 18446744073709551615u);
  CHECK(value_of("unsigned long", "ulong", "iota(9223372036854775809,1)") == 9223372036854775809u);
  CHECK(value_of("long", "long", "-9223372036854775808") == std::numeric_limits<std::int64_t>::min());
  CHECK(value_of("int", "int", "-0x80000000") == -2147483648);
  CHECK(value_of("int", "int", "1e3") == 1000);
  CHECK(value_of("unsigned char", "uchar", "255") == 255);
  CHECK(value_of("float", "float", "inf").is_null());
}

TEST_CASE("a filling that does not fit its buffer is refused, not changed") {
  const Bench bench;
  bench.write("k.cu", "template <class T> __global__ void k(T* x) {}\n");
  const auto filled = [&](const std::string& type, const std::string& argument) {
    return bench.evo({"vgpu", "k.cu", "--kernel", "k<" + type + ">", "--arg", argument});
  };
  check_refused(filled("float", "x=float[4]:{1,2,3,4,5}"), 2, {"'x'", "4 elements", "5 numbers"});
  check_refused(filled("float4", "x=float4[1]:{1,2,3,4,5}"), 2, {"'x'", "4 elements", "5 numbers"});
  CHECK(filled("float4", "x=float4[1]:{1,2,3,4}").code == 0);
  check_refused(filled("char", "x=char[2]:{1,128}"), 2, {"'x'", "-128 to 127", "128"});
  check_refused(filled("int", "x=int[2]:1.5"), 2, {"'x'", "whole numbers", "1.5"});
  check_refused(filled("char", "x=char[200]:iota"), 2, {"'x'", "not 128"});
  check_refused(filled("int", "x=int[4]:iota(0,0.5)"), 2, {"'x'", "not 0.5"});
  check_refused(filled("unsigned char", "x=uchar[257]:shuffle"), 2, {"'x'", "not 256"});
  check_refused(filled("unsigned char", "x=uchar[1000]:uniform(0,300)"), 2, {"'x'", "0 to 255"});
  CHECK(filled("unsigned char", "x=uchar[1000]:uniform(0,256)").code == 0);
  check_refused(filled("char", "x=char[1000]:normal(0,1000)"), 2, {"'x'", "-128 to 127"});
  CHECK(filled("char", "x=char[1000]:normal(0,10)").code == 0);
}

TEST_CASE("a buffer of more elements than can be counted is refused") {
  const Bench bench;
  bench.write("k.cu", "__global__ void k(long* x) {}\n");
  for (const char* dims : {"4294967296,4294967296", "65536,65536,65536,65536", "4294967296,2", "4294967297"})
    check_refused(bench.evo({"vgpu", "k.cu", "--arg", "o=long[" + std::string(dims) + "]:unset"}), 2,
                  {"--arg", "elements"});
  check_refused(bench.evo({"vgpu", "k.cu", "--arg", "o=long[4294967296]:unset"}), 2, {"'o'", "too large"});
}
