#include <filesystem>
#include <fstream>
#include <sstream>

#include "engine/base/hash.h"
#include "tests/templates/shipped.h"

using namespace evo;
using namespace evo::test;

namespace {

namespace fs = std::filesystem;

std::string text_of(const fs::path& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

void write(const fs::path& path, const std::string& text) {
  fs::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary) << text;
}

/// The hash that tests/data/golden.txt has for a name.
std::string golden_hash(const std::string& name) {
  std::ifstream file(EVO_TEST_DATA "/golden.txt");
  for (std::string known, hash; file >> known >> hash;)
    if (known == name) return hash;
  return {};
}

/// The rendered source must equal tests/data/NAME.cu. Where there is no such file, its hash must be that of golden.txt;
/// the text of the last run that passed is then kept in the working directory, for comparison.
void check_golden(const std::string& name, const std::string& source) {
  const fs::path whole = fs::path(EVO_TEST_DATA) / (name + ".cu");
  const fs::path before = fs::exists(whole) ? whole : fs::absolute("golden/" + name + ".cu");
  const std::string expected = before == whole ? hash_hex(text_of(whole)) : golden_hash(name);
  if (hash_hex(source) == expected) {
    if (before != whole) write(before, source);
    return;
  }
  const fs::path after = fs::absolute("golden/" + name + ".new.cu");
  write(after, source);
  UNSCOPED_INFO("see it: diff " << before.string() << " " << after.string());
  if (!fs::exists(before)) UNSCOPED_INFO("the former is not there: run this test once on a commit on which it passes");
  UNSCOPED_INFO("if that is wanted, " << (before == whole ? "copy the latter to the former"
                                                          : "write the hash into tests/data/golden.txt"));
  FAIL(name << " renders as " << hash_hex(source) << ", not " << expected);
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
  check_golden("fp8_sdpa_mma_sync", rendered("fp8_sdpa", R"({"family": "mma_sync", "genes": {
    "tile_q": 32, "warps_q": 1, "warps_k": 8, "tile_k": 64, "copy": "cp_async", "stages": 1, "arrival": "split",
    "smem_layout": "xor", "q_operand": "global", "qk_math": "f16", "qk_interleave": 2, "pv_math": "f16",
    "v_operand": "ldmatrix", "exponential": "ex2_f32", "row_sum": "adds", "rescale": "always", "merge_type": "f32",
    "kv_split": 1, "kv_order": "forward", "unroll": 1, "register_cap": 0, "min_blocks": 1, "pdl": true}})"));
}

TEST_CASE("the rendered source of fp8_qkt/mma_sync is as recorded") {
  check_golden("fp8_qkt_mma_sync", rendered("fp8_qkt", R"({"family": "mma_sync", "genes": {
    "tile_m": 64, "tile_n": 64, "warps_m": 2, "warps_n": 2, "walk": 2, "copy": "cp_async", "stages": 2,
    "smem_layout": "xor", "q_operand": "registers", "qk_math": "e4m3", "qk_interleave": 2, "epilogue": "wide",
    "store_cache": "keep", "grid_order": "keys_first", "unroll": 1, "register_cap": 0, "min_blocks": 1,
    "pdl": true}})"));
}

TEST_CASE("the rendered source of fp8_attention/wgmma is as recorded") {
  check_golden("fp8_attention_wgmma",
               rendered("fp8_attention", R"({"family": "wgmma", "genes": {
    "tile_k": 64, "warpgroups_q": 1, "warpgroups_k": 1, "kv_split": 2, "split_over": "grid", "stages": 4,
    "v_path": "producer", "transpose_batch": 2, "score_type": "f32", "pack": true, "q_operand": "global",
    "exponential": "ex2_f32", "large_scores": "again", "row_sum": "adds", "promote_tiles": 1, "output_parts": 1,
    "schedule": "overlap", "kv_order": "forward", "persistent": false, "register_split": false,
    "min_blocks": 1, "pdl": "early"}})",
                        "decode", {{"causal", true}, {"log_sum_exp", true}, {"page", std::int64_t{64}}}));
}
