#include "evaluator/compile/ptxas_log.h"

#include <catch2/catch_test_macros.hpp>

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

TEST_CASE("the resources of a program are the maxima over its kernels") {
  const PtxasUsage usage = parse_ptxas_usage(kTwoKernels);
  CHECK(usage.entries == 2);
  CHECK(usage.registers == 64);
  CHECK(usage.spill_bytes == 2536 + 2532);
  CHECK(usage.stack_bytes == 2288);
  CHECK(usage.static_smem_bytes == 512);
}

TEST_CASE("a log without resource lines gives zeros") {
  const PtxasUsage usage = parse_ptxas_usage("nothing of interest\n\n used registers");
  CHECK(usage.entries == 0);
  CHECK(usage.registers == 0);
  CHECK(parse_ptxas_usage("").static_smem_bytes == 0);
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
  const auto serialised = performance_warning(
      "ptxas info    : (C7519) warpgroup.arrive is injected in around line 60\n"
      "ptxas info    : (C7511) Potential Performance Loss: wgmma.mma_async instructions are serialized due "
      "to "
      "insufficient register resources for the wgmma pipeline in the function 'w'\n");
  REQUIRE(serialised);
  CHECK(serialised->find("(C7511)") != std::string::npos);
  CHECK(
      performance_warning("ptxas info    : (C7508) Potential Performance Loss: 'setmaxnreg' ignored; unable to "
                          "determine register count at entry.\n"));
  CHECK_FALSE(performance_warning(kTwoKernels));
  CHECK_FALSE(performance_warning("ptxas info    : (C7519) warpgroup.arrive is injected in around line 60\n"));
}
