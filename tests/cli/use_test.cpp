// What docs/use.md shows runs: its commands, its C++ program as far as a machine without a GPU can, and its engine with
// the task's reference in the kernel's place. tests/gpu/use runs all of it on a GPU.
#include <sys/wait.h>

#include <cstdlib>

#include "bench.h"

using namespace evo::testing;

namespace {

const std::filesystem::path kExamples = EVO_SOURCE_DIR "/docs/examples";

/// Runs a command of the shell in the bench's folder, where `evo` and nvcc are in PATH and GPUs are hidden. Its output
/// is in the file `said`.
int run_there(const Bench& bench, const std::string& command) {
  const std::string tools = std::filesystem::path(EVO_BINARY).parent_path().string() + ":/usr/local/cuda/bin:";
  const std::string line = "cd '" + bench.folder().string() + "' && export PATH='" + tools +
                           "'\"$PATH\" EVO_TEMPLATES='" + kTemplates + "' CUDA_VISIBLE_DEVICES= && { " + command +
                           "; } > said 2>&1";
  const int status = std::system(line.c_str());
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

int run_script(const Bench& bench, const std::string& name) {
  return run_there(bench, "sh '" + (kExamples / name).string() + "'");
}

}  // namespace

TEST_CASE("the commands of docs/use.md export kernels, and its C++ program compiles, links and asks for a GPU",
          "[sweep]") {
  const Bench bench;
  const int exported = run_script(bench, "export.sh");
  INFO(bench.read("said"));
  REQUIRE(exported == 0);
  CHECK(holds(bench.read("evo_fp8_attention/torch-ext/evo_fp8_attention/__init__.py"),
              "fp8_attention(q, k, v, q_scale, k_scale, v_scale, cu_seqlens_q, page_table, kv_lengths, S_kv)"));
  CHECK(holds(bench.read("evo_fp8_sdpa/torch-ext/evo_fp8_sdpa/__init__.py"),
              "fp8_sdpa(q, k, v, q_scale, k_scale, v_scale)"));
  if (run_there(bench, "nvcc --version") != 0) SKIP("no nvcc");
  std::filesystem::copy_file(kExamples / "paged_batch.cpp", bench / "paged_batch.cpp");
  const int built = run_script(bench, "build.sh");
  INFO(bench.read("said"));
  REQUIRE(built == 0);
  CHECK(run_there(bench, "./paged_batch") == 77);
  CHECK(holds(bench.read("said"), "skipped: no GPU ("));
}

TEST_CASE("the engine of docs/use.md computes what its model computes in one piece, and planted faults are found",
          "[long]") {
  const Bench bench;
  const auto served = [&](const std::string& fault) {
    return run_there(bench, "/usr/bin/python3 " EVO_TEST_DATA "/use/serve_on_cpu.py '" +
                                (kExamples / "paged_serving.py").string() + "' '" + kTemplates +
                                "/fp8_attention/reference.py' " + fault);
  };
  const int right = served("");
  if (right == 77) SKIP("no torch for /usr/bin/python3");
  INFO(bench.read("said"));
  CHECK(right == 0);
  for (const char* fault : {"pages", "key", "stale"}) {
    CHECK(served(fault) == 1);
    CHECK(holds(bench.read("said"), "WRONG: served and computed in one piece are too far apart"));
  }
}
