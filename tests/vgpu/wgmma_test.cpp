#include <catch2/matchers/catch_matchers_string.hpp>

#include "evaluator/vgpu/ptx/load_error.h"
#include "tests/vgpu/conformance/conformance_check.h"
#include "tests/vgpu/conformance/wgmma_cases.h"
#include "tests/vgpu/gpu_for_tests.h"

namespace evo::vgpu {
namespace {

TEST_CASE("wgmma equals an H200 bit for bit: types, widths, signs, chains and sparse operands") {
  check_cases(conformance::numerics_cases(), "products.bin");
}

TEST_CASE("wgmma reads shared memory where an H200 does, for every layout and swizzle") {
  check_cases(conformance::layout_cases(), "layouts.bin");
}

/// A kernel with accumulators d0 to d3 of a product of 64 x 8, A in a0 to a3, B (all ones in e4m3) in shared memory,
/// and `body` in between; out gets d0 of each thread.
std::string kernel_with(const std::string& body) {
  return R"(.version 9.0
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 out) {
  .shared .align 128 .b8 tile[512];
  .reg .b32 tid, s, t, a<4>, moved; .reg .f32 d<4>, e; .reg .b64 desc, far, out, at; .reg .pred p, first;
  ld.param.u64 out, [out]; mov.u32 tid, %tid.x; mov.u32 s, tile;
  shl.b32 t, tid, 2; add.u32 t, t, s; st.shared.b32 [t], 0x38383838;
  setp.lt.u32 first, tid, 32;
  mov.b32 a0, 0; mov.b32 a1, 0; mov.b32 a2, 0; mov.b32 a3, 0;
  mov.f32 d0, 0f00000000; mov.f32 d1, 0f00000000; mov.f32 d2, 0f00000000; mov.f32 d3, 0f00000000;
  setp.eq.u32 p, 0, 0;
  shr.u32 t, s, 4; cvt.u64.u32 desc, t; or.b64 desc, desc, 0x800080000;
  add.u64 far, desc, 0x2000;
  bar.sync 0; fence.proxy.async;
  )" + body +
         R"(
  mul.wide.u32 at, tid, 4; add.u64 out, out, at; st.global.f32 [out], d0;
  ret;
})";
}

const std::string kProduct =
    "wgmma.mma_async.sync.aligned.m64n8k32.f32.e4m3.e4m3 {d0,d1,d2,d3}, {a0,a1,a2,a3}, desc, p, 1, 1;\n";
const std::string kFence = "wgmma.fence.sync.aligned;\n", kCommit = "wgmma.commit_group.sync.aligned;\n",
                  kWait = "wgmma.wait_group.sync.aligned 0;\n";

/// d0 of thread 0, or the finding.
struct Result {
  float d0 = 0;
  std::string finding;
};
Result run_body(const std::string& body, std::uint32_t threads = 128) {
  TestGpu gpu;
  gpu.load_ptx(kernel_with(body));
  const std::uint64_t out = gpu.allocate("out", 4 * threads);
  const auto failure = gpu.launch("k", {{1, 1, 1}, {threads, 1, 1}}, out);
  if (failure) return {0, failure->reason};
  return {gpu.download<float>(out, 1)[0], ""};
}

using Catch::Matchers::ContainsSubstring;

TEST_CASE("a product that is fenced, committed and waited for has no finding, and groups may overlap") {
  CHECK(run_body(kFence + kProduct + kCommit + kWait).finding.empty());
  CHECK(run_body(kFence + kProduct + kProduct + kCommit + kProduct + kCommit + "wgmma.wait_group.sync.aligned 1;\n" +
                 kWait)
            .finding.empty());
  CHECK(run_body(kFence + kProduct + kCommit + kWait + "add.f32 d0, d0, d0;\n" + kFence + kProduct + kCommit + kWait)
            .finding.empty());
}

TEST_CASE("reading or writing an accumulator, also after a move, before the wait for its product is a finding") {
  const std::string early = "has not been waited for";
  CHECK_THAT(run_body(kFence + kProduct + kCommit + "add.f32 e, d0, d0;\n" + kWait).finding,
             ContainsSubstring("reads") && ContainsSubstring(early));
  CHECK_THAT(run_body(kFence + kProduct + kCommit + "add.f32 d0, e, e;\n" + kWait).finding,
             ContainsSubstring("writes") && ContainsSubstring(early));
  CHECK_THAT(run_body(kFence + kProduct + kCommit + "mov.f32 e, d0; add.f32 e, e, e;\n" + kWait).finding,
             ContainsSubstring(early));
  const std::string of_result =
      "wgmma.mma_async.sync.aligned.m64n8k32.f32.e4m3.e4m3 {d0,d1,d2,d3}, {moved,a1,a2,a3}, desc, p, 1, 1;\n";
  CHECK_THAT(run_body(kFence + kProduct + kCommit + "mov.b32 moved, d0;\n" + of_result + kWait).finding,
             ContainsSubstring("A is the accumulator"));
  // A wait covers committed groups only, and leaves as many pending as it names.
  CHECK_THAT(run_body(kFence + kProduct + kWait).finding, ContainsSubstring(early));
  CHECK_THAT(run_body(kFence + kProduct + kCommit + "wgmma.wait_group.sync.aligned 1;\n").finding,
             ContainsSubstring(early));
}

TEST_CASE("writing a register of A before the wait for its product is a finding") {
  CHECK_THAT(run_body(kFence + kProduct + kCommit + "mov.b32 a0, 7;\n" + kWait).finding,
             ContainsSubstring("writes a register of A"));
  CHECK(run_body(kFence + kProduct + kCommit + "mov.b32 moved, a0;\n" + kWait + "mov.b32 a0, 7;\n").finding.empty());
}

TEST_CASE("a missing wgmma.fence is a finding") {
  CHECK_THAT(run_body(kProduct + kCommit + kWait).finding, ContainsSubstring("no wgmma.fence"));
  CHECK_THAT(
      run_body(kFence + kProduct + kCommit + kWait + "add.f32 d0, d0, d0;\n" + kProduct + kCommit + kWait).finding,
      ContainsSubstring("written since the last wgmma.fence"));
}

TEST_CASE("writing shared memory that a product reads before the wait for it is a finding") {
  const std::string overwrite = "st.shared.b32 [s], tid;\n";
  CHECK_THAT(run_body(kFence + kProduct + kCommit + overwrite + kWait).finding,
             ContainsSubstring("written while the product was reading it"));
  CHECK(run_body(kFence + kProduct + kCommit + kWait + "bar.sync 0;\n" + overwrite).finding.empty());
}

TEST_CASE("the four warps of a warpgroup issue the same products, and all of them") {
  CHECK_THAT(run_body(kFence + kProduct + kCommit + kWait, 96).finding, ContainsSubstring("no whole warpgroup"));
  CHECK_THAT(run_body("@first add.u64 desc, desc, 1;\n" + kFence + kProduct + kCommit + kWait).finding,
             ContainsSubstring("does not issue the same product"));
  CHECK_THAT(run_body("setp.eq.u32 p, tid, 5;\n" + kFence + kProduct + kCommit + kWait).finding,
             ContainsSubstring("scale-d differs between lanes"));
}

TEST_CASE("a descriptor that points outside shared memory is a finding") {
  const std::string far = "mov.b64 desc, far;\n";
  CHECK_THAT(run_body(far + kFence + kProduct + kCommit + kWait).finding,
             ContainsSubstring("B reads 16 bytes at shared address") && ContainsSubstring("outside"));
}

TEST_CASE("sums of e4m3 products keep thirteen bits below the leading one, so that long sums lose small addends") {
  // One product of 1 * 1, added twice to 2^14, whose neighbour is 2 away with thirteen bits.
  const std::string one = "setp.eq.u32 first, tid, 0; @first mov.b32 a0, 0x38; mov.f32 d0, 0f46800000;\n";
  CHECK(run_body(one + kFence + kProduct + kProduct + kCommit + kWait).d0 == 16384.f);
  const std::string smaller = "setp.eq.u32 first, tid, 0; @first mov.b32 a0, 0x38; mov.f32 d0, 0f46000000;\n";
  CHECK(run_body(smaller + kFence + kProduct + kProduct + kCommit + kWait).d0 == 8194.f);
}

TEST_CASE("a wgmma that does not exist is refused by name") {
  TestGpu gpu;
  const auto refusal = [&](const std::string& product) -> std::string {
    try {
      gpu.load_ptx(kernel_with(product));
    } catch (const LoadError& error) {
      return error.what();
    }
    return "";
  };
  CHECK_THAT(refusal("wgmma.mma_async.sync.aligned.m64n12k32.f32.e4m3.e4m3 {d0,d1,d2,d3}, desc, desc, p, 1, 1;"),
             ContainsSubstring("m64n12k32"));
  CHECK_THAT(refusal("wgmma.mma_async.sync.aligned.m64n8k16.f32.e4m3.e4m3 {d0,d1,d2,d3}, desc, desc, p, 1, 1;"),
             ContainsSubstring("m64n8k16"));
  CHECK_THAT(refusal("wgmma.mma_async.sync.aligned.m64n8k32.f32.e4m3.e4m3 {d0,d1,d2,d3}, desc, desc, p, 2, 1;"),
             ContainsSubstring("scale-a"));
}

}  // namespace
}  // namespace evo::vgpu
