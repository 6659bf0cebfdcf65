#include "evaluator/pipeline/program_building.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>
#include <variant>

#include "engine/base/error.h"
#include "evaluator/compile/compiler.h"
#include "evaluator/pipeline/gates.h"

namespace evo {
namespace {

std::string name_of_specialisation(const Bindings& specialisation) {
  std::string text;
  for (const auto& [name, value] : specialisation) {
    text += fmt::format("{}{}={}", text.empty() ? "" : ",", name, expr::to_string(value));
  }
  return text;
}

/// Adds the build of one program to the job. Gives why the program may not be run.
std::optional<Failure> add_program(CandidateJob& job, const Program& program, const CompilePool::Result& result,
                                   const DeviceInfo& device) {
  Build& build = job.built.builds.emplace_back();
  std::optional<Failure> failure;
  if (const auto* binary = std::get_if<Binary>(&result)) {
    failure = check_build(program, *binary, device);
    build = binary->build;
    build.log = program.lines.translated(binary->build.log);
    job.binaries.push_back(*binary);
    std::ranges::move(residency_of(program, binary->build, device.limits), std::back_inserter(job.built.residency));
  } else {
    failure = translated(std::get<Failure>(result), program);
    build.log = failure->log;
  }
  build.specialisation = name_of_specialisation(program.specialisation);
  build.arch = device.arch;
  return failure;
}

}  // namespace

std::string key_of_builds(const Candidate& candidate, const std::vector<Build>& builds) {
  std::string key = candidate.plans_hash();
  for (const Build& build : builds) key.append(" ").append(build.cubin_hash);
  return key;
}

void start_compiling(CandidateJob& job, CompilePool& pool, const DeviceInfo& device) {
  for (const Program& program : job.candidate.programs)
    job.compiled.push_back(pool.compile(compile_request(program, device.arch)));
}

void finish_building(CandidateJob& job, const DeviceInfo& device) {
  job.built = {};
  job.binaries.clear();
  job.built.verdict = Verdict::valid;
  for (std::size_t i = 0; i < job.compiled.size(); ++i) {
    auto failure = add_program(job, job.candidate.programs[i], job.compiled[i].get(), device);
    if (!failure || job.built.verdict != Verdict::valid) continue;
    job.built.verdict = failure->verdict;
    job.built.reason = std::move(failure->reason);
  }
}

std::vector<Binary> binaries_of(const Candidate& candidate, CompilePool& pool, const DeviceInfo& device) {
  std::vector<Binary> binaries;
  for (const Program& program : candidate.programs) {
    const CompilePool::Result result = pool.compile(compile_request(program, device.arch)).get();
    if (const auto* failure = std::get_if<Failure>(&result)) {
      throw machine_error(
          fmt::format("what compiled before does not compile for {}: {}", device.arch, failure->reason));
    }
    binaries.push_back(std::get<Binary>(result));
  }
  return binaries;
}

}  // namespace evo
