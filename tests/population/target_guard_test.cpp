// Exported files compile for any list of targets. Those that do not run the kernels get kernels that trap.
#include "population/code/target_guard.h"

#include <fmt/format.h>

#include <catch2/generators/catch_generators.hpp>
#include <cstdlib>

#include "population/export/read_export.h"
#include "tests/population/export_fixture.h"
#include "tests/population/export_program.h"
#include "tests/population/fixture.h"

using namespace evo;
using namespace evo::test;
using Catch::Matchers::ContainsSubstring;

namespace {

/// Sections of sm_90a, and a function of headers that other targets do not have.
constexpr std::string_view kOfHopper = R"cu(
#include <cooperative_groups.h>
namespace hopper {
__device__ __noinline__ void fence() {
  asm volatile("{ wgmma.fence.sync.aligned; }" ::: "memory");
}
__device__ unsigned rank() { return cooperative_groups::this_cluster().block_rank(); }
}  // namespace hopper
constexpr unsigned first_rank = 1;
extern "C" __global__ void __launch_bounds__(128) fenced(unsigned* rank) {
  hopper::fence();
  *rank = hopper::rank() + first_rank;
}
)cu";

ExportRequest toy(std::string_view further = "", const std::string& arch = "sm_90a") {
  ExportRequest request = export_request(toy_tree(), "toy", {"narrow"}, toy_genes("right"), 90);
  request.provenance.device.arch = arch;
  for (Program& program : request.programs) program.source += further;
  return request;
}

TargetGuard guard_of(const ExportRequest& request) {
  return target_guard({&request, 1});
}

/// The instructions of an exported file's kernel for one target of those that it is compiled for.
std::string instructions(const std::string& text, const std::string& targets, const std::string& target) {
  const std::string nvcc = nvcc_path();
  if (nvcc.empty()) SKIP("no nvcc");
  const TempFolder folder;
  write_text(folder / "best.cu", text);
  const CommandResult built = run_command(
      fmt::format("cd {} && '{}' -std=c++17 {} -c best.cu -o best.o", folder.path().string(), nvcc, targets));
  INFO(built.output);
  REQUIRE(built.exit_code == 0);
  CHECK(built.output == "");
  const CommandResult ptx = run_command(
      fmt::format("cd {} && '{}' -std=c++17 -ptx -arch={} best.cu -o best.ptx", folder.path().string(), nvcc, target));
  INFO(ptx.output);
  REQUIRE(ptx.exit_code == 0);
  return read_text(folder / "best.ptx");
}

std::string guarded(const std::string& source) {
  return guarded_source(source, "OTHER");
}

}  // namespace

TEST_CASE("instructions of one target alone ask for that target or its family, others for it and later ones") {
  CHECK(guard_of(toy()).condition == "__CUDA_ARCH__ < 900");
  CHECK(guard_of(toy()).macro == "EVO_NO_SM_90");
  CHECK(guard_of(toy(kOfHopper)).condition == "!defined(__CUDA_ARCH_FEAT_SM90_ALL)");
  CHECK(guard_of(toy(kOfHopper)).macro == "EVO_NO_SM_90A");
  CHECK(guard_of(toy("// tcgen05.alloc", "sm_100a")).condition == "!defined(__CUDA_ARCH_FEAT_SM100_ALL)");
  CHECK_THAT(guard_of(toy("// tcgen05.alloc", "sm_100f")).condition,
             ContainsSubstring("SPECIFIC__ >= 1000 && __CUDA_ARCH_FAMILY_SPECIFIC__ < 1100"));
  CHECK_THAT(guard_of(toy("// block_scale", "sm_121f")).condition,
             ContainsSubstring("SPECIFIC__ >= 1210 && __CUDA_ARCH_FAMILY_SPECIFIC__ < 1300"));
  CHECK(guard_of(toy(kOfHopper, "compute_80")).condition == "__CUDA_ARCH__ < 800");
  CHECK(guard_of(toy(kOfHopper, "another")).macro == "");
}

TEST_CASE("every shape of a device function is left out for other targets, and kernels keep their signature") {
  CHECK(guarded("__global__ void k(int* x) {\n  *x = 1;\n}\n") ==
        "__global__ void k(int* x) {\n#ifndef OTHER\n  *x = 1;\n#else\n  __trap();\n#endif\n}\n");
  CHECK(guarded("__global__ void k() {}") == "__global__ void k() {\n#ifndef OTHER\n#else\n  __trap();\n#endif\n}");
  CHECK(guarded("template <int n>\n__device__ int f() {\n  return n;\n}\nint a;\n") ==
        "#ifndef OTHER\ntemplate <int n>\n__device__ int f() {\n  return n;\n}\n#endif\nint a;\n");
  // Neighbours share their lines.
  CHECK(guarded("__device__ void f() {}\n\n__device__ void g() {}\n") ==
        "#ifndef OTHER\n__device__ void f() {}\n\n__device__ void g() {}\n#endif\n");
  CHECK(guarded("struct S {\n  int a = f({1});\n  __device__ void f() const {\n  }\n};\n") ==
        "struct S {\n  int a = f({1});\n#ifndef OTHER\n  __device__ void f() const {\n  }\n#endif\n};\n");
  CHECK(guarded("namespace a { __device__ void f() { g(); } }\n") ==
        "namespace a { \n#ifndef OTHER\n__device__ void f() { g(); }\n#endif\n }\n");
  CHECK(guarded("__device__ void f() {\n  asm(\"{ \\\" a; \" \"}\");\n}  // {\n__constant__ int t[] = {1};\n") ==
        "#ifndef OTHER\n__device__ void f() {\n  asm(\"{ \\\" a; \" \"}\");\n}  // {\n#endif\n__constant__ int t[] = "
        "{1};\n");
  CHECK(guarded("__global__ void k() {  // {\n  f();  /* } */ }\n") ==
        "__global__ void k() {  // {\n#ifndef OTHER\n  f();  /* } */ \n#else\n  __trap();\n#endif\n}\n");
}

TEST_CASE("what other targets may need stays: values, types, and functions that are constexpr or the host's, too") {
  const std::string source =
      GENERATE("constexpr __device__ int f() { return 1; }\n", "__host__ __device__ int f() { return 1; }\n",
               "__device__ const int t[2] = {1, 2};\n__constant__ float c{1};\n",
               "enum class E { a, b };\nstruct S { int a; };\n", "__device__ int f();\n",
               "#define F __device__ void f() { }\n", "const char* const kText = \"__global__ {\";\n");
  CHECK(guarded(source) == source);
}

TEST_CASE("a source whose braces or conditionals cannot be followed is exported as it is") {
  const std::string source = GENERATE("__global__ void k() {\n", "}\n__global__ void k() {\n}\n",
                                      "#ifdef A\n__global__ void k(int a) {\n#else\n__global__ void k() {\n#endif\n}\n",
                                      "__global__ void k() {\n#ifdef A\n  f();\n}\n#else\n  g();\n}\n#endif\n");
  CHECK(guarded(source) == source);
}

TEST_CASE("a file for sm_90a compiles for lists of targets, and where it does not run its kernels trap", "[sweep]") {
  const std::string text = export_cuda(toy(kOfHopper));
  const auto [targets, other] = GENERATE(
      std::pair("-arch=sm_90a", ""), std::pair("-arch=all-major -gencode=arch=compute_90a,code=sm_90a", "compute_90"),
      std::pair("-gencode=arch=compute_80,code=sm_80 -gencode=arch=compute_90a,code=sm_90a", "compute_80"));
  const std::string own = instructions(text, targets, "compute_90a");
  CHECK_THAT(own, ContainsSubstring("wgmma.fence"));
  CHECK_THAT(own, !ContainsSubstring("trap;"));
  if (*other == '\0') return;
  const std::string traps = instructions(text, targets, other);
  CHECK_THAT(traps, ContainsSubstring("trap;"));
  CHECK_THAT(traps, !ContainsSubstring("wgmma"));
}

TEST_CASE("the launcher answers that there is no kernel for the device where it would run one that traps") {
  const ToyProgram program(export_cuda(toy()));
  CHECK(program.run().exit_code == 0);
  ::setenv("FAKE_IMAGE_OF_ANOTHER_TARGET", "1", 1);
  const CommandResult other = program.run();
  ::unsetenv("FAKE_IMAGE_OF_ANOTHER_TARGET");
  CHECK(other.exit_code != 0);
  CHECK_THAT(other.output, ContainsSubstring("error 209"));
  CHECK_THAT(other.output, !ContainsSubstring("launch "));
}

TEST_CASE("an exported file whose kernels are guarded is read back as unedited") {
  const Exported exported = read_exports(export_cuda(toy(kOfHopper)), "best.cu").at(0);
  CHECK(!exported.edited);
  CHECK_THAT(exported.programs.at(0).source, ContainsSubstring("#ifndef EVO_NO_SM_90A"));
}
