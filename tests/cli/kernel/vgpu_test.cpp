#include <cstdint>
#include <limits>

#include "tests/cli/bench.h"

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

TEST_CASE("a source that ends NVRTC, or is beside another file, is compiled in a process of its own") {
  const Bench bench;
  std::filesystem::create_directories(bench / "below");
  bench.write("beside.h", "#define BY 2\n#define NAME \"" + std::string(70'000, 'n') + "\"\n");
  const std::string source = "#include \"../beside.h\"\nextern \"C\" __global__ void k(float* x) { *x = BY; }\n";
  bench.write("below/k.cu", source);
  CHECK(bench.json({"vgpu", "below/k.cu", "--arg", "float[1]:0"})["buffers"][0]["sum"] == 2);
  // NVRTC 13 crashes at a name of so many characters; another one may compile it.
  bench.write("below/k.cu", source + "#line 7 NAME\n");
  const Outcome outcome = bench.evo({"vgpu", "below/k.cu", "--arg", "float[1]:0"});
  if (outcome.code != 0) check_refused(outcome, 2, {"below/k.cu does not compile", "the compiler was killed"});
}

TEST_CASE("a struct by value takes pointers to buffers") {
  const Bench bench;
  bench.write("k.cu", R"(struct Params { char tag; float* x; const float* y; int* none; int n; };
__global__ void k(Params p, float* last) {
  if (p.none == nullptr && p.tag == 7 && threadIdx.x < p.n) p.x[threadIdx.x] += p.y[threadIdx.x] + last[threadIdx.x];
})");
  const auto run =
      bench.json({"vgpu", "k.cu", "--block", "4", "--arg", "{char:7;x=float[4]:ones;float[4]:{1,2,3,4};null;int:3}",
                  "--arg", "x", "--out", "x=x.bin"});
  CHECK(run["buffers"][0]["name"] == "x");
  CHECK(run["buffers"][0]["values"] == nlohmann::json({3, 4, 5, 1}));
  CHECK(run["buffers"][1]["name"] == "arg0_2");
  CHECK(bench.read("x.bin").size() == 16);
  check_refused(bench.evo({"vgpu", "k.cu", "--arg", "{char:7;x;null;null;int:3}", "--arg", "null"}), 2,
                {"x", "buffer"});
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
  check_refused(with({"saxpy", "--arg", "y", "--arg", "null", "--arg", "float:1", "--arg", "unsigned:1"}), 2,
                {"--arg y: no earlier"});
  check_refused(
      with({"saxpy", "--arg", "float[4]:@none.npy", "--arg", "null", "--arg", "float:1", "--arg", "unsigned:1"}), 2,
      {"none.npy"});
  check_refused(with({"saxpy", "--grid", "0"}), 2, {"--grid"});
  check_refused(with({"saxpy", "--device", "cuda:0"}), 3, {"cuda:0"});
  check_refused(with({"saxpy", "--arch", "x"}), 2, {"--arch x", "sm_90"});
  check_refused(with({"saxpy", "--max-instructions", "0"}), 2, {"--max-instructions"});
  for (const char* option : {"--seed", "--print"}) {
    for (const char* number : {"-1", "99999999999999999999", "1x", ""})
      check_refused(with({"saxpy", option, number}), 2, {option, "give a whole number"});
  }
  check_refused(with({"saxpy", "--arg", "float:1"}), 2, {"saxpy takes 4 arguments (float*, float const*, float"});
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

TEST_CASE("an argument that cannot be the kernel's parameter is refused with its number and both types") {
  const Bench bench;
  bench.write("k.cu", R"(struct Pair { int first; double second; };
__global__ void k(float* out, float a, int n, Pair pair) {}
extern "C" __global__ void plain(float* out, float a, int n, double d, unsigned long l) {}
)");
  const auto given = [&](const std::string& kernel, const std::vector<std::string>& arguments) {
    std::vector<std::string> command{"vgpu", "k.cu", "--kernel", kernel};
    for (const std::string& argument : arguments) command.insert(command.end(), {"--arg", argument});
    return bench.evo(command);
  };
  const std::string out = "out=float[4]:zeros", pair = "{int:1;double:2}";
  CHECK(given("k", {out, "float:1", "int:2", pair}).code == 0);
  CHECK(given("k", {"null", "float:1", "unsigned:2", "bytes:00112233445566778899aabbccddeeff"}).code == 0);
  check_refused(given("k", {out, "int:1", "int:2", pair}), 2, {"argument 2 of k is float, int ('int:1') was given"});
  check_refused(given("k", {out, "float:1", "float:2", pair}), 2, {"argument 3 of k is int", "'float:2'"});
  check_refused(given("k", {out, "float:1", "long:2", pair}), 2, {"argument 3 of k is int", "'long:2'"});
  check_refused(given("k", {out, "float:1", "int:2", "{int:1;float:2}"}), 2,
                {"argument 4 of k is Pair (16 bytes), 8 bytes"});
  check_refused(given("k", {"float:1", "float:1", "int:2", pair}), 2, {"argument 1 of k is float*", "'float:1'"});
  check_refused(given("k", {out, "out", "int:2", pair}), 2, {"argument 2 of k is float, the buffer 'out'"});
  CHECK(given("plain", {out, "float:1", "int:2", "double:3", "ulong:4"}).code == 0);
  check_refused(given("plain", {out, "int:1", "int:2", "double:3", "ulong:4"}), 2, {"argument 2 of plain is float"});
  check_refused(given("plain", {out, "float:1", "float:2", "double:3", "ulong:4"}), 2,
                {"argument 3 of plain is an integer of 4 bytes, float"});
  check_refused(given("plain", {out, "float:1", "int:2", "long:3", "ulong:4"}), 2, {"argument 4 of plain is double"});
  check_refused(given("plain", {out, "float:1", "int:2", "double:3", "double:4"}), 2,
                {"argument 5 of plain is an integer or a pointer of 8 bytes, double"});
}

TEST_CASE("variables of the file are set before the first launch and shown and written after the last") {
  const Bench bench;
  bench.write("k.cu", R"(__constant__ float weights[4] = {1, 2, 3, 4};
namespace here { __device__ double scale = 2; }
static __device__ unsigned hits[2];
__global__ void k(float* out) {
  out[threadIdx.x] = weights[threadIdx.x] * here::scale;
  atomicAdd(&hits[0], 1u);
}
)");
  const auto run = [&](std::vector<std::string> more) {
    std::vector<std::string> command{"vgpu", "k.cu", "--block", "4", "--arg", "out=float[4]:zeros"};
    command.insert(command.end(), more.begin(), more.end());
    return command;
  };
  CHECK(bench.json(run({}))["buffers"][0]["values"][3] == 8);
  const auto json = bench.json(run({"--symbol", "weights=float[4]:{10,20,30,40}", "--symbol", "scale=double:0.5",
                                    "--symbol", "hits=unsigned[2]:unset", "--out", "hits=hits.bin"}));
  CHECK(json["buffers"][0]["name"] == "weights");
  CHECK(json["buffers"][1]["values"][0] == 0.5);
  CHECK(json["buffers"][2]["values"][0] == 4);
  CHECK(json["buffers"][2]["changed"] == 1);
  CHECK(json["buffers"][3]["values"][3] == 20);
  CHECK(bench.read("hits.bin").size() == 8);
  check_refused(bench.evo(run({"--symbol", "wights=float:1"})), 2, {"wights", "weights", "here::scale"});
  check_refused(bench.evo(run({"--symbol", "weights=float[5]:ones"})), 2, {"weights", "16 bytes, 20"});
  check_refused(bench.evo(run({"--symbol", "weights=flaot[4]:ones"})), 2, {"--symbol", "flaot"});
  check_refused(bench.evo(run({"--symbol", "weights"})), 2, {"--symbol weights", "NAME=TYPE"});
}

TEST_CASE("options go to NVRTC as they are, and ours give way") {
  const Bench bench;
  bench.write("k.cu", R"(template <class T> concept Small = sizeof(T) == 4;
template <Small T> __device__ T halved(T x) { return x / 2; }
__global__ void k(float* out) { *out = halved(__sinf(1.0f)) + sinf(*out); }
)");
  const std::vector<std::string> plain{"vgpu", "k.cu", "--arg", "out=float[1]:ones"};
  const auto with = [&](const std::vector<std::string>& options) {
    std::vector<std::string> command = plain;
    for (const std::string& option : options) command.insert(command.end(), {"--nvrtc-option", option});
    return command;
  };
  CHECK(bench.evo(plain).code == 2);
  const auto exact = bench.json(with({"--std=c++20"}));
  const auto fast = bench.json(with({"-std=c++20", "--use_fast_math"}));
  CHECK(exact["launches"][0]["warp_instructions"] > fast["launches"][0]["warp_instructions"]);
  check_refused(bench.evo(with({"--no-such-option"})), 2, {"--no-such-option"});
  check_refused(bench.evo(with({"--gpu-architecture=sm_80"})), 2, {"--arch"});
}

TEST_CASE("an endless loop ends at the limit that was given, and its lines are named") {
  const Bench bench;
  bench.write("k.cu", R"(__global__ void spin(int* x) {
  int i = 0;
  while (x[0] == 0) {
    i += x[1];
    if (i == -1) x[2] = i;
  }
}
)");
  const Outcome outcome = bench.evo({"vgpu", "k.cu", "--arg", "x=int[4]:zeros", "--max-instructions", "20000"});
  CHECK(outcome.code == 1);
  CHECK(outcome.out.find("has not ended after 20000 instructions; it runs in lines 3 to 5") != std::string::npos);
  CHECK(outcome.out.find("--max-instructions") != std::string::npos);
  const Outcome watched = bench.evo({"sanitize", "k.cu", "--arg", "x=int[4]:zeros", "--max-instructions", "20000"});
  CHECK(watched.code == 1);
  CHECK(watched.out.find("it runs in lines 3 to 5") != std::string::npos);
}

TEST_CASE("headers of the C and C++ library that kernels include are there") {
  const Bench bench;
  bench.write("k.cu", R"(#include <float.h>
#include <cfloat>
#include <limits.h>
#include <climits>
#include <algorithm>
#include <numeric>
#include <new>
#include <initializer_list>
struct Pair { int a; float b; };
__device__ int total(std::initializer_list<int> v) { int s = 0; for (int x : v) s += x; return s; }
__global__ void k(float* f, int* o, uint n) {
  alignas(Pair) unsigned char room[sizeof(Pair)];
  const Pair* pair = new (room) Pair{3, 2.5f};
  int v[4] = {4, 2, 9, 1};
  std::swap(v[0], v[1]);
  f[0] = FLT_MAX; f[1] = FLT_EPSILON; f[2] = DBL_DIG; f[3] = pair->b;
  o[0] = INT_MAX; o[1] = CHAR_BIT; o[2] = std::max(3, 4) + std::clamp(12, 0, 10); o[3] = total({1, 2, 3});
  o[4] = *std::max_element(v, v + 4); o[5] = std::accumulate(v, v + 4, 0); o[6] = std::gcd(12, 18);
  o[7] = v[0] + pair->a + n;
}
)");
  const auto json =
      bench.json({"vgpu", "k.cu", "--arg", "f=float[4]:zeros", "--arg", "o=int[8]:zeros", "--arg", "uint:5"});
  CHECK(json["buffers"][0]["values"][0].get<float>() == std::numeric_limits<float>::max());
  CHECK(json["buffers"][0]["values"][1].get<float>() == std::numeric_limits<float>::epsilon());
  CHECK(json["buffers"][0]["values"][3] == 2.5);
  const std::vector<int> expected{std::numeric_limits<int>::max(), 8, 14, 6, 9, 16, 6, 10};
  CHECK(json["buffers"][1]["values"].get<std::vector<int>>() == expected);
}

TEST_CASE("a buffer that is read and then written passes memory twice in the model", "[long]") {
  const Bench bench;
  bench.write("k.cu", R"(__global__ void add(float* y, const float* x) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  y[i] += x[i];
}
__global__ void copy(float* y, const float* x) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  y[i] = x[i];
}
)");
  // 64 MB in all: more than L2 holds.
  const auto memory_us = [&](const std::string& kernel) {
    return bench
        .json({"vgpu", "k.cu", "--kernel", kernel, "--grid", "8192", "--block", "1024", "--arg",
               "y=float[8388608]:ones", "--arg", "x=float[8388608]:ones"})["launches"][0]["cost"]["memory_us"]
        .get<double>();
  };
  const double copied = memory_us("copy");
  CHECK(copied > 0);
  CHECK(memory_us("add") / copied > 1.49);
  CHECK(memory_us("add") / copied < 1.51);
}
