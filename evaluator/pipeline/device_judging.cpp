#include "evaluator/pipeline/device_judging.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <variant>

#include "engine/device/device_kind.h"
#include "engine/task/candidate.h"
#include "engine/task/floor.h"
#include "engine/task/limits.h"
#include "engine/task/plan_resolution.h"
#include "evaluator/judge/oracle.h"
#include "evaluator/judge/output_comparison.h"
#include "evaluator/judge/torch_reference.h"
#include "evaluator/kernels/device_judge.h"

namespace evo {
namespace {

constexpr std::int64_t kShareOfMemory = 4;
/// A worker may be lost by chance. So many were not.
constexpr int kMostLosses = 3;

/// The outputs of a case, as candidates and the reference store them.
struct OutputBytes {
  std::uint64_t got = 0, wanted = 0;
};

/// Empty where one of the outputs cannot be compared on a device.
std::optional<OutputBytes> comparable(const PipelineOptions& options, const Case& one, const Limits& of_regime) {
  OutputBytes bytes;
  for (const Tensor& output : options.task.outputs) {
    if (!is_present(output, options.target.options)) continue;
    const Limits limits = limits_of_output(options.task, output, options.target.options, of_regime);
    const DType got = dtype_of(output, options.target.options), wanted = reference_dtype(options.task, output, got);
    // Absolute limits grow with the answers of another regime than the first.
    const bool usual = one.regime.name == options.task.regimes_of(options.target.objective).front().name;
    const bool needs_answers = limits.follow_emulation() || (limits.atol > 0 && !usual);
    if (!output.strides.empty() || !output.scale.empty() || needs_answers || !can_compare(got, wanted))
      return std::nullopt;
    const std::uint64_t elements = output_elements(output, options.target.options, one.shape);
    bytes.got += bytes_for(got, elements);
    bytes.wanted += bytes_for(wanted, elements);
  }
  return bytes;
}

}  // namespace

std::vector<bool> judged_there(const PipelineOptions& options, const std::optional<Calibration>& calibration,
                               const CasePlan& plan) {
  std::vector<bool> judged(plan.cases.size());
  if (has_torch_reference(options.task) || options.only_judging || (calibration && !calibration->average.empty()))
    return judged;
  const DeviceKind& kind = kind_named(options.device.kind);
  std::uint64_t room = static_cast<std::uint64_t>(options.device.memory_bytes / kShareOfMemory);
  for (std::size_t i = 0; i < plan.cases.size(); ++i) {
    const Case& one = plan.cases[i];
    const Limits limits =
        limits_for(calibration, options.task, limits_of(options.task, options.target), one.regime.name);
    const auto bytes = comparable(options, one, limits);
    if (!bytes || bytes->got < options.judged_there_from || bytes->wanted > room) continue;
    const Floor floor = floor_of(options.task, options.target.options, one.shape);
    if (static_cast<double>(floor.flops) > kind.work_per_byte * static_cast<double>(floor.bytes)) continue;
    judged[i] = true;
    room -= bytes->wanted;
  }
  return judged;
}

void DeviceJudging::leave_to_host(const std::string& why) {
  if (options_.notice)
    options_.notice(fmt::format("{}: the host draws inputs and compares outputs, since the device cannot: {}",
                                called(options_.device), why));
  cases_.assign(cases_.size(), false);
  kept_ = cases_;
  programs_.clear();
}

void DeviceJudging::lose_worker(const Lost& lost) {
  kept_.assign(cases_.size(), false);
  starts_ = 0;
  if (lost.how == Lost::How::timed_out || ++losses_ == kMostLosses) leave_to_host(lost.reason);
}

DeviceJudging::DeviceJudging(const PipelineOptions& options, const CasePlan& plan, const std::vector<bool>& cases,
                             CompilePool& pool)
    : options_(options), plan_(plan), cases_(cases), kept_(cases.size()) {
  const bool judges = std::ranges::find(cases_, true) != cases_.end();
  if (!judges && !has_large_inputs(plan, options.judged_there_from)) return;
  add(judge_program(), pool);
  if (!judges) return;
  for (const Bindings& specialisation : specialisations_of(options.task, options.target))
    add(reference_program(options.tree, options.task, options.target.options, specialisation,
                          shapes_of(options.task, options.target, specialisation)),
        pool);
}

void DeviceJudging::add(Program program, CompilePool& pool) {
  auto compiled = pool.compile(compile_request(program, options_.device.arch));
  programs_.push_back({std::move(program), std::move(compiled)});
}

/// False: the device's worker does not have them all, and the host judges.
bool DeviceJudging::load(WorkerClient& device) {
  kept_.assign(cases_.size(), false);
  for (std::size_t i = 0; i < programs_.size(); ++i) {
    const CompilePool::Result& compiled = programs_[i].compiled.get();
    const auto* binary = std::get_if<Binary>(&compiled);
    if (binary == nullptr) return leave_to_host(std::get<Failure>(compiled).reason), false;
    const protocol::Load request{protocol::kJudgeModule + i, *binary, programs_[i].program.plans};
    const auto answer = device.ask<protocol::Done>(request, options_.run_deadline_s);
    if (const auto* lost = std::get_if<Lost>(&answer)) return lose_worker(*lost), false;
    if (!std::holds_alternative<protocol::Done>(answer))
      return leave_to_host("its worker does not load the judge's kernels"), false;
  }
  starts_ = device.starts();
  return true;
}

/// Its module.
std::optional<std::uint64_t> DeviceJudging::reference_for(const Case& one) const {
  for (std::size_t i = 1; i < programs_.size(); ++i)
    if (programs_[i].program.plans.contains(one.shape.name)) return protocol::kJudgeModule + i;
  return std::nullopt;
}

void DeviceJudging::make_ready(WorkerClient& device) {
  if (programs_.empty()) return;
  if (starts_ != device.starts() && !load(device)) return;
  for (std::size_t i = 0; i < cases_.size(); ++i) {
    if (!cases_[i] || kept_[i]) continue;
    const Case& one = plan_.cases[i];
    const std::optional<std::uint64_t> reference = reference_for(one);
    if (!reference) return leave_to_host("no reference for shape " + one.shape.name);
    const auto answer = device.ask<protocol::Done>(
        protocol::KeepAnswer{*reference, one.shape.name, reference_recipe(options_.task, one.recipe)},
        kReferencePatience * options_.run_deadline_s);
    if (const auto* lost = std::get_if<Lost>(&answer)) return lose_worker(*lost);
    kept_[i] = cases_[i] = std::holds_alternative<protocol::Done>(answer);
    if (const auto* broken = std::get_if<protocol::Broken>(&answer)) return leave_to_host(broken->message);
  }
}

}  // namespace evo
