// Kernels of the shipped families under the sanitiser.
#include <memory>
#include <optional>

#include "evaluator/judge/cases.h"
#include "evaluator/vgpu/virtual_device.h"
#include "evaluator/worker/device_server.h"
#include "tests/templates/shipped.h"

using namespace evo;
using namespace evo::test;

namespace {

/// Runs a candidate on one case of the task's shape and returns the sanitiser's findings. Returns nothing when the
/// candidate does not compile or needs more registers than there are.
std::optional<std::vector<vgpu::Finding>> findings_of(const Aimed& aimed, const Candidate& candidate) {
  const Program& program = candidate.programs.front();
  auto compiled = nvrtc_or_skip().compile(program.source, aimed.gpu().arch, program.max_registers);
  if (std::holds_alternative<Failure>(compiled)) return std::nullopt;
  const auto device = vgpu::make_device("h200");
  device->sanitise();
  DeviceServer server(*device);
  const auto loaded = server.load({1, std::get<Binary>(std::move(compiled)), program.plans});
  REQUIRE(std::holds_alternative<protocol::Done>(loaded));
  const CasePlan cases = plan_cases(aimed.task(), aimed.target(), "vgpu", 1);
  const Case& one = cases.cases.at(cases.timed.front().rotation.front());
  const auto reply = server.run({1, one.shape.name, one.recipe, 1});
  if (const auto* failed = std::get_if<protocol::Failed>(&reply); failed && device->findings().empty()) {
    REQUIRE(failed->failure.verdict == Verdict::launch_failed);
    return std::nullopt;
  }
  return device->findings();
}

void check_clean(const char* task, const char* family, const char* shape, const Bindings& options = {}) {
  const Aimed aimed(task, hopper(), {shape}, options);
  const Space space = aimed.space();
  Rng rng(11);
  int ran = 0;
  for (int tried = 0; tried < 20 && ran < 10; ++tried) {
    const Genome genome = space.sample(rng, family);
    INFO(to_text(genome));
    const auto findings = findings_of(aimed, aimed.candidate(space, genome));
    if (!findings) continue;
    ++ran;
    for (const vgpu::Finding& finding : *findings) FAIL_CHECK(name_of(finding.kind) << ": " << finding.text);
  }
  CHECK(ran == 10);
}

}  // namespace

TEST_CASE("CTAs that take several query tiles from a queue have no races and no uninitialised reads", "[long]") {
  const Aimed aimed("f16_sdpa", hopper(), {"many"}, {{"mask", std::string("causal")}});
  const Space space = aimed.space();
  const auto number = [](std::int64_t value) { return Value(value); };
  const auto word = [](const char* text) { return Value(std::string(text)); };
  Genome genome{"wgmma",
                {{"tile_k", number(128)},
                 {"warpgroups_q", number(1)},
                 {"warpgroups_k", number(1)},
                 {"kv_split", number(1)},
                 {"stages", number(4)},
                 {"q_operand", word("global")},
                 {"exponential", word("ex2")},
                 {"rescale", word("always")},
                 {"schedule", word("overlap")},
                 {"kv_order", word("backward")},
                 {"persistent", true},
                 {"queue", true},
                 {"epilogue", word("tma")},
                 {"register_split", false},
                 {"min_blocks", number(1)},
                 {"pdl", word("none")}}};
  REQUIRE(space.contains(genome));
  const auto findings = findings_of(aimed, aimed.candidate(space, genome));
  REQUIRE(findings);
  for (const vgpu::Finding& finding : *findings) FAIL_CHECK(name_of(finding.kind) << ": " << finding.text);
}

TEST_CASE("CTAs that take several query tiles go on after some that see no key") {
  // Of three query tiles of a head only the last sees the key, and there are more heads than SMs.
  const Aimed aimed("fp8_attention", hopper(), {"1,140,140,129,1,64"}, {{"causal", true}});
  const Space space = aimed.space();
  const std::vector<std::string> wanted = {"persistent", "warpgroups_q", "q_operand"};
  const Genome wish{"wgmma",
                    {{"persistent", true},
                     {"warpgroups_q", Value(std::int64_t{1})},
                     {"q_operand", Value(std::string("smem"))},
                     {"tile_k", Value(std::int64_t{64})},
                     {"min_blocks", Value(std::int64_t{1})}}};
  Rng rng(1);
  const std::optional<Genome> genome = space.complete(wish, wanted, rng);
  REQUIRE(genome);
  INFO(to_text(*genome));
  const auto findings = findings_of(aimed, aimed.candidate(space, *genome));
  REQUIRE(findings);
  for (const vgpu::Finding& finding : *findings) FAIL_CHECK(name_of(finding.kind) << ": " << finding.text);
}

TEST_CASE("random kernels of fp8_sdpa's mma_sync family have no races and no uninitialised reads", "[long]") {
  check_clean("fp8_sdpa", "mma_sync", "tail77");
}

TEST_CASE("random kernels of fp8_sdpa's wgmma family have no races and no uninitialised reads", "[long]") {
  check_clean("fp8_sdpa", "wgmma", "tail129");
}

TEST_CASE("random kernels of fp8_qkt's mma_sync family have no races and no uninitialised reads") {
  check_clean("fp8_qkt", "mma_sync", "tail77");
}

TEST_CASE("random kernels of fp8_qkt's wgmma family have no races and no uninitialised reads") {
  check_clean("fp8_qkt", "wgmma", "tail77");
}

TEST_CASE("random kernels of fp8_qkt's wmma family have no races and no uninitialised reads") {
  check_clean("fp8_qkt", "wmma", "tail77");
}

TEST_CASE("random kernels of f16_sdpa's mma_sync family have no races and no uninitialised reads", "[long]") {
  check_clean("f16_sdpa", "mma_sync", "tail77");
}

TEST_CASE("random kernels of f16_sdpa's wgmma family have no races and no uninitialised reads", "[long]") {
  check_clean("f16_sdpa", "wgmma", "tail129");
}

TEST_CASE("random kernels of fp8_attention's wgmma family have no races and no uninitialised reads", "[long]") {
  check_clean("fp8_attention", "wgmma", "gqa",
              {{"cu_seqlens", true}, {"causal", true}, {"layout", std::string("bshd")}});
  check_clean("fp8_attention", "wgmma", "step", {{"page", std::int64_t{32}}, {"log_sum_exp", true}});
}

TEST_CASE("random kernels of sim_fp8_sdpa's mma_sync family have no races and no uninitialised reads") {
  check_clean("sim_fp8_sdpa", "mma_sync", "tail77");
}

TEST_CASE("random kernels of sim_fp8_sdpa's wmma family have no races and no uninitialised reads", "[long]") {
  check_clean("sim_fp8_sdpa", "wmma", "tail77");
}

TEST_CASE("random kernels of sim_fp8_qkt's mma_sync family have no races and no uninitialised reads") {
  check_clean("sim_fp8_qkt", "mma_sync", "tail77");
}

TEST_CASE("random kernels of sim_fp8_qkt's wmma family have no races and no uninitialised reads") {
  check_clean("sim_fp8_qkt", "wmma", "tail77");
}

TEST_CASE("random kernels of gemm_fp8's families have no races and no uninitialised reads", "[long]") {
  for (const char* scaling : {"rows", "blocks"})
    for (const char* family : {"mma_sync", "wgmma"})
      check_clean("gemm_fp8", family, "tails", {{"scaling", std::string(scaling)}});
}

TEST_CASE("random kernels of quantise's two_pass family have no races and no uninitialised reads") {
  check_clean("quantise", "two_pass", "tail");
}

TEST_CASE("random kernels of quantise's group family have no races and no uninitialised reads") {
  check_clean("quantise", "group", "tail136", {{"scales", std::string("group")}});
}

TEST_CASE("random kernels of grouped_gemm's families have no races and no uninitialised reads", "[long]") {
  check_clean("grouped_gemm", "mma_sync", "tails");
  check_clean("grouped_gemm", "wgmma", "tails", {{"act", std::string("silu_mul")}});
  check_clean("grouped_gemm", "wgmma", "turns");
}

TEST_CASE("random kernels of norms have no races and no uninitialised reads", "[long]") {
  check_clean("layer_norm", "row", "small_five");
  check_clean("norm_backward", "rows", "small_five");
}

TEST_CASE("random kernels of cross_entropy and its gradient have no races and no uninitialised reads", "[long]") {
  check_clean("cross_entropy", "rows", "few");
  check_clean("cross_entropy_backward", "rows", "few");
}

TEST_CASE("random kernels of transpose and reduce have no races and no uninitialised reads", "[long]") {
  check_clean("transpose", "tiles", "column");
  check_clean("reduce", "rows", "row");
  check_clean("reduce", "columns", "column", {{"axis", std::string("columns")}, {"op", std::string("argmax")}});
}

TEST_CASE("random kernels of histogram and scan have no races and no uninitialised reads", "[long]") {
  check_clean("histogram", "counts", "few");
  check_clean("scan", "look_back", "tile");
}

TEST_CASE("random kernels of top_k's families have no races and no uninitialised reads", "[long]") {
  check_clean("top_k", "warp", "small");
  check_clean("top_k", "radix", "small");
}

TEST_CASE("random kernels of w4a16's families have no races and no uninitialised reads", "[long]") {
  check_clean("w4a16", "mma_direct", "small");
  check_clean("w4a16", "mma_sync", "tails");
  check_clean("w4a16", "rows", "small", {{"scale_type", std::string("f16")}});
}

TEST_CASE("random kernels of rope_append have no races and no uninitialised reads", "[long]") {
  check_clean("rope_append", "heads", "crowded");
  check_clean("rope_append", "heads", "partial",
              {{"cache", std::string("e4m3")}, {"in_place", true}, {"layout", std::string("fused")}});
}

TEST_CASE("random kernels of sample have no races and no uninitialised reads", "[sweep]") {
  check_clean("sample", "radix", "small");
  check_clean("sample", "radix", "whole");
}
