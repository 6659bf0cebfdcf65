#include "tests/population/export_fixture.h"

#include <sys/wait.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>

#include "engine/space/space.h"
#include "engine/task/scope.h"
#include "population/code/target_guard.h"

namespace evo::test {

namespace fs = std::filesystem;

SourceTree load_tree(const fs::path& templates) {
  SourceTree tree;
  for (const auto& entry : fs::recursive_directory_iterator(templates)) {
    if (!entry.is_regular_file()) continue;
    std::ifstream file(entry.path(), std::ios::binary);
    tree[fs::relative(entry.path(), templates).string()] = {std::istreambuf_iterator<char>(file), {}};
  }
  return tree;
}

SourceTree toy_tree() {
  return load_tree(fs::path(EVO_SOURCE_DIR) / "tests/population/exported/templates");
}

ExportRequest export_request(const SourceTree& tree, const std::string& task, const std::vector<std::string>& shapes,
                             const Bindings& wish, int sm) {
  ExportRequest request;
  request.files = files_of_task(tree, task);
  request.task = load_task(tree, task);
  Provenance& provenance = request.provenance;
  provenance.target = make_target(request.task, "cuda", shapes, {});
  const DeviceLimits limits{sm, 101376, 102400, 65536, 1024, 58};
  const std::string arch = "sm_" + std::to_string(sm) + (sm == 90 ? "a" : "");
  provenance.device = {"cuda:0", "cuda", "Test GPU", arch, "GPU-1", "580.1", facts_of(limits)};
  const Bindings facts = joined(provenance.device.facts, provenance.target.options);
  const Space space(load_families(tree, request.task), facts, specialisations_of(request.task, provenance.target));
  Rng rng(1);
  provenance.genome = space.complete({space.families().front().name, wish}, rng);
  request.family = space.family(provenance.genome.family);
  const Candidate candidate =
      make_candidate(tree, request.task, request.family, provenance.genome, provenance.target, provenance.device.facts);
  request.programs = candidate.programs;
  for (const Program& program : candidate.programs) {
    request.references.push_back(
        reference_program(tree, request.task, provenance.target.options, program.specialisation, {}));
  }
  provenance.task = request.task.name;
  provenance.task_hash = request.task.hash;
  provenance.objective = objective_of(provenance.target);
  provenance.latency_us = 8.9123;
  provenance.worst_relative_l2 = 0.0125;
  for (const Shape& shape : provenance.target.timed) {
    provenance.timings.push_back({shape.name, false, false, 8.91, 8.9, 8.95, 0, {}, {1965, 1980, 3201, 2, true}});
  }
  provenance.salt = 0xfedcba9876543210u;
  provenance.run = 3;
  provenance.candidate = 217;
  provenance.evo_version = "0.1.0";
  provenance.nvrtc_version = "13.0";
  provenance.compile_flags = {"--std=c++17"};
  return request;
}

std::string source_in_export(const ExportRequest& request, std::size_t program) {
  return guarded_source(request.programs[program].source, target_guard({&request, 1}).macro);
}

CommandResult run_command(const std::string& command) {
  std::FILE* pipe = ::popen(("(" + command + ") 2>&1").c_str(), "r");
  CommandResult result;
  char buffer[4096];
  for (std::size_t count; (count = std::fread(buffer, 1, sizeof buffer, pipe)) > 0;)
    result.output.append(buffer, count);
  const int status = ::pclose(pipe);
  result.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return result;
}

namespace {

std::string toolkit_file(const std::string& name) {
  std::vector<fs::path> roots = {"/usr/local/cuda", "/usr"};
  if (const char* home = std::getenv("CUDA_HOME")) roots.insert(roots.begin(), home);
  for (const fs::path& root : roots) {
    if (fs::exists(root / name)) return (root / name).string();
  }
  return {};
}

}  // namespace

std::string cuda_include_folder() {
  const std::string header = toolkit_file("include/cuda.h");
  return header.empty() ? "" : fs::path(header).parent_path().string();
}

std::string nvcc_path() {
  return toolkit_file("bin/nvcc");
}

}  // namespace evo::test
