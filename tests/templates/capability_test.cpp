#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "engine/base/rng.h"
#include "engine/device/abilities.h"
#include "engine/device/launch_rules.h"
#include "tests/templates/devices_page.h"

using namespace evo;
using namespace evo::test;

namespace {

/// A page of docs/.
std::string page(const std::string& name) {
  std::ostringstream text;
  text << std::ifstream(std::filesystem::path(EVO_SOURCE_DIR) / "docs" / name).rdbuf();
  return text.str();
}

void check_table(const std::string& table) {
  UNSCOPED_INFO("docs/devices.md lacks this table as it is now:\n" << table);
  CHECK(page("devices.md").find(table) != std::string::npos);
}

/// Random genomes of a family compile for a GPU.
void check_compiles(const std::string& task, const std::string& family, int sm, int genomes) {
  const Aimed aimed = aimed_at(task, sm);
  const Space space = aimed.space();
  Rng rng(static_cast<std::uint64_t>(sm));
  for (int i = 0; i < genomes; ++i) {
    const Genome genome = space.sample(rng, family);
    INFO(task << " " << aimed.gpu().arch << " " << to_text(genome));
    const Program program = aimed.candidate(space, genome).programs.front();
    const auto result = nvrtc_or_skip().compile(program.source, aimed.gpu().arch, program.max_registers);
    const auto* failure = std::get_if<Failure>(&result);
    CHECK((failure == nullptr ? "" : failure->reason) == "");
  }
}

}  // namespace

TEST_CASE("an ability that is of one architecture alone is not one of the next") {
  const auto has = [](std::string_view fact, int sm) {
    DeviceLimits limits;
    limits.sm = sm;
    return facts_of(limits).at(std::string(fact)) == Value{true};
  };
  CHECK(has("wgmma", 90));
  CHECK_FALSE(has("wgmma", 100));
  CHECK(has("tcgen05", 100));
  CHECK_FALSE(has("tcgen05", 120));
  CHECK(has("block_scaled_mma", 121));
  CHECK(has("fp8_mma", 89));
  CHECK_FALSE(has("fp8_mma", 87));
  CHECK(has("tma", 120));
}

TEST_CASE("every task has a family for every GPU from 8.0 on, and most have one for 7.5", "[long]") {
  const std::set<std::string> kNotOn75 = {"gemm_bf16",  "grouped_gemm",  "cross_entropy", "cross_entropy_backward",
                                          "layer_norm", "norm_backward", "transpose",     "reduce",
                                          "histogram",  "scan",          "top_k"};
  for (const std::string& task : task_names(shipped_templates())) {
    for (const LaunchRules& rules : all_launch_rules()) {
      INFO(task << " on " << rules.sm);
      CHECK(serving_families(task, rules.sm).empty() == (rules.sm == 75 && kNotOn75.contains(task)));
    }
  }
  CHECK(serving_families("f16_sdpa", 75, {{"dtype", std::string("bf16")}}).empty());
}

TEST_CASE("docs/devices.md has what each GPU can do, which families serve it, and the virtual GPUs", "[long]") {
  check_table(abilities_table());
  check_table(families_table());
  check_table(models_table());
}

TEST_CASE("families for every GPU compile for the oldest") {
  check_compiles("fp8_attention", "mma_sync", 75, 1);
  check_compiles("fp8_sdpa", "mma_sync", 75, 1);
  check_compiles("gemm_fp8", "mma_sync", 75, 1);
  check_compiles("rms_norm", "row", 75, 1);
}

// EVO_TEST_GENOMES: of each family for each GPU; default: one.
TEST_CASE("random genomes of every family compile for every GPU that it serves", "[sweep]") {
  const char* wanted = std::getenv("EVO_TEST_GENOMES");
  const int genomes = wanted == nullptr ? 1 : std::atoi(wanted);
  for (const std::string& task : task_names(shipped_templates()))
    for (const LaunchRules& rules : all_launch_rules())
      for (const std::string& family : serving_families(task, rules.sm))
        check_compiles(task, family, rules.sm, genomes);
}
