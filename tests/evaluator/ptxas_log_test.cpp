#include "evaluator/compile/ptxas_log.h"

#include <catch2/catch_test_macros.hpp>
#include <string>

using namespace evo;

namespace {

// As ptxas 13.0 writes it, for two kernels of one source.
constexpr const char* kTwoKernels =
    R"(kernel.cu(4): warning #177-D: variable "unused" was declared but never referenced

ptxas info    : 31 bytes gmem, 16 bytes cmem[3]
ptxas info    : Compiling entry function 'b' for 'sm_90a'
ptxas info    : Function properties for b
ptxas         .     8 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 24 registers, used 0 barriers, 8 bytes cumulative stack size
ptxas info    : Compile time = 2.833 ms
ptxas info    : Compiling entry function 'a' for 'sm_90a'
ptxas info    : Function properties for a
ptxas         .     2288 bytes stack frame, 2536 bytes spill stores, 2532 bytes spill loads
ptxas info    : Used 64 registers, used 1 barriers, 2288 bytes cumulative stack size, 512 bytes smem
ptxas info    : Compile time = 200.356 ms
)";

}  // namespace

TEST_CASE("each kernel of a program has its own resources") {
  const auto kernels = kernel_builds(kTwoKernels);
  REQUIRE(kernels.size() == 2);
  CHECK(kernels.at("b").registers == 24);
  CHECK(kernels.at("b").spill_bytes == 0);
  CHECK(kernels.at("b").stack_bytes == 8);
  CHECK(kernels.at("b").static_smem_bytes == 0);
  CHECK(kernels.at("a").registers == 64);
  CHECK(kernels.at("a").spill_bytes == 2536 + 2532);
  CHECK(kernels.at("a").stack_bytes == 2288);
  CHECK(kernels.at("a").static_smem_bytes == 512);
}

TEST_CASE("a function counts for the kernel that it is compiled for, as it is compiled for that one") {
  const auto entry = [](const std::string& kernel, const std::string& functions) {
    return "ptxas info    : Compiling entry function '" + kernel +
           "' for 'sm_90a'\nptxas info    : Function properties for " + kernel +
           "\n    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
           "ptxas info    : Used 32 registers, used 0 barriers\n" +
           functions;
  };
  const std::string tight =
      "ptxas info    : Function properties for deep\n    40 bytes stack frame, 4 bytes spill stores, 8 bytes spill "
      "loads\n";
  const std::string roomy =
      "ptxas info    : Function properties for deep\n    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill "
      "loads\n";
  for (const bool tight_first : {true, false}) {
    const std::string first = entry("bounded", tight), second = entry("free", roomy), third = entry("alone", "");
    const auto kernels = kernel_builds(tight_first ? first + second + third : third + second + first);
    CHECK(kernels.at("bounded").spill_bytes == 12);
    CHECK(kernels.at("bounded").stack_bytes == 40);
    CHECK(kernels.at("free").spill_bytes == 0);
    CHECK(kernels.at("alone").spill_bytes == 0);
    CHECK(kernels.at("alone").stack_bytes == 0);
  }
}

TEST_CASE("a warning about a function is of the kernels that call it") {
  const std::string log =
      "ptxas info    : (C7514) Potential Performance Loss: wgmma.mma_async instructions are serialized due to a "
      "non-wgmma access in the function 'step'\n"
      "ptxas info    : Compiling entry function 'calls' for 'sm_90a'\n"
      "ptxas info    : Function properties for step\n    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill "
      "loads\n"
      "ptxas info    : Compiling entry function 'other' for 'sm_90a'\n";
  CHECK(kernel_builds(log).at("calls").warning != "");
  CHECK(kernel_builds(log).at("other").warning == "");
}

TEST_CASE("a warning that a kernel loses performance is that kernel's, one that names none is everybody's") {
  const std::string serialised =
      "ptxas info    : (C7510) Potential Performance Loss: wgmma.mma_async instructions are serialized due to "
      "insufficient register resources for the wgmma pipeline";
  const auto of_one = kernel_builds(kTwoKernels + serialised + " in the function 'a'\n");
  CHECK(of_one.at("a").warning.starts_with("ptxas info    : (C7510)"));
  CHECK(of_one.at("b").warning == "");
  const auto of_all = kernel_builds(kTwoKernels + serialised + "\n");
  CHECK(of_all.at("a").warning == of_all.at("b").warning);
  CHECK(of_all.at("b").warning != "");
}

TEST_CASE("a log without resource lines has no kernels") {
  CHECK(kernel_builds("nothing of interest\n\n used registers").empty());
  CHECK(kernel_builds("").empty());
}

TEST_CASE("the stored log is the same for every compilation") {
  const std::string log = repeatable_log(kTwoKernels);
  CHECK(log.find("Compile time") == std::string::npos);
  CHECK(log.find("Used 64 registers") != std::string::npos);
  CHECK(log.ends_with("512 bytes smem\n"));
  CHECK(repeatable_log("\n\n") == "");
}

TEST_CASE("the first error after warnings is found, in the formats of the front end and of ptxas") {
  CHECK(first_error("kernel.cu(1): warning #177-D: unused\nkernel.cu(2): error: identifier \"x\" is "
                    "undefined\n  o[0]=x;\n") == "kernel.cu(2): error: identifier \"x\" is undefined");
  CHECK(first_error("ptxas info    : 0 bytes gmem\nptxas application ptx input, line 29; error   : Unknown "
                    "modifier '.bar'\n") == "ptxas application ptx input, line 29; error   : Unknown modifier '.bar'");
  CHECK(first_error("ptxas fatal   : Ptx assembly aborted due to errors") ==
        "ptxas fatal   : Ptx assembly aborted due to errors");
  CHECK(first_error("\n  something else\n") == "something else");
  CHECK(first_error("") == "the compiler's log is empty");
}

TEST_CASE("ptxas messages that wgmma was serialised or setmaxnreg ignored are performance warnings") {
  const auto warning = [](const std::string& line) { return kernel_builds(kTwoKernels + line).at("a").warning; };
  CHECK(warning("ptxas info    : (C7519) warpgroup.arrive is injected in around line 60\n") == "");
  CHECK(
      warning("ptxas info    : (C7508) Potential Performance Loss: 'setmaxnreg' ignored; unable to determine register "
              "count at entry.\n") != "");
  CHECK(kernel_builds(kTwoKernels).at("a").warning == "");
}
