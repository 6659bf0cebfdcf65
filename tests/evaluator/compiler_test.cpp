#include "evaluator/compile/compiler.h"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <set>
#include <string>
#include <variant>

#include "engine/base/error.h"
#include "evaluator/compile/cubin.h"
#include "evaluator/compile/nvrtc.h"
#include "evaluator/compile/nvrtc_compiler.h"
#include "evaluator/compile/ptx_text.h"
#include "evaluator/compile/toolkit_headers.h"

using namespace evo;
using Catch::Matchers::ContainsSubstring;

namespace {

Compiler* nvrtc() {
  static const std::unique_ptr<Compiler> compiler = [] {
    try {
      return make_nvrtc_compiler();
    } catch (const Error&) {
      return std::unique_ptr<Compiler>();
    }
  }();
  if (!compiler) SKIP("no NVRTC on this machine");
  return compiler.get();
}

Binary compiled(std::string_view source, std::string_view arch = "sm_90a", int max_registers = 0) {
  auto result = nvrtc()->compile(source, arch, max_registers);
  if (const Failure* failure = std::get_if<Failure>(&result)) FAIL(failure->reason << "\n" << failure->log);
  return std::get<Binary>(std::move(result));
}

Failure refused(std::string_view source, std::string_view arch = "sm_90a") {
  auto result = nvrtc()->compile(source, arch, 0);
  REQUIRE(std::holds_alternative<Failure>(result));
  return std::get<Failure>(std::move(result));
}

std::variant<Binary, Failure> built(const std::string& source, const std::vector<std::string>& kernels) {
  SourceRequest request;
  request.source = source;
  request.kernels = kernels;
  return nvrtc()->compile(request);
}

bool has_toolkit() {
  const NvrtcEnvironment environment = NvrtcEnvironment::of_process();
  return !toolkit_include_folders(environment, load_nvrtc(environment).path).empty();
}

constexpr const char* kScale = R"(extern "C" __global__ void scale(float* x, float by) { x[threadIdx.x] *= by; })";

// Keeps 128 values alive over a loop, so that a cap of 32 registers must spill.
constexpr const char* kHungry = R"(extern "C" __global__ void hungry(float* x, int n) {
  float held[128];
  for (int i = 0; i < 128; ++i) held[i] = x[i * n + threadIdx.x];
  for (int j = 0; j < n; ++j) {
#pragma unroll
    for (int i = 0; i < 128; ++i) held[i] = held[i] * x[j] + held[(i + 7) % 128];
  }
  float sum = 0;
  for (int i = 0; i < 128; ++i) sum += held[i];
  x[threadIdx.x] = sum;
})";

}  // namespace

TEST_CASE("one compilation gives cubin, PTX and resources") {
  const Binary binary = compiled(
      R"(extern "C" __global__ void reverse(float* x) {
           __shared__ float tile[256];
           tile[threadIdx.x] = x[threadIdx.x];
           __syncthreads();
           x[threadIdx.x] = tile[255 - threadIdx.x];
         })");
  REQUIRE(binary.cubin.size() > 64);
  CHECK(binary.cubin[1] == std::byte{'E'});
  CHECK_THAT(binary.ptx, ContainsSubstring(".entry reverse"));
  CHECK_THAT(binary.ptx, ContainsSubstring(".loc"));
  CHECK(binary.ptx.find('\0') == std::string::npos);
  CHECK(binary.arch == "sm_90a");
  CHECK(binary.build.arch == "sm_90a");
  CHECK(binary.build.largest().registers > 0);
  CHECK(binary.build.largest().spill_bytes == 0);
  CHECK(binary.build.largest().static_smem_bytes == 1024);
  CHECK(binary.build.cubin_hash.size() == 32);
  CHECK(binary.build.compile_ms > 0);
  CHECK_THAT(binary.build.log, ContainsSubstring("Compiling entry function 'reverse'"));
}

TEST_CASE("other architectures compile too") {
  CHECK_THAT(compiled(kScale, "sm_89").ptx, ContainsSubstring(".target sm_89"));
  CHECK_THAT(compiled(kScale, "sm_90a").ptx, ContainsSubstring(".target sm_90a"));
}

TEST_CASE("a register cap is obeyed and its spills are reported") {
  const Binary free = compiled(kHungry);
  const Binary capped = compiled(kHungry, "sm_90a", 32);
  CHECK(free.build.largest().registers > 128);
  CHECK(free.build.largest().spill_bytes == 0);
  CHECK(capped.build.largest().registers <= 32);
  CHECK(capped.build.largest().spill_bytes > 0);
  CHECK(capped.build.cubin_hash != free.build.cubin_hash);
}

TEST_CASE("a function that two kernels call counts for each as it is compiled for that one, whatever their order") {
  const std::string function = R"(__device__ __noinline__ void work(float* y, const float* x, int n) {
  float a[60];
#pragma unroll
  for (int j = 0; j < 60; ++j) a[j] = x[(threadIdx.x + j) % n];
#pragma unroll
  for (int r = 0; r < 3; ++r)
#pragma unroll
    for (int j = 0; j < 60; ++j) a[j] = a[j] * a[(j + 7) % 60] + a[(j + 1) % 60];
  float s = 0;
#pragma unroll
  for (int j = 0; j < 60; ++j) s += a[j];
  y[threadIdx.x] = s;
}
)";
  const std::string roomy = R"(extern "C" __global__ void roomy(float* y, const float* x, int n) { work(y, x, n); }
)";
  const std::string tight =
      R"(extern "C" __global__ void __launch_bounds__(1024, 2) tight(float* y, const float* x, int n) { work(y, x, n); }
)";
  for (const std::string& source : {function + roomy + tight, function + tight + roomy}) {
    const Binary binary = compiled(source);
    CHECK(binary.build.kernel("roomy").spill_bytes == 0);
    CHECK(binary.build.kernel("tight").spill_bytes > 0);
  }
}

TEST_CASE("the same source gives the same bytes, and the hash ignores text without effect") {
  const Binary first = compiled(kScale);
  const Binary again = compiled(kScale);
  CHECK(first.cubin == again.cubin);
  CHECK(first.build.log == again.build.log);
  const Binary commented = compiled("// a comment\n\n" + std::string(kScale));
  CHECK(commented.cubin != first.cubin);
  CHECK(commented.build.cubin_hash == first.build.cubin_hash);
  const Binary capped = compiled(kScale, "sm_90a", 128);
  CHECK(capped.build.cubin_hash == first.build.cubin_hash);
}

TEST_CASE("programs that differ in code, constant or shared memory have different hashes") {
  const auto hash = [](const std::string& body) {
    return compiled("extern \"C\" __global__ void k(float* x, int n) {" + body + "}").build.cubin_hash;
  };
  const std::string base = hash("x[threadIdx.x] = 1.0f;");
  CHECK(hash("x[threadIdx.x] = 2.0f;") != base);
  CHECK(hash("x[threadIdx.x + 1] = 1.0f;") != base);
  CHECK(hash("__shared__ float s[64]; s[threadIdx.x] = n; __syncthreads(); x[threadIdx.x] = s[n];") !=
        hash("__shared__ float s[32]; s[threadIdx.x] = n; __syncthreads(); x[threadIdx.x] = s[n];"));
}

TEST_CASE("a front end error is a failure that names the line") {
  const Failure failure = refused("extern \"C\" __global__ void k(float* x) {\n  x[0] = nowhere;\n}\n");
  CHECK(failure.verdict == Verdict::compile_failed);
  CHECK(failure.reason == "kernel.cu(2): error: identifier \"nowhere\" is undefined");
  CHECK_THAT(failure.log, ContainsSubstring("1 error detected"));
  CHECK_FALSE(failure.device_lost);
}

TEST_CASE("a ptxas error is a failure") {
  const Failure failure = refused(R"(extern "C" __global__ void k() { asm volatile("no.such.instruction;"); })");
  CHECK(failure.verdict == Verdict::compile_failed);
  CHECK_THAT(failure.reason, ContainsSubstring("error"));
}

TEST_CASE("a source without kernels is a failure") {
  CHECK_THAT(refused("__device__ float twice(float x) { return 2 * x; }").reason, ContainsSubstring("no __global__"));
  CHECK(refused("").verdict == Verdict::compile_failed);
}

TEST_CASE("static shared memory beyond 48 KB is refused by the compiler") {
  const Failure failure = refused(
      "extern \"C\" __global__ void k(float* x) { __shared__ float tile[100000]; tile[threadIdx.x] = x[0]; "
      "__syncthreads(); x[0] = tile[int(x[1])]; }");
  CHECK(failure.verdict == Verdict::compile_failed);
}

TEST_CASE("an architecture that NVRTC does not know is the machine's fault") {
  CHECK_THROWS_AS(nvrtc()->compile(kScale, "sm_20", 0), Error);
  CHECK_THROWS_AS(nvrtc()->compile(kScale, "sm_", 0), Error);
  CHECK_THROWS_AS(nvrtc()->compile(kScale, "h200", 0), Error);
}

TEST_CASE("wgmma under register pressure is reported as a performance warning") {
  const Binary binary =
      compiled(R"(extern "C" __global__ void w(float* x, unsigned long long a, unsigned long long b, int n) {
    float d[4] = {x[0], x[1], x[2], x[3]};
    for (int i = 0; i < n; ++i) {
      asm volatile("wgmma.fence.sync.aligned;");
      asm volatile("wgmma.mma_async.sync.aligned.m64n8k32.f32.e4m3.e4m3 {%0,%1,%2,%3}, %4, %5, 1, 1, 1;"
                   : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "l"(a), "l"(b));
      d[0] *= 2.0f;
      asm volatile("wgmma.commit_group.sync.aligned;");
      asm volatile("wgmma.wait_group.sync.aligned 0;");
    }
    for (int i = 0; i < 4; ++i) x[i] = d[i];
  })");
  CHECK_FALSE(binary.build.kernel("w").warning.empty());
  CHECK(compiled(kScale).build.largest().warning == "");
}

TEST_CASE("the compiler reports the version and path of NVRTC") {
  CHECK(nvrtc()->version().find('.') != std::string::npos);
  CHECK_THAT(load_nvrtc(NvrtcEnvironment::of_process()).path, ContainsSubstring("libnvrtc"));
}

TEST_CASE("kernels are found by their C++ names, whatever their linkage") {
  const std::string source = R"(extern "C" __global__ void plain(float* x) { x[0] = 1; }
__global__ void mangled(float* x) { x[0] = 2; }
namespace ns { __global__ void inside(float* x) { x[0] = 3; } }
namespace { __global__ void unnamed(float* x) { x[0] = 4; } }
static __global__ void hidden(float* x) { x[0] = 5; }
template <class T, int N> __global__ void reduce(T* x) { x[0] = N; })";
  const std::vector<std::string> names = {"plain",   "mangled", "ns::inside",         "inside",
                                          "unnamed", "hidden",  "reduce<float, 256>", "reduce<int,2>"};
  const auto result = built(source, names);
  REQUIRE(std::holds_alternative<Binary>(result));
  const Build& build = std::get<Binary>(result).build;
  const auto all = ptx_text::kernels(std::get<Binary>(result).ptx);
  CHECK(all.size() == 7);
  for (const std::string& name : names) {
    INFO(name);
    CHECK(std::ranges::count(all, build.ptx_name(name)) == 1);
  }
  CHECK(build.ptx_name("reduce<float, 256>") == "_Z6reduceIfLi256EEvPT_");
  CHECK(build.ptx_name("plain") == "plain");
}

TEST_CASE("a kernel that is not there is reported with those that are") {
  const std::string source = R"(__global__ void scale(float* x) { x[0] = 2; }
namespace ns { __global__ void gather(float* x) { x[0] = 3; } }
__global__ void twice(float* x) { x[0] = 2; }
__global__ void twice(int* x) { x[0] = 2; }
template <class T, int N> __global__ void reduce(T* x) { static_assert(N > 1, "too small"); x[0] = N; })";
  const auto reason = [&](const std::string& kernel) {
    const auto result = built(source, {"scale", kernel});
    REQUIRE(std::holds_alternative<Failure>(result));
    CHECK(std::get<Failure>(result).verdict == Verdict::compile_failed);
    return std::get<Failure>(result).reason;
  };
  CHECK_THAT(reason("scal"), ContainsSubstring("the program has no kernel scal; there are: ") &&
                                 ContainsSubstring("scale") && ContainsSubstring("ns::gather"));
  CHECK_THAT(reason("twice"), ContainsSubstring("several kernels are called twice: ") &&
                                  ContainsSubstring("twice(float*)") && ContainsSubstring("twice(int*)"));
  CHECK_THAT(reason("reduce<float>"),
             ContainsSubstring("the program has no kernel reduce<float>: cannot determine which instance") &&
                 ContainsSubstring("there are: ") && ContainsSubstring("scale"));
  CHECK_THAT(reason("missing<3>"), ContainsSubstring("no kernel missing<3>: identifier \"missing\" is undefined"));
  CHECK_THAT(reason("reduce<float, 1>"), ContainsSubstring("kernel.cu(5): error: static assertion failed"));
}

TEST_CASE("toolkit headers, CUB and the names of the C++ library are there for sources that use them") {
  if (!has_toolkit()) SKIP("the CUDA Toolkit's headers are not on this machine");
  const auto result = built(R"(#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <mma.h>
#include <cub/block/block_reduce.cuh>
#include <cstdint>
#include <cassert>
template <int kThreads>
__global__ void reduce(const __nv_bfloat16* x, float* y, int n) {
  using Reduce = cub::BlockReduce<float, kThreads>;
  __shared__ typename Reduce::TempStorage storage;
  float largest = -INFINITY;
  for (std::int32_t i = threadIdx.x; i < n; i += kThreads) largest = fmaxf(largest, __bfloat162float(x[i]));
  assert(n > 0);
  const float sum = Reduce(storage).Sum(largest);
  if (threadIdx.x == 0) y[0] = sum;
})",
                            {"reduce<128>"});
  if (const Failure* failure = std::get_if<Failure>(&result)) FAIL(failure->reason << "\n" << failure->log);
  CHECK_THAT(std::get<Binary>(result).build.flags, ContainsSubstring("-I"));
  const auto plain = built(R"(__global__ void k(float* x, uint32_t n) { x[n] = INFINITY + M_PI; })", {"k"});
  CHECK(std::holds_alternative<Binary>(plain));
}

TEST_CASE("only sources that need headers are compiled with them") {
  for (const char* source : {"#include <mma.h>\n", "  #  include \"x.h\"\n", "float x = INFINITY;", "uint32_t n = 3;"})
    CHECK(needs_headers(source));
  for (const char* source :
       {"// include nothing\n", "float infinity = 1; int INFINITY_2 = 3;", "#define INFINITY 1e38f\n INFINITY",
        "using uint64_t = unsigned long; uint64_t n;", "typedef unsigned long uint64_t;\nuint64_t n;"})
    CHECK(!needs_headers(source));
  const Binary binary = compiled(kScale);
  std::string options;
  for (const std::string& option : compile_options("sm_90a", 0)) options += (options.empty() ? "" : " ") + option;
  CHECK(binary.build.flags == options);
}

TEST_CASE("variables are found by their C++ names, and one that is not there is named") {
  SourceRequest request;
  request.source = R"(__constant__ float plain[4];
namespace ns { __constant__ int rows; namespace { __constant__ int hidden; } }
template <int N> __global__ void k(float* x) { x[0] = plain[N] + ns::rows + ns::hidden; })";
  request.kernels = {"k<2>"};
  request.variables = {"plain", "ns::rows", "ns::hidden"};
  const auto result = nvrtc()->compile(request);
  REQUIRE(std::holds_alternative<Binary>(result));
  const Binary& binary = std::get<Binary>(result);
  CHECK(binary.build.variable_name("plain") == "plain");
  CHECK(binary.build.variable_name("ns::rows") == "_ZN2ns4rowsE");
  CHECK_THAT(binary.ptx, ContainsSubstring(binary.build.variable_name("ns::hidden") + ";"));

  request.variables = {"plain", "row"};
  const auto refused = nvrtc()->compile(request);
  REQUIRE(std::holds_alternative<Failure>(refused));
  CHECK(std::get<Failure>(refused).verdict == Verdict::compile_failed);
  CHECK_THAT(std::get<Failure>(refused).reason,
             ContainsSubstring("the program has no variable row: identifier \"row\" is undefined"));
}

TEST_CASE("what is launched is told from the rest of a program by its lines and its machine code") {
  const auto program = [](const std::string& helper, const std::string& other) {
    return "__device__ __noinline__ float helped(float x) {\n  return " + helper +
           ";\n}\n"
           "extern \"C\" __global__ void wanted(float* x) {\n  x[threadIdx.x] = helped(x[threadIdx.x]);\n}\n"
           "extern \"C\" __global__ void other(float* x) {\n  x[threadIdx.x] = " +
           other + ";\n}\n";
  };
  const auto routines_of = [](const Binary& binary) { return ptx_text::reached_routines(binary.ptx, {"wanted"}); };
  const auto code_of = [&](const std::string& helper, const std::string& other) {
    const Binary binary = compiled(program(helper, other));
    return cubin_hash(binary.cubin, routines_of(binary));
  };
  const Binary binary = compiled(program("x * 3.f + 1.f", "2.f"));
  const std::set<int> lines = ptx_text::source_lines(binary.ptx, routines_of(binary), "kernel.cu");
  CHECK(lines.contains(2));
  CHECK(lines.contains(5));
  CHECK_FALSE(lines.contains(8));
  const std::string code = code_of("x * 3.f + 1.f", "2.f");
  CHECK(code_of("x * 3.f + 1.f", "x[0] + 2.f") == code);
  CHECK(code_of("x * 3.f + 2.f", "2.f") != code);
}
