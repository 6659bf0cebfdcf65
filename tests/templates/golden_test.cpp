#include <catch2/catch_test_macros.hpp>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "tests/templates/shipped.h"

using namespace evo;
using namespace evo::test;

namespace {

// The rendered source must equal tests/data/NAME. EVO_REWRITE_GOLDEN=1 writes it instead.
void check_golden(const std::string& name, const std::string& source) {
  const std::string path = std::string(EVO_TEST_DATA) + "/" + name;
  if (std::getenv("EVO_REWRITE_GOLDEN")) std::ofstream(path, std::ios::binary) << source;
  std::ifstream file(path, std::ios::binary);
  REQUIRE(file.good());
  std::ostringstream golden;
  golden << file.rdbuf();
  if (source == golden.str()) return;

  std::istringstream got_lines(source), want_lines(golden.str());
  std::string got, want;
  for (int line = 1;; ++line) {
    const bool more_got = static_cast<bool>(std::getline(got_lines, got));
    const bool more_want = static_cast<bool>(std::getline(want_lines, want));
    if (more_got && more_want && got == want) continue;
    FAIL(path << ":" << line << "\n  was  " << (more_want ? want : "(end)") << "\n  is   " << (more_got ? got : "(end)")
              << "\nif that is wanted: EVO_REWRITE_GOLDEN=1 evo_tests_templates");
  }
}

std::string rendered(const char* task, const char* genome, const char* shape = "mission",
                     const Bindings& options = {}) {
  const Aimed aimed(task, hopper(), {shape}, options);
  const Space space = aimed.space();
  const Genome parsed = genome_from_json(genome);
  REQUIRE(space.why_illegal(parsed).value_or("") == "");
  return aimed.candidate(space, parsed).programs.front().source;
}

}  // namespace

TEST_CASE("the rendered source of fp8_sdpa/mma_sync is as recorded") {
  check_golden("fp8_sdpa_mma_sync.cu", rendered("fp8_sdpa", R"({"family": "mma_sync", "genes": {
    "tile_q": 32, "warps_q": 1, "warps_k": 8, "tile_k": 64, "copy": "cp_async", "stages": 1, "arrival": "split",
    "smem_layout": "xor", "q_operand": "global", "qk_math": "f16", "qk_interleave": 2, "pv_math": "f16",
    "v_operand": "ldmatrix", "exponential": "ex2_f32", "row_sum": "adds", "rescale": "always", "merge_type": "f32",
    "kv_split": 1, "kv_order": "forward", "unroll": 1, "register_cap": 0, "min_blocks": 1, "pdl": true}})"));
}

TEST_CASE("the rendered source of fp8_qkt/mma_sync is as recorded") {
  check_golden("fp8_qkt_mma_sync.cu", rendered("fp8_qkt", R"({"family": "mma_sync", "genes": {
    "tile_m": 64, "tile_n": 64, "warps_m": 2, "warps_n": 2, "walk": 2, "copy": "cp_async", "stages": 2,
    "smem_layout": "xor", "q_operand": "registers", "qk_math": "e4m3", "qk_interleave": 2, "epilogue": "wide",
    "store_cache": "keep", "grid_order": "keys_first", "unroll": 1, "register_cap": 0, "min_blocks": 1,
    "pdl": true}})"));
}

TEST_CASE("the rendered source of fp8_attention/wgmma is as recorded") {
  check_golden("fp8_attention_wgmma.cu",
               rendered("fp8_attention", R"({"family": "wgmma", "genes": {
    "tile_k": 64, "warpgroups_q": 1, "warpgroups_k": 1, "kv_split": 2, "split_over": "grid", "stages": 4,
    "v_path": "producer", "transpose_batch": 2, "score_type": "f32", "pack": true, "q_operand": "global",
    "exponential": "ex2_f32", "row_sum": "adds", "promote_tiles": 0, "output_parts": 1, "rescale": "changed",
    "schedule": "overlap", "kv_order": "forward", "persistent": false, "register_split": true, "min_blocks": 2,
    "pdl": "early"}})",
                        "decode", {{"causal", true}, {"log_sum_exp", true}, {"page", std::int64_t{64}}}));
}
