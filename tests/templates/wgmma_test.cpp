#include "tests/templates/shipped.h"

using namespace evo;
using namespace evo::test;

TEST_CASE("random wgmma genomes compile for sm_90a; few spill registers or wait for each product", "[sweep]") {
  struct Aim {
    const char* task;
    const char* shape;
    Bindings options;
  };
  int programs = 0;
  int dead = 0;
  for (const auto& [task, shape, options] : {
           Aim{"fp8_sdpa", "mission", {}},
           Aim{"fp8_sdpa", "d128", {}},
           Aim{"fp8_sdpa", "d256", {{"mask", "causal"}}},
           Aim{"fp8_sdpa", "mission", {{"v_layout", "transposed"}, {"scales", "tensor"}}},
           Aim{"fp8_attention", "decode", {{"page", std::int64_t{64}}}},
           Aim{"fp8_attention", "prefill", {{"causal", true}, {"log_sum_exp", true}}},
           Aim{"fp8_attention", "gqa", {{"cu_seqlens", true}, {"causal", true}, {"layout", "bshd"}}},
           Aim{"fp8_qkt", "mission", {}},
           Aim{"fp8_qkt", "d128", {{"out", "f16"}, {"scales", "tensor"}}},
           Aim{"grouped_gemm", "mixtral", {}},
           Aim{"grouped_gemm", "mixtral", {{"act", "silu_mul"}}},
           Aim{"gemm_fp8", "cube4096", {{"scaling", "rows"}}},
           Aim{"gemm_fp8", "cube4096", {{"scaling", "blocks"}}},
       }) {
    const Aimed aimed(task, hopper(), {shape}, options);
    const Space space = aimed.space();
    Rng rng(5);
    for (int i = 0; i < 12; ++i) {
      const Genome genome = space.sample(rng, "wgmma");
      INFO(task << " " << shape << " " << to_text(genome));
      const Program program = aimed.candidate(space, genome).programs.front();
      const auto result = nvrtc_or_skip().compile(program.source, "sm_90a", program.max_registers);
      REQUIRE(std::holds_alternative<Binary>(result));
      const Binary& binary = std::get<Binary>(result);
      CHECK(binary.ptx.find("wgmma.mma_async") != std::string::npos);
      ++programs;
      dead += binary.build.largest().spill_bytes > 0 || !binary.build.largest().warning.empty() ? 1 : 0;
    }
  }
  INFO(dead << " of " << programs << " are dead");
  CHECK(dead * 4 <= programs);
}

TEST_CASE("millions of wgmma genomes are legal on Hopper, none on GPUs without wgmma") {
  const Space space = Aimed("fp8_sdpa", hopper(), {"mission"}).space();
  CHECK(space.size("wgmma") >= 10'000'000);
  for (const Gpu& gpu : {l4(), h200()}) {
    const Space without = Aimed("fp8_sdpa", gpu, {"mission"}).space();
    CHECK(without.families().size() == 1);
    CHECK(without.families().front().name == "mma_sync");
  }
}
