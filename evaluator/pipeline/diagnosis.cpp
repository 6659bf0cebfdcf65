#include "evaluator/pipeline/diagnosis.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>
#include <variant>

#include "engine/device/device_kind.h"
#include "engine/task/calibration.h"
#include "engine/task/limits.h"
#include "evaluator/compile/compiler.h"
#include "evaluator/pipeline/cases.h"
#include "evaluator/pipeline/comparison.h"
#include "evaluator/pipeline/isolated_case.h"
#include "evaluator/pipeline/oracle.h"
#include "evaluator/pipeline/output_comparison.h"
#include "evaluator/worker/worker_client.h"

namespace evo {
namespace {

/// A single row may err by this many times the limit of the whole answer.
constexpr double kRowFactor = 4;

std::string text_of(const Case& one) {
  return fmt::format("shape {}, regime {}, seed {}", one.shape.name, one.regime.name, one.seed);
}

FreeFactor free_factor(Isolation::Free free) {
  switch (free) {
    case Isolation::Free::row:
      return FreeFactor::row;
    case Isolation::Free::matrix:
      return FreeFactor::matrix;
    case Isolation::Free::nothing:
      break;
  }
  return FreeFactor::none;
}

/// References of the shapes of some cases.
struct References {
  PipelineOptions options;
  CasePlan plan;
  std::unique_ptr<ExtraOracles> oracles;
};

}  // namespace

struct Diagnostician::Impl {
  explicit Impl(const PipelineOptions& given)
      : options(given),
        calibration(load_calibration(given.tree, given.task)),
        stages(load_stages(given.tree, given.task, given.target.options)),
        compiler(worker_options(given, {"compile"}, nullptr)),
        device(worker_options(given, {"device", given.device.id}, nullptr)) {
    if (options.run_deadline_s == 0) options.run_deadline_s = kind_named(options.device.kind).run_deadline_s;
    grid.options = options;
    grid.plan = plan_cases(options.task, options.target, options.device.kind, options.salt);
    grid.oracles = std::make_unique<ExtraOracles>(grid.options, grid.plan, nullptr);
  }

  Diagnosis diagnose(const MakeCandidate& make) {
    Diagnosis diagnosis;
    const Case* wrong_case = first_wrong(make(options.target), diagnosis);
    if (wrong_case != nullptr) isolate(make, *wrong_case, diagnosis);
    const auto stage = std::ranges::find(stages.stages, diagnosis.stage, &Stage::name);
    if (stage != stages.stages.end()) diagnosis.about = stage->about;
    return diagnosis;
  }

  /// The first case of the grid that is not right; null when all are, or one has no answer.
  const Case* first_wrong(const Candidate& candidate, Diagnosis& diagnosis) {
    if ((diagnosis.failure = load(candidate))) return nullptr;
    std::vector<std::size_t> order = {grid.plan.smoke};
    for (std::size_t i = 0; i < grid.plan.cases.size(); ++i)
      if (i != grid.plan.smoke) order.push_back(i);
    for (const std::size_t number : order) {
      const Case& one = grid.plan.cases[number];
      if (!program_for(candidate, one.shape.name)) continue;
      std::vector<std::byte> outputs;
      if ((diagnosis.failure = run(candidate, one, outputs))) {
        diagnosis.failed_case = text_of(one);
        return nullptr;
      }
      const Isolation as_validated;
      diagnosis.wrong = compared(candidate, one, *grid.oracles->get(one), outputs, as_validated);
      if (diagnosis.wrong) return &one;
    }
    return nullptr;
  }

  /// The stage of the first isolation whose answer is wrong.
  void isolate(const MakeCandidate& make, const Case& like, Diagnosis& diagnosis) {
    std::vector<Case> cases;
    for (const Isolation& isolation : stages.isolations)
      cases.push_back(isolated_case(options.task, options.target.options, isolation, like, options.salt));
    References& references = references_for(cases);
    const Candidate candidate = make(references.options.target);
    if (load(candidate)) return;
    for (std::size_t i = 0; i < cases.size(); ++i) {
      const Case& one = cases[i];
      const Isolation& isolation = stages.isolations[i];
      Attempt& attempt = diagnosis.attempts.emplace_back(
          Attempt{isolation.stage, isolation.about, one.shape.name, one.regime.name, {}, {}});
      std::vector<std::byte> outputs;
      if (!program_for(candidate, one.shape.name)) continue;
      if ((attempt.failure = run(candidate, one, outputs))) return;
      attempt.wrong = compared(candidate, one, *references.oracles->get(one), outputs, isolation);
      if (!attempt.wrong) continue;
      diagnosis.stage = isolation.stage;
      return;
    }
  }

  References& references_for(const std::vector<Case>& cases) {
    std::string key;
    std::vector<Shape> shapes;
    for (const Case& one : cases) {
      if (std::ranges::find(shapes, one.shape.name, &Shape::name) != shapes.end()) continue;
      shapes.push_back(one.shape);
      for (const auto& [name, value] : one.shape.parameters) key += name + "=" + expr::to_string(value) + " ";
    }
    const auto [found, is_new] = isolated.try_emplace(key);
    References& references = found->second;
    if (!is_new) return references;
    references.options = options;
    references.options.target.timed = shapes;
    references.options.target.validated = shapes;
    references.plan.cases = cases;
    references.oracles = std::make_unique<ExtraOracles>(references.options, references.plan, nullptr);
    return references;
  }

  // ---- Answers

  /// The first output that breaks the limits of the task, or the isolation's own.
  std::optional<WrongAnswer> compared(const Candidate& candidate, const Case& one, const Expected& expected,
                                      const std::vector<std::byte>& outputs, const Isolation& isolation) const {
    const Plan& plan = candidate.programs[*program_for(candidate, one.shape.name)].plans.at(one.shape.name);
    const auto limits_of = [&](const Tensor& output) {
      Limits limits = limits_of_output(options.task, output, options.target.options,
                                       limits_for(calibration, options.task, one.regime.name));
      if (isolation.tolerance > 0 && !limits.exact) {
        limits = {};
        limits.relative_l2 = isolation.tolerance;
        limits.row_l2 = kRowFactor * isolation.tolerance;
      }
      return limits;
    };
    for (const ComparedOutput& output :
         compare_outputs(options.task, options.target.options, one, plan, expected, outputs, limits_of)) {
      if (isolation.written && output.difference.not_finite == 0) continue;
      if (auto wrong = wrong_answer(options.task, options.target.options, one, output, free_factor(isolation.free)))
        return wrong;
    }
    return std::nullopt;
  }

  // ---- Workers

  static Failure failure_of(const Lost& lost) { return {verdict_of(lost), lost.reason}; }

  template <typename T>
  std::optional<Failure> ask(WorkerClient& worker, protocol::Request request, double deadline_s, std::uint64_t payload,
                             T& reply) {
    auto answer = worker.ask<T>(std::move(request), deadline_s, payload);
    if (auto* good = std::get_if<T>(&answer)) {
      reply = std::move(*good);
      return std::nullopt;
    }
    if (const auto* lost = std::get_if<Lost>(&answer)) return failure_of(*lost);
    if (auto* failure = std::get_if<Failure>(&answer)) {
      if (failure->device_lost) worker.stop();
      return std::move(*failure);
    }
    worker.stop();
    return Failure{Verdict::harness_failed, std::get<protocol::Broken>(answer).message};
  }

  /// Builds the programs and loads them as modules 1, 2, ...
  std::optional<Failure> load(const Candidate& candidate) {
    device.stop();
    for (std::size_t i = 0; i < candidate.programs.size(); ++i) {
      const Program& program = candidate.programs[i];
      if (!binaries.contains(program.source_hash)) {
        protocol::Compiled compiled;
        if (auto failure = ask(compiler, protocol::compile_request(program, options.device.arch),
                               options.compile_deadline_s, 0, compiled))
          return translated(*std::move(failure), program);
        binaries[program.source_hash] = std::move(compiled.binary);
      }
      protocol::Done done;
      if (auto failure =
              ask(device, protocol::Load{i + 1, binaries.at(program.source_hash)}, options.run_deadline_s, 0, done))
        return translated(*std::move(failure), program);
    }
    return std::nullopt;
  }

  std::optional<Failure> run(const Candidate& candidate, const Case& one, std::vector<std::byte>& outputs) {
    const std::size_t number = *program_for(candidate, one.shape.name);
    const Plan& plan = candidate.programs[number].plans.at(one.shape.name);
    protocol::Ran ran;
    const std::uint64_t bytes = protocol::output_bytes(plan);
    if (auto failure = ask(device, protocol::Run{number + 1, plan, one.recipe, 1}, options.run_deadline_s, bytes, ran))
      return translated(*std::move(failure), candidate.programs[number]);
    if (ran.outputs.size() != bytes) return Failure{Verdict::harness_failed, "an answer of the wrong size"};
    outputs = std::move(ran.outputs);
    return std::nullopt;
  }

  PipelineOptions options;
  std::optional<Calibration> calibration;
  Stages stages;
  WorkerClient compiler, device;
  References grid;
  std::map<std::string, References> isolated;  ///< By their shapes.
  std::map<std::string, Binary> binaries;      ///< By the program's hash.
};

Diagnostician::Diagnostician(const PipelineOptions& options) : impl_(std::make_unique<Impl>(options)) {}
Diagnostician::~Diagnostician() = default;

Diagnosis Diagnostician::diagnose(const MakeCandidate& make) {
  return impl_->diagnose(make);
}

}  // namespace evo
