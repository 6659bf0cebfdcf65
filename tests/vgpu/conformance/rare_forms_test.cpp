// Forms that compilers rarely emit. Expectations follow the text of the PTX ISA 9.0.

#include "tests/vgpu/conformance/warp_snippet.h"

using namespace evo::vgpu;

namespace {

using Words = std::vector<std::uint32_t>;

Words lanes() {
  Words words(32);
  for (std::uint32_t lane = 0; lane < 32; ++lane) words[lane] = lane;
  return words;
}

std::string failure_of_warp(const std::string& body) {
  TestGpu gpu;
  gpu.load_ptx(evo::conformance::warp_kernel(body, 0, 0));
  const auto buffer = gpu.allocate("buffer", 4);
  const auto failure = gpu.launch("k", {}, buffer, buffer);
  return failure ? failure->reason : "nothing";
}

}  // namespace

TEST_CASE("lop3 combines whether its result is zero with a predicate") {
  // The result of 0xc0 is a and b, which is zero in every other lane; q holds in the lower half.
  const std::string inputs = "and.b32 t0, r0, 1; setp.lt.u32 q, r0, 16; ";
  const std::string outputs = "selp.u32 o1, 1, 0, p;";
  const Words both = run_warp(inputs + "lop3.and.b32 o0|p, t0, 3, 0, 0xc0, q; " + outputs, 1, 2, lanes());
  const Words one = run_warp(inputs + "mov.u32 o0, 0; lop3.or.b32 _|p, t0, 3, 0, 0xc0, !q; " + outputs, 1, 2, lanes());
  for (std::uint32_t lane = 0; lane < 32; ++lane) {
    CHECK(both[2 * lane] == lane % 2);
    CHECK(both[2 * lane + 1] == (lane % 2 != 0 && lane < 16 ? 1 : 0));
    CHECK(one[2 * lane + 1] == (lane % 2 != 0 || lane >= 16 ? 1 : 0));
  }
}

TEST_CASE("cp.async whose source is ignored writes zeros and reads nothing") {
  Words in;
  for (std::uint32_t lane = 0; lane < 32; ++lane) in.insert(in.end(), {lane, lane + 100});
  // Lanes whose source is ignored pass an invalid address.
  const Words got = run_warp(
      "mov.u32 t0, smem; mad.lo.u32 t0, lane, 8, t0; and.b32 t1, lane, 1; setp.ne.u32 p, t1, 0; mov.b64 d0, from; @p "
      "mov.b64 d0, 8;"
      "cp.async.ca.shared.global [t0], [d0], 8, p; cp.async.wait_all; ld.shared.v2.b32 {o0, o1}, [t0];",
      2, 2, in);
  for (std::uint32_t lane = 0; lane < 32; ++lane) {
    CHECK(got[2 * lane] == (lane % 2 != 0 ? 0 : lane));
    CHECK(got[2 * lane + 1] == (lane % 2 != 0 ? 0 : lane + 100));
  }
}

TEST_CASE("special registers report reserved shared memory, and unset ones are zero") {
  const Words got = run_warp(
      "mov.u32 o0, %aggr_smem_size; mov.u32 o1, %total_smem_size; mov.u32 t0, %reserved_smem_offset_begin;"
      "mov.u32 o2, %reserved_smem_offset_end; sub.u32 o2, o2, t0; mov.u32 o3, %reserved_smem_offset_cap; mov.u32 t0, "
      "smem;"
      "mov.pred p, %is_explicit_cluster; selp.u32 o4, 1, 0, p; mov.u32 o5, %pm3; mov.u32 o6, %envreg31;"
      "mov.u64 d0, %current_graph_exec; mov.b64 {o7, t0}, d0;",
      0, 8, {});
  CHECK(got[0] == 2048);  // Half is the kernel's, half is reserved.
  CHECK(got[1] == 1024);
  CHECK(got[2] == 1024);
  CHECK(got[3] == 1024);
  for (std::size_t i = 4; i < 8; ++i) CHECK(got[i] == 0);
}

TEST_CASE("a thread's stack allocations are aligned, private, and freed by stackrestore") {
  // Lane i takes i + 1 bytes, then 16 at an alignment of 64, twice from the same place.
  const Words got = run_warp(
      "add.u32 t0, lane, 1; cvt.u64.u32 d0, t0; alloca.u64 d1, d0; st.local.u8 [d1], lane; stacksave.u64 d2; mov.b64 "
      "d3, 16;"
      "alloca.u64 d4, d3, 64; st.local.u32 [d4+12], lane; stackrestore.u64 d2; alloca.u64 d5, d3, 64;"
      "cvta.local.u64 d6, d5; ld.u32 o0, [d6+12]; ld.local.u8 o1, [d1]; sub.u64 d7, d5, d4; mov.b64 {o2, t1}, d7;"
      "and.b64 d7, d5, 63; mov.b64 {o3, t1}, d7; and.b64 d7, d1, 7; mov.b64 {o4, t1}, d7;",
      0, 5, {});
  for (std::uint32_t lane = 0; lane < 32; ++lane) {
    CHECK(got[5 * lane] == lane);
    CHECK(got[5 * lane + 1] == lane);
    for (std::size_t i = 2; i < 5; ++i) CHECK(got[5 * lane + i] == 0);
  }
}

TEST_CASE("a full stack and a stackrestore to an invalid address are findings") {
  CHECK(contains(failure_of_warp("mov.b64 d0, 16385; alloca.u64 d1, d0;"),
                 "16385 bytes do not fit into the thread's stack"));
  CHECK(contains(failure_of_warp("mov.b64 d0, -16; alloca.u64 d1, d0;"), "do not fit"));
  CHECK(contains(failure_of_warp("stacksave.u64 d0; add.u64 d0, d0, 16; stackrestore.u64 d0;"), "not an earlier end"));
  CHECK(failure_of_warp("mov.b64 d0, 16384; alloca.u64 d1, d0;") == "nothing");
}

TEST_CASE("all variables of one declaration have its type and do not overlap") {
  const Words got = run_warp(
      ".shared .align 16 .b32 one, two, three[4]; .local .b64 far, near; mov.u32 t0, one; mov.u32 t1, two; mov.u32 t2, "
      "three;"
      "sub.u32 o0, t1, t0; sub.u32 o1, t2, t1; st.local.b64 [far], 1; st.local.b64 [near], 2; ld.local.b64 d0, [far];"
      "mov.b64 {o2, t3}, d0;",
      0, 3, {});
  CHECK(got[0] == 16);
  CHECK(got[1] == 16);
  CHECK(got[2] == 1);
}
