#include "cli/check/closer_look.h"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <variant>

#include "cli/check/argument_check.h"
#include "cli/check/sanitised_program.h"
#include "cli/check/usual_cases.h"
#include "engine/base/error.h"
#include "engine/device/device_kind.h"
#include "engine/task/floor.h"
#include "evaluator/compile/compiler.h"
#include "evaluator/hosts/compile_worker.h"

namespace evo::cli {
namespace {

constexpr std::size_t kMostShapes = 3;
/// Some seconds of one core.
constexpr std::uint64_t kWarpInstructions = 4'000'000, kLaunchInstructions = 20'000'000;

std::vector<Case> cheapest_cases(const Restored& rejected) {
  const Target& target = rejected.run.info.target;
  const DeviceKind& kind = kind_named(vgpu::kKind);
  std::vector<Case> cases = usual_cases(rejected.task, target);
  std::erase_if(cases, [&](const Case& one) {
    return work_of(rejected.task, target.options, one.shape, kind) > kind.held_out_work;
  });
  cases.resize(std::min(cases.size(), kMostShapes));
  return cases;
}

/// The first finding but for that of the instructions being spent.
std::vector<std::string> first_finding(SanitisedProgram& program, const Case& one) {
  program.limit_instructions(kWarpInstructions, kLaunchInstructions);
  const auto answer = program.run(one);
  const auto* failure = std::get_if<Failure>(&answer);
  const bool spent = failure != nullptr && failure->verdict == Verdict::timed_out;
  for (const PlacedFinding& found : program.findings())
    if (!spent || found.finding.kind != vgpu::FindingKind::fault) return {found.brief()};
  return {};
}

std::vector<std::string> look(const Restored& rejected, const DeviceInfo& device) {
  const Candidate candidate = restored_candidate(rejected, rejected.run.info.target);
  CompileWorker compiler(device);
  std::map<std::size_t, Binary> binaries;
  for (const Case& one : cheapest_cases(rejected)) {
    const std::optional<std::size_t> number = program_for(candidate, one.shape.name);
    if (!number) continue;
    const Program& program = candidate.programs[*number];
    if (!binaries.contains(*number)) {
      auto compiled = compiler.compile(program, device.arch);
      if (std::holds_alternative<Failure>(compiled)) return {};
      binaries.emplace(*number, std::move(std::get<Binary>(compiled)));
    }
    const Binary& binary = binaries.at(*number);
    const Plan& plan = program.plans.at(one.shape.name);
    if (auto wrong = wrong_arguments(binary, plan, rejected.family); !wrong.empty()) return wrong;
    SanitisedProgram sanitised(device, program, binary);
    if (auto found = first_finding(sanitised, one); !found.empty()) return found;
  }
  return {};
}

}  // namespace

bool deserves_closer_look(Verdict verdict) {
  return verdict == Verdict::wrong_answer || verdict == Verdict::unrepeatable || verdict == Verdict::crashed ||
         verdict == Verdict::launch_failed;
}

std::vector<std::string> closer_look(const Restored& rejected) {
  const std::optional<DeviceInfo> device = virtual_device_for(rejected.run.info.device);
  if (!device) return {};
  try {
    return look(rejected, *device);
  } catch (const Error&) {
    return {};  // It is an addition to a verdict that stands.
  }
}

}  // namespace evo::cli
