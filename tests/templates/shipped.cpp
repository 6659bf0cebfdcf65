#include "tests/templates/shipped.h"

#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>

#include "engine/base/error.h"
#include "engine/base/rng.h"
#include "engine/device/launch_rules.h"
#include "engine/task/scope.h"
#include "evaluator/compile/nvrtc_compiler.h"
#include "evaluator/cuda/device_query.h"

namespace evo::test {
namespace {

namespace fs = std::filesystem;

SourceTree read_tree(const fs::path& root) {
  SourceTree tree;
  for (const auto& entry : fs::recursive_directory_iterator(root)) {
    if (!entry.is_regular_file()) continue;
    std::ostringstream text;
    text << std::ifstream(entry.path(), std::ios::binary).rdbuf();
    tree[fs::relative(entry.path(), root).generic_string()] = text.str();
  }
  return tree;
}

}  // namespace

const SourceTree& shipped_templates() {
  static const SourceTree tree = read_tree(fs::path(EVO_SOURCE_DIR) / "templates");
  return tree;
}

Compiler& nvrtc_or_skip() {
  static std::unique_ptr<Compiler> nvrtc;
  try {
    if (!nvrtc) nvrtc = make_nvrtc_compiler();
  } catch (const Error& error) {
    SKIP("no NVRTC: " << error.what());
  }
  return *nvrtc;
}

Gpu gpu_of(int sm, int sm_count) {
  DeviceLimits limits = limits_of(launch_rules(sm));
  limits.sm_count = sm_count;
  return {cuda::arch_name(sm / 10, sm % 10), facts_of(limits)};
}

Gpu l4() {
  return gpu_of(89, 58);
}

Gpu h200() {
  Gpu gpu = hopper();
  gpu.facts["wgmma"] = false;
  return gpu;
}

Gpu hopper() {
  return gpu_of(90, 132);
}

Aimed::Aimed(std::string_view task_name, Gpu gpu, const std::vector<std::string>& shapes, const Bindings& options)
    : task_(load_task(shipped_templates(), task_name)),
      gpu_(std::move(gpu)),
      target_(make_target(task_, "cuda", shapes, options)) {}

Space Aimed::space() const {
  const Bindings facts = joined(gpu_.facts, target_.options);
  std::vector<Family> families = load_families(shipped_templates(), task_);
  Target any = target_;
  any.objective.clear();  // Genomes of every objective.
  for (Family& family : families) keep_constraints_of(any, family);
  return Space(std::move(families), facts, specialisations_of(task_, target_));
}

std::vector<Genome> Aimed::sample(const Space& space, int count, std::uint64_t seed) const {
  Rng rng(seed);
  std::vector<Genome> genomes;
  for (int i = 0; i < count; ++i) genomes.push_back(space.sample(rng));
  return genomes;
}

Candidate Aimed::candidate(const Space& space, const Genome& genome) const {
  return make_candidate(shipped_templates(), task_, space.family(genome.family), genome, target_, gpu_.facts);
}

}  // namespace evo::test
