#include "evaluator/pipeline/profiler.h"

#include <utility>

#include "engine/base/error.h"
#include "engine/device/device_kind.h"
#include "evaluator/compile/compiler.h"
#include "evaluator/device/inputs.h"
#include "evaluator/hosts/binary_cache.h"
#include "evaluator/judge/made_inputs.h"

namespace evo {
namespace {

CaseRecipe profiled_case(const PipelineOptions& options, const Shape& shape) {
  return recipe_of_case(options.task, options.target.options, shape, options.task.regimes.front(), 1, options.salt);
}

}  // namespace

Profiler::Profiler(const PipelineOptions& options, const StopSignal* stop)
    : options_(options),
      run_deadline_s_(options.run_deadline_s > 0 ? options.run_deadline_s
                                                 : kind_named(options.device.kind).run_deadline_s),
      compiler_(options, stop),
      device_(worker_options(options, {"device", options.device.id}, stop)) {}

template <typename T>
std::optional<Failure> Profiler::ask(protocol::Request request, T& reply) {
  auto answer = device_.ask<T>(std::move(request), run_deadline_s_);
  if (auto* good = std::get_if<T>(&answer)) {
    reply = std::move(*good);
    return std::nullopt;
  }
  if (const auto* lost = std::get_if<Lost>(&answer)) return Failure{verdict_of(*lost), lost->reason};
  device_.stop();
  if (auto* failure = std::get_if<Failure>(&answer)) return std::move(*failure);
  throw machine_error(std::get<protocol::Broken>(answer).message);
}

Profiler::Result Profiler::profile(const Candidate& candidate) {
  std::vector<Binary> binaries;
  for (const Program& program : candidate.programs) {
    auto compiled = compiler_.compile(program, options_.device.arch);
    if (auto* failure = std::get_if<Failure>(&compiled)) return std::move(*failure);
    binaries.push_back(std::move(std::get<Binary>(compiled)));
  }
  return profile(candidate, binaries);
}

Profiler::Result Profiler::profile(const Candidate& candidate, const std::vector<Binary>& binaries) {
  std::vector<Profile> profiles;
  for (const Shape& shape : options_.target.timed) {
    const auto number = program_for(candidate, shape.name);
    if (!number) continue;
    const Program& program = candidate.programs[*number];
    protocol::Done loaded;
    const std::uint64_t module = *number + 1;
    device_.start();
    const protocol::Load load{module, binaries[*number], program.plans};
    if (auto failure = ask(load, loaded)) return translated(*std::move(failure), program);
    protocol::Profiled profiled;
    const protocol::ReadCounters request{module, shape.name, profiled_case(options_, shape)};
    if (auto failure = ask(request, profiled)) return translated(*std::move(failure), program);
    profiles.push_back({shape.name, kind_named(options_.device.kind).modelled, std::move(profiled.launches)});
  }
  return profiles;
}

}  // namespace evo
