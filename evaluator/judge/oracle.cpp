#include "evaluator/judge/oracle.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <variant>

#include "engine/base/error.h"
#include "engine/task/candidate.h"
#include "engine/task/limits.h"
#include "engine/task/plan_resolution.h"
#include "evaluator/device/recipe_fingerprint.h"
#include "evaluator/hosts/compile_worker.h"
#include "evaluator/judge/torch_reference.h"
#include "evaluator/kernels/device_judge.h"
#include "evaluator/numbers/elements.h"

namespace evo {
namespace {

/// What a worker at rest may leave on the device. Starting another one takes half a second.
constexpr std::uint64_t kMostBytesAtRest = std::uint64_t{1} << 30;

std::size_t bytes_of(const Expected& expected) {
  std::size_t bytes = 0;
  for (const ExpectedOutput& output : expected) bytes += output.bytes.size() + output.before.size();
  return bytes;
}

/// A reference with typed outputs gives narrow floats; the comparison is made with f32.
ExpectedOutput widened(ExpectedOutput output) {
  if (!is_floating(output.dtype) || output.dtype == DType::f32 || output.dtype == DType::f64) return output;
  const std::size_t count = output.bytes.size() * 8 / static_cast<std::size_t>(bits_of(output.dtype));
  ExpectedOutput wide{DType::f32, std::vector<std::byte>(count * sizeof(float))};
  widen(output.dtype, output.bytes.data(), count, reinterpret_cast<float*>(wide.bytes.data()));
  return wide;
}

/// Random bits of narrow floats are also those of elements that were never written.
bool draws_bits(const Task& task) {
  return std::ranges::any_of(drawn_tensors(task),
                             [](const Tensor& tensor) { return tensor.draw.kind == DrawKind::bits; });
}

std::vector<Shape> shapes_of_specialisation(const Task& task, const CasePlan& plan, const Bindings& specialisation) {
  std::vector<Shape> shapes;
  for (const Case& one : plan.cases) {
    const bool known = std::ranges::any_of(shapes, [&](const Shape& shape) { return shape.name == one.shape.name; });
    const bool fits = std::ranges::all_of(task.specialised, [&](const std::string& parameter) {
      return one.shape.parameters.at(parameter) == specialisation.at(parameter);
    });
    if (!known && fits) shapes.push_back(one.shape);
  }
  return shapes;
}

}  // namespace

class OracleRun {
 public:
  OracleRun(const PipelineOptions& options, const CasePlan& plan, const StopSignal* stop)
      : options_(options),
        plan_(plan),
        stop_(stop),
        compiler_(options, stop),
        device_(worker_options(options, {"device", options.device.id}, stop)) {}

  void open() {
    if (has_torch_reference(options_.task)) {
      torch_.emplace(options_, stop_);
      return;
    }
    load_references();
    compiler_.stop();
  }

  Expected compute(const Case& one) {
    placed_bytes_ += input_bytes(one.recipe);
    if (torch_) return with_drawn(one, torch_->compute(one));
    const Reference& reference = reference_for(one);
    const Plan& plan = reference.program.plans.at(one.shape.name);
    const std::uint64_t bytes = protocol::output_bytes(plan);
    placed_bytes_ += bytes;
    const auto ran = ask<protocol::Ran>(
        protocol::Run{reference.module, one.shape.name, reference_recipe(options_.task, one.recipe), 1},
        kReferencePatience * options_.run_deadline_s, bytes, reference.program, "running the reference",
        fmt::format("shape {}, regime {}", one.shape.name, one.regime.name));
    if (ran.outputs.size() != bytes) throw machine_error("running the reference: an answer of the wrong size");
    return split(one, plan, ran.outputs);
  }

  /// Of inputs and outputs that its worker was given room for, of all cases together.
  std::uint64_t placed_bytes() const { return placed_bytes_; }

 private:
  /// A loaded reference program.
  struct Reference {
    std::uint64_t module = 0;
    Program program;
  };

  [[noreturn]] void blame_task(const std::string& what) const {
    throw usage_error(fmt::format("{}: {}", options_.task.reference, what));
  }

  /// Asks again when the worker was lost through no fault of the reference. `doing` and `where` are for messages: what
  /// the machine failed to do, and where the reference is at fault.
  template <typename T>
  T ask(const protocol::Request& request, double deadline_s, std::uint64_t payload, const Program& program,
        const std::string& doing, const std::string& where) {
    for (int attempt = 0;; ++attempt) {
      auto answer = device_.ask<T>(request, deadline_s, payload);
      if (auto* good = std::get_if<T>(&answer)) return std::move(*good);
      if (const auto* failure = std::get_if<Failure>(&answer))
        blame_task(where + ": " + program.lines.translated(failure->reason));
      if (const auto* broken = std::get_if<protocol::Broken>(&answer))
        throw machine_error(doing + ": " + broken->message);
      const Lost& lost = std::get<Lost>(answer);
      if (!lost.blameless) blame_task("the worker was lost: " + lost.reason);
      if (attempt > 0) throw machine_error(doing + ": the worker was lost: " + lost.reason);
      reload();
    }
  }

  void load_references() {
    for (const Bindings& specialisation : specialisations_of(options_.task, options_.target)) {
      Reference reference;
      reference.module = references_.size() + 1;
      reference.program = reference_program(options_.tree, options_.task, options_.target.options, specialisation,
                                            shapes_of_specialisation(options_.task, plan_, specialisation));
      binaries_.push_back(compile(reference.program));
      references_.push_back(std::move(reference));
    }
    if (has_large_inputs(plan_, options_.judged_there_from)) {
      auto compiled = compiler_.compile(drawing_, options_.device.arch);
      if (auto* binary = std::get_if<Binary>(&compiled)) draws_ = std::move(*binary);
    }
    reload();
  }

  Binary compile(const Program& program) {
    auto compiled = compiler_.compile(program, options_.device.arch);
    if (auto* binary = std::get_if<Binary>(&compiled)) return std::move(*binary);
    const auto& failure = std::get<Failure>(compiled);
    if (failure.verdict == Verdict::harness_failed) throw machine_error("the reference: " + failure.reason);
    blame_task("it does not compile: " + failure.reason);
  }

  void reload() {
    device_.start();
    if (draws_)  // Where it does not load, the host draws.
      device_.ask<protocol::Done>(protocol::Load{protocol::kJudgeModule, *draws_, drawing_.plans},
                                  options_.run_deadline_s);
    for (std::size_t i = 0; i < references_.size(); ++i) {
      const auto answer = device_.ask<protocol::Done>(
          protocol::Load{references_[i].module, binaries_[i], references_[i].program.plans}, options_.run_deadline_s);
      if (const auto* failure = std::get_if<Failure>(&answer))
        blame_task("it does not load: " + references_[i].program.lines.translated(failure->reason));
      if (const auto* lost = std::get_if<Lost>(&answer)) throw machine_error("loading the reference: " + lost->reason);
      if (const auto* broken = std::get_if<protocol::Broken>(&answer))
        throw machine_error("loading the reference: " + broken->message);
    }
  }

  const Reference& reference_for(const Case& one) const {
    for (const Reference& reference : references_) {
      if (reference.program.plans.contains(one.shape.name)) return reference;
    }
    throw machine_error(fmt::format("no reference for shape {}", one.shape.name));
  }

  Expected split(const Case& one, const Plan& plan, const std::vector<std::byte>& outputs) const {
    if (const std::string bad = why_not_written(plan, outputs); !bad.empty() && !draws_bits(options_.task))
      blame_task(fmt::format("shape {}, regime {}, seed {}: {}", one.shape.name, one.regime.name, one.seed, bad));
    Expected expected = expected_outputs(plan, outputs);
    if (const std::string bad = why_no_answer(plan, expected);
        !bad.empty() && one.regime.name == options_.task.regimes.front().name)
      blame_task(fmt::format("shape {}, regime {}, seed {}: {}", one.shape.name, one.regime.name, one.seed, bad));
    return with_drawn(one, std::move(expected));
  }

  Expected with_drawn(const Case& one, Expected expected) const {
    note_drawn(options_.task, options_.target.options, one.recipe, expected);
    return expected;
  }

  const PipelineOptions& options_;
  const CasePlan& plan_;
  const StopSignal* stop_;
  CompileWorker compiler_;
  WorkerClient device_;
  std::optional<TorchReference> torch_;  ///< In the place of what follows.
  std::vector<Reference> references_;
  std::vector<Binary> binaries_;
  const Program drawing_ = judge_program();
  std::optional<Binary> draws_;  ///< The same, compiled, where there are large inputs.
  std::uint64_t placed_bytes_ = 0;
};

CaseRecipe reference_recipe(const Task& task, CaseRecipe recipe) {
  const std::vector<Tensor> drawn = drawn_tensors(task);
  for (std::size_t i = task.inputs.size(); i < recipe.inputs.size(); ++i)
    recipe.inputs[i].widened = reference_dtype(task, drawn.at(i), recipe.inputs[i].dtype);
  return recipe;
}

Expected expected_outputs(const Plan& plan, std::span<const std::byte> outputs) {
  Expected expected;
  std::size_t offset = 0;
  for (const PlanTensor& tensor : plan.tensors) {
    if (!tensor.output || tensor.bytes == 0) continue;
    expected.push_back(widened({tensor.dtype, dense_bytes(tensor, outputs.subspan(offset, tensor.bytes))}));
    offset += tensor.bytes;
  }
  return expected;
}

std::string why_not_written(const Plan& plan, std::span<const std::byte> outputs) {
  std::size_t offset = 0;
  for (const PlanTensor& tensor : plan.tensors) {
    if (!tensor.output || tensor.bytes == 0) continue;
    const std::span<const std::byte> raw = outputs.subspan(offset, tensor.bytes);
    offset += tensor.bytes;
    if (const auto bad = first_not_written(tensor.dtype, dense_bytes(tensor, raw)))
      return fmt::format("{}[{}] was never written", tensor.name, *bad);
  }
  return {};
}

std::string why_no_answer(const Plan& plan, const Expected& expected) {
  const auto is_nowhere_finite = [](const ExpectedOutput& output) {
    if (!is_floating(output.dtype) || output.bytes.empty()) return false;
    for (std::uint64_t i = 0; i < output.bytes.size() / size_of(output.dtype); ++i)
      if (std::isfinite(as_double(load_at(output.dtype, output.bytes.data(), i)))) return false;
    return true;
  };
  std::size_t number = 0;
  for (const PlanTensor& tensor : plan.tensors) {
    if (!tensor.output || tensor.bytes == 0) continue;
    if (is_nowhere_finite(expected.at(number++))) return fmt::format("{} has no finite value", tensor.name);
  }
  return {};
}

void note_drawn(const Task& task, const Bindings& options, const CaseRecipe& recipe, Expected& expected) {
  std::size_t number = 0;
  for (const Tensor& tensor : task.outputs) {
    if (!is_present(tensor, options)) continue;
    ExpectedOutput& output = expected.at(number++);
    if (!tensor.inout || !is_floating(dtype_of(tensor, options)) || !tensor.scale.empty()) continue;
    CaseRecipe alone{.seed = recipe.seed,
                     .inputs = {*std::ranges::find(recipe.inputs, tensor.name, &InputRecipe::name)}};
    alone.repeating = recipe.repeating;
    InputRecipe& drawn = alone.inputs.front();
    drawn.strides.clear();
    if (drawn.dtype != output.dtype) drawn.widened = output.dtype;
    output.before = std::move(generate_inputs(alone).front());
  }
}

Limits grown(Limits limits, const ExpectedOutput& answer, const ExpectedOutput& ordinary) {
  if (limits.atol <= 0 || !is_floating(answer.dtype)) return limits;
  const auto size = [](const ExpectedOutput& output) {
    double squares = 0;
    std::uint64_t count = 0;
    const std::uint64_t elements = output.bytes.size() / size_of(output.dtype);
    for (std::uint64_t i = 0; i < elements; ++i) {
      const double value = as_double(load_at(output.dtype, output.bytes.data(), i));
      if (!std::isfinite(value)) continue;
      squares += value * value;
      ++count;
    }
    return count > 0 ? std::sqrt(squares / static_cast<double>(count)) : 0.0;
  };
  const double usual = size(ordinary), here = size(answer), rounding = usual_limits(answer.dtype).relative_l2;
  if (!std::isfinite(here)) return limits;
  const double growth = usual > 0 ? std::max(1.0, here / usual) : 1;
  limits.atol = std::max(limits.atol * growth, rounding * here);
  limits.rtol = std::max(limits.rtol, rounding);
  return limits;
}

std::size_t ordinary_case(const Task& task, const Target& target, const CasePlan& plan, const Case& one) {
  const std::string usual = task.regimes_of(target.objective).front().name;
  const auto found = std::ranges::find_if(plan.cases, [&](const Case& each) {
    return each.shape.name == one.shape.name && each.regime.name == usual && each.seed == 0;
  });
  return found == plan.cases.end() ? plan.smoke : static_cast<std::size_t>(found - plan.cases.begin());
}

OracleStore::Filling::Filling(OracleStore& store) : store_(store) {
  const std::lock_guard lock(store_.mutex_);
  store_.filling_ = true;
}

OracleStore::Filling::~Filling() {
  const std::lock_guard lock(store_.mutex_);
  store_.filling_ = false;
  store_.changed_.notify_all();
}

void OracleStore::Filling::put(std::size_t number, Expected expected) {
  const std::lock_guard lock(store_.mutex_);
  store_.expected_.at(number) = std::make_shared<const Expected>(std::move(expected));
  store_.changed_.notify_all();
}

void OracleStore::Filling::fail(std::exception_ptr error) {
  const std::lock_guard lock(store_.mutex_);
  store_.failure_ = std::move(error);
  store_.changed_.notify_all();
}

void OracleStore::wait_until_finished() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return !filling_ || failure_; });
  if (failure_) std::rethrow_exception(failure_);
}

std::shared_ptr<const Expected> OracleStore::get(std::size_t number) {
  std::unique_lock lock(mutex_);
  std::shared_ptr<const Expected>& one = expected_.at(number);
  if (!one && compute_) one = compute_(number);
  changed_.wait(lock, [&] { return one || failure_ || !filling_; });
  if (one) return one;
  if (failure_) std::rethrow_exception(failure_);
  throw machine_error(fmt::format("nobody computes the reference's answer to case {}", number));
}

void compute_oracles(const PipelineOptions& options, const CasePlan& plan, const StopSignal& stop,
                     OracleStore::Filling& store) {
  std::vector<std::size_t> order = {plan.smoke};
  for (std::size_t i = 0; i < plan.cases.size(); ++i)
    if (i != plan.smoke) order.push_back(i);
  std::erase_if(order, [&](std::size_t number) { return !store.wants(number); });
  if (order.empty()) return;
  OracleRun run(options, plan, &stop);
  run.open();
  for (const std::size_t number : order) store.put(number, run.compute(plan.cases[number]));
}

std::shared_ptr<const Expected> answer_to(std::size_t number, const CasePlan& plan, OracleStore& store,
                                          ExtraOracles& further) {
  return store.has_or_gets(number) ? store.get(number) : further.get(plan.cases[number]);
}

std::shared_ptr<const Expected> KnownOracles::get(const std::string& key, const Compute& compute) {
  {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return !under_way_.contains(key); });
    if (const auto* known = known_.find(key)) return *known;
    under_way_.insert(key);
  }
  std::shared_ptr<const Expected> computed;
  std::exception_ptr failure;
  try {
    computed = compute();
  } catch (...) {
    failure = std::current_exception();
  }
  const std::lock_guard lock(mutex_);
  under_way_.erase(key);
  changed_.notify_all();
  if (failure) std::rethrow_exception(failure);
  known_.put(key, computed, bytes_of(*computed));
  return computed;
}

struct ExtraOracles::Impl {
  const PipelineOptions& options;
  const CasePlan& plan;
  const StopSignal* stop;
  std::shared_ptr<KnownOracles> known;
  std::optional<OracleRun> run;

  Expected compute(const Case& one) {
    if (!run) {
      run.emplace(options, plan, stop);
      run->open();
    }
    return run->compute(one);
  }
};

ExtraOracles::ExtraOracles(const PipelineOptions& options, const CasePlan& plan, const StopSignal* stop,
                           std::shared_ptr<KnownOracles> known)
    : impl_(new Impl{options, plan, stop, std::move(known), std::nullopt}) {}
ExtraOracles::~ExtraOracles() = default;

std::shared_ptr<const Expected> ExtraOracles::get(const Case& one) {
  return impl_->known->get(fingerprint(one.recipe),
                           [&] { return std::make_shared<const Expected>(impl_->compute(one)); });
}

void ExtraOracles::rest() {
  if (impl_->run && impl_->run->placed_bytes() > kMostBytesAtRest) impl_->run.reset();
}

}  // namespace evo
