#include "evaluator/judge/diagnosis.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>
#include <variant>

#include "engine/base/error.h"
#include "engine/device/device_kind.h"
#include "engine/task/calibration.h"
#include "engine/task/limits.h"
#include "engine/task/scope.h"
#include "evaluator/compile/compiler.h"
#include "evaluator/hosts/compile_worker.h"
#include "evaluator/judge/cases.h"
#include "evaluator/judge/comparison.h"
#include "evaluator/judge/isolated_case.h"
#include "evaluator/judge/oracle.h"
#include "evaluator/judge/output_comparison.h"
#include "evaluator/numbers/elements.h"
#include "evaluator/worker/worker_client.h"

namespace evo {
namespace {

/// Probes that write more are left alone: isolating inputs are smaller.
constexpr std::uint64_t kMostProbedBytes = 128 << 20;
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

}  // namespace

struct Diagnostician::Impl {
  /// References of the shapes of some cases.
  struct References {
    PipelineOptions options;
    CasePlan plan;
    std::unique_ptr<ExtraOracles> oracles;
  };

  explicit Impl(const PipelineOptions& given)
      : options(given),
        calibration(load_calibration(given.tree, given.task)),
        stages(load_stages(given.tree, given.task, given.target.options)),
        compiler(given, nullptr),
        device(worker_options(given, {"device", given.device.id}, nullptr)) {
    if (options.run_deadline_s == 0) options.run_deadline_s = kind_named(options.device.kind).run_deadline_s;
    grid.options = options;
    grid.plan = plan_cases(options.task, options.target, options.device.kind, options.salt);
    grid.oracles = std::make_unique<ExtraOracles>(grid.options, grid.plan, nullptr);
  }

  Diagnosis diagnose(const DiagnosisSubject& subject) {
    Diagnosis diagnosis;
    const Case* wrong_case = first_wrong(subject.make(options.target), diagnosis);
    if (wrong_case != nullptr) {
      std::vector<std::string> suspects = all_stages();
      if (subject.make_probed) suspects = probe(subject.make_probed, *wrong_case, diagnosis);
      isolate(subject.make, *wrong_case, suspects, diagnosis);
      if (diagnosis.stage.empty() && suspects.size() < stages.stages.size()) diagnosis.stage = suspects.back();
    }
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

  std::vector<std::string> all_stages() const {
    std::vector<std::string> names;
    for (const Stage& stage : stages.stages) names.push_back(stage.name);
    return names;
  }

  // ---- Probes

  /// The stages of the first wrong probe. When all probes are right: those that none looks at. All stages when the
  /// probes say nothing.
  std::vector<std::string> probe(const MakeCandidate& make_probed, const Case& one, Diagnosis& diagnosis) {
    Target target = options.target;
    target.timed = target.validated = {one.shape};
    const Candidate candidate = make_probed(target);
    const Plan& plan = candidate.programs.front().plans.at(one.shape.name);
    std::vector<std::byte> outputs;
    if (protocol::output_bytes(plan) > kMostProbedBytes || load(candidate) || run(candidate, one, outputs))
      return all_stages();
    const Plan reference = reference_plan_of(one, target);
    const std::vector<std::byte> wanted = run_reference(one, target);
    std::vector<std::string> unprobed = all_stages();
    for (const Probe& probe : stages.probes) {
      const std::vector<double> got = floats_of(plan, probe.tensor.name, outputs);
      std::vector<double> want = floats_of(reference, probe.tensor.name, wanted);
      if (std::ranges::none_of(got, [](double value) { return std::isfinite(value); })) continue;
      leave_out_unbegun(*diagnosis.wrong, got, want);
      ProbedValues& values = diagnosis.probes.emplace_back(ProbedValues{probe.tensor.name, probe.about, {}});
      values.wrong = compared(probe, one, got, want);
      if (values.wrong) return probe.stages;
      std::erase_if(unprobed, [&](const std::string& stage) {
        return std::ranges::find(probe.stages, stage) != probe.stages.end();
      });
    }
    return diagnosis.probes.empty() || unprobed.empty() ? all_stages() : unprobed;
  }

  /// Where a whole row of the answer is missing and its probe, too, the row was never begun: that says nothing about
  /// the stage of the probe. Rows of a probe are those of the answer, whatever number of values each has.
  static void leave_out_unbegun(const WrongAnswer& answer, const std::vector<double>& got, std::vector<double>& want) {
    const std::uint64_t rows = answer.missing_rows.size();
    if (rows == 0 || got.size() % rows != 0) return;
    const std::uint64_t row = got.size() / rows;
    for (std::uint64_t i = 0; i < rows; ++i) {
      const auto begin = static_cast<std::ptrdiff_t>(i * row), end = static_cast<std::ptrdiff_t>((i + 1) * row);
      const bool begun = std::any_of(got.begin() + begin, got.begin() + end, [](double x) { return std::isfinite(x); });
      if (answer.missing_rows[i] && !begun) std::fill(want.begin() + begin, want.begin() + end, std::nan(""));
    }
  }

  Program probe_reference(const Case& one, const Target& target) const {
    const Bindings specialisation = specialisations_of(options.task, target).front();
    return reference_program(options.tree, *stages.probe_task, target.options, specialisation, {one.shape});
  }

  Plan reference_plan_of(const Case& one, const Target& target) const {
    return probe_reference(one, target).plans.at(one.shape.name);
  }

  std::vector<std::byte> run_reference(const Case& one, const Target& target) {
    Candidate reference;
    reference.programs.push_back(probe_reference(one, target));
    std::vector<std::byte> outputs;
    std::optional<Failure> failure = load(reference);
    if (!failure) failure = run(reference, one, outputs);
    if (failure) throw usage_error(fmt::format("{}: {}", stages.probe_task->reference, failure->reason));
    return outputs;
  }

  static std::vector<double> floats_of(const Plan& plan, const std::string& name,
                                       const std::vector<std::byte>& outputs) {
    std::vector<double> values;
    std::size_t offset = 0;
    for (const PlanTensor& tensor : plan.tensors) {
      if (!tensor.output) continue;
      if (tensor.name == name)
        for (std::uint64_t i = 0; i < tensor.bytes / sizeof(float); ++i)
          values.push_back(as_double(load_at(DType::f32, outputs.data() + offset, i)));
      offset += tensor.bytes;
    }
    return values;
  }

  /// What the reference leaves unwritten has no meaning: a masked score. Negligible differences have none either.
  std::optional<WrongAnswer> compared(const Probe& probe, const Case& one, std::vector<double> got,
                                      std::vector<double> want) const {
    for (std::size_t i = 0; i < want.size(); ++i)
      if (!std::isfinite(want[i])) {
        got[i] = want[i] = 0;
      } else if (std::abs(got[i] - want[i]) <= probe.negligible) {
        got[i] = want[i];
      }
    const Bindings known = joined(options.target.options, one.shape.parameters);
    Limits limits;
    limits.relative_l2 = probe.tolerance;
    limits.row_l2 = kRowFactor * probe.tolerance;
    const ExpectedOutput expected = as_expected(want);
    const ExpectedOutput written = as_expected(got);
    ComparedOutput output{probe.tensor.name, limits, {}};
    const std::vector<std::int64_t> dims = dims_of(probe.tensor, known);
    output.difference = compare(DType::f32, written.bytes, expected, limits, static_cast<std::uint64_t>(dims.back()));
    output.got_dtype = DType::f32;
    output.got = written.bytes;
    output.want = &expected;
    output.elements = want.size();
    return wrong_answer(*stages.probe_task, options.target.options, one, output);
  }

  // ---- Isolating inputs

  /// The stage of the first isolation of a suspect whose answer is wrong.
  void isolate(const MakeCandidate& make, const Case& like, const std::vector<std::string>& suspects,
               Diagnosis& diagnosis) {
    std::vector<Case> cases;
    for (const Isolation& isolation : stages.isolations)
      cases.push_back(isolated_case(options.task, options.target.options, isolation, like, options.salt));
    References& references = references_for(cases);
    const Candidate candidate = make(references.options.target);
    if (load(candidate)) return;
    for (std::size_t i = 0; i < cases.size(); ++i) {
      const Case& one = cases[i];
      const Isolation& isolation = stages.isolations[i];
      if (std::ranges::find(suspects, isolation.stage) == suspects.end()) continue;
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
  std::optional<Failure> ask(protocol::Request request, std::uint64_t payload, T& reply) {
    auto answer = device.ask<T>(std::move(request), options.run_deadline_s, payload);
    if (auto* good = std::get_if<T>(&answer)) {
      reply = std::move(*good);
      return std::nullopt;
    }
    if (const auto* lost = std::get_if<Lost>(&answer)) return failure_of(*lost);
    if (auto* failure = std::get_if<Failure>(&answer)) {
      if (failure->device_lost) device.stop();
      return std::move(*failure);
    }
    device.stop();
    return Failure{Verdict::harness_failed, std::get<protocol::Broken>(answer).message};
  }

  /// Builds the programs and loads them as modules 1, 2, ...
  std::optional<Failure> load(const Candidate& candidate) {
    device.stop();
    for (std::size_t i = 0; i < candidate.programs.size(); ++i) {
      const Program& program = candidate.programs[i];
      if (!binaries.contains(program.source_hash)) {
        auto compiled = compiler.compile(program, options.device.arch);
        if (auto* failure = std::get_if<Failure>(&compiled)) return std::move(*failure);
        binaries[program.source_hash] = std::move(std::get<Binary>(compiled));
      }
      protocol::Done done;
      if (auto failure = ask(protocol::Load{i + 1, binaries.at(program.source_hash), program.plans}, 0, done))
        return translated(*std::move(failure), program);
    }
    return std::nullopt;
  }

  std::optional<Failure> run(const Candidate& candidate, const Case& one, std::vector<std::byte>& outputs) {
    const std::size_t number = *program_for(candidate, one.shape.name);
    const Plan& plan = candidate.programs[number].plans.at(one.shape.name);
    protocol::Ran ran;
    const std::uint64_t bytes = protocol::output_bytes(plan);
    if (auto failure = ask(protocol::Run{number + 1, one.shape.name, one.recipe, 1}, bytes, ran))
      return translated(*std::move(failure), candidate.programs[number]);
    if (ran.outputs.size() != bytes) return Failure{Verdict::harness_failed, "an answer of the wrong size"};
    outputs = std::move(ran.outputs);
    return std::nullopt;
  }

  PipelineOptions options;
  std::optional<Calibration> calibration;
  Stages stages;
  CompileWorker compiler;
  WorkerClient device;
  References grid;
  std::map<std::string, References> isolated;  ///< By their shapes.
  std::map<std::string, Binary> binaries;      ///< By the program's hash.
};

Diagnostician::Diagnostician(const PipelineOptions& options) : impl_(std::make_unique<Impl>(options)) {}
Diagnostician::~Diagnostician() = default;

Diagnosis Diagnostician::diagnose(const DiagnosisSubject& subject) {
  return impl_->diagnose(subject);
}

const Stages& Diagnostician::stages() const {
  return impl_->stages;
}

}  // namespace evo
