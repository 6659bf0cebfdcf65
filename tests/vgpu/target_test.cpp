#include <fmt/format.h>

#include <catch2/catch_test_macros.hpp>
#include <optional>
#include <string>

#include "evaluator/vgpu/isa/target_needs.h"
#include "evaluator/vgpu/ptx/load_error.h"
#include "evaluator/vgpu/ptx/parser.h"

using namespace evo;
using namespace evo::vgpu;

namespace {

/// What the virtual GPU has against an instruction in a module for a target; empty: nothing.
std::string refusal(const std::string& instruction, const std::string& target) {
  const auto module = ptx::parse(fmt::format(
      ".version 9.0\n.target {}\n.address_size 64\n.visible .entry k() {{ .reg .b16 %h<4>; .reg .b32 %r<12>;\n"
      ".reg .b64 %d<4>; .reg .f32 %f<8>; .reg .f64 %e<4>; .reg .pred %p<4>;\n{}\nret; }}\n",
      target, instruction));
  try {
    require_target(*module);
  } catch (const LoadError& error) {
    return error.what();
  }
  return {};
}

}  // namespace

// Where the first target begins is what ptxas 13.0 assembles: each line for sm_75, 80, 86, 89, 90, 90a, 100 and 100a.
TEST_CASE("an instruction is refused in a module for a target that does not have it, as by ptxas") {
  struct Instruction {
    const char* text;
    const char* lacks;  ///< The last target without it.
    const char* has;    ///< The first with it.
  };
  for (const auto& [text, lacks, has] : {
           Instruction{"ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r1}, [%r2];", "sm_70", "sm_75"},
           {"stmatrix.sync.aligned.m8n8.x1.shared.b16 [%r2], {%r1};", "sm_89", "sm_90"},
           {"cp.async.ca.shared.global [%r1], [%d1], 16;", "sm_75", "sm_80"},
           {"cp.async.bulk.commit_group;", "sm_89", "sm_90"},
           {"mbarrier.init.shared.b64 [%r1], %r2;", "sm_75", "sm_80"},
           {"mbarrier.try_wait.shared.b64 %p1, [%r1], %d1;", "sm_89", "sm_90"},
           {"mbarrier.arrive.expect_tx.shared.b64 %d1, [%r1], %r2;", "sm_89", "sm_90"},
           {"redux.sync.add.s32 %r1, %r2, 0xffffffff;", "sm_75", "sm_80"},
           {"griddepcontrol.wait;", "sm_89", "sm_90"},
           {"mapa.shared::cluster.u32 %r1, %r2, %r3;", "sm_89", "sm_90"},
           {"barrier.cluster.arrive;", "sm_89", "sm_90"},
           {"fence.proxy.async;", "sm_89", "sm_90"},
           {"setmaxnreg.inc.sync.aligned.u32 40;", "sm_90", "sm_90a"},
           {"wgmma.fence.sync.aligned;", "sm_90", "sm_90a"},
           {"wgmma.fence.sync.aligned;", "sm_100a", "sm_90a"},
           {"tcgen05.wait::ld.sync.aligned;", "sm_90a", "sm_100a"},
           {"tcgen05.wait::ld.sync.aligned;", "sm_100", "sm_100a"},
           {"tcgen05.wait::ld.sync.aligned;", "sm_120a", "sm_100a"},
           {"ld.global.L2::256B.u32 %r1, [%d1];", "sm_75", "sm_80"},
           {"cvt.rn.satfinite.e4m3x2.f32 %h1, %f1, %f2;", "sm_86", "sm_89"},
           {"cvt.rn.f16x2.e4m3x2 %r1, %h1;", "sm_86", "sm_89"},
           {"cvt.rn.bf16x2.f32 %r1, %f1, %f2;", "sm_75", "sm_80"},
           {"cvt.rn.f16x2.f32 %r1, %f1, %f2;", "sm_75", "sm_80"},
           {"mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f1,%f2,%f3,%f4},{%r1,%r2,%r3,%r4},{%r5,%r6},"
            "{%f1,%f2,%f3,%f4};",
            "sm_75", "sm_80"},
           {"mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%f1,%f2,%f3,%f4},{%r1,%r2},{%r3},{%f1,%f2,%f3,%f4};",
            "sm_70", "sm_75"},
           {"mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32 {%f1,%f2,%f3,%f4},{%r1,%r2,%r3,%r4},{%r5,%r6},"
            "{%f1,%f2,%f3,%f4};",
            "sm_86", "sm_89"},
       }) {
    INFO(text);
    CHECK(refusal(text, lacks).find(fmt::format("needs {}, the module is for {}", has, lacks)) != std::string::npos);
    CHECK(refusal(text, has).empty());
  }
}

TEST_CASE("the refusal names the line, the instruction and both targets") {
  CHECK(refusal("griddepcontrol.wait;", "sm_80") ==
        "PTX line 6: griddepcontrol.wait needs sm_90, the module is for sm_80");
}
