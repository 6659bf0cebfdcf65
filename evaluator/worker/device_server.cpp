#include "evaluator/worker/device_server.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/base/error.h"
#include "engine/device/device_kind.h"
#include "evaluator/base/log.h"
#include "evaluator/base/stopwatch.h"
#include "evaluator/device/constants.h"
#include "evaluator/device/guards.h"
#include "evaluator/device/inputs.h"
#include "evaluator/device/recipe_fingerprint.h"

namespace evo {
namespace {

constexpr std::size_t kGiB = std::size_t{1} << 30;

/// Bytes of answers that were sent, for the next ones.
constexpr std::size_t kAnswerBytesKept = kGiB / 4;

/// Buffers that may lie unused on the device until the next candidate, in bytes.
std::size_t idle_bytes(const DeviceInfo& info) {
  return std::min<std::size_t>(static_cast<std::size_t>(info.memory_bytes) / 8, 4 * kGiB);
}

/// Inputs that are kept on the device, in bytes. They take little of this machine's own memory.
std::size_t input_bytes_kept(const DeviceInfo& info) {
  return kind_named(info.kind).on_host ? kGiB / 4 : static_cast<std::size_t>(info.memory_bytes) / 8;
}

bool same_layout(const std::vector<PlanTensor>& a, const std::vector<PlanTensor>& b) {
  return std::ranges::equal(a, b, [](const PlanTensor& x, const PlanTensor& y) {
    return x.name == y.name && x.dtype == y.dtype && x.bytes == y.bytes && x.output == y.output && x.inout == y.inout &&
           x.dims == y.dims && x.strides == y.strides;
  });
}

protocol::Reply failed(Failure failure) {
  return protocol::Failed{std::move(failure)};
}

Failure unrepeatable(const Plan& plan, std::size_t offset) {
  Failure failure;
  failure.verdict = Verdict::unrepeatable;
  for (const PlanTensor& tensor : plan.tensors) {
    if (!tensor.output) continue;
    if (offset < tensor.bytes) {
      failure.reason = fmt::format("two runs on the same input differ in {} (first at byte {})", tensor.name, offset);
      break;
    }
    offset -= tensor.bytes;
  }
  return failure;
}

/// Where only digests are known, one for each output.
Failure unrepeatable(const Plan& plan, std::span<const std::uint64_t> before, std::span<const std::uint64_t> now) {
  std::size_t number = 0;
  for (const PlanTensor& tensor : plan.tensors) {
    if (!tensor.output) continue;
    if (number >= std::min(before.size(), now.size()) || before[number] != now[number])
      return {.verdict = Verdict::unrepeatable,
              .reason = fmt::format("two runs on the same input differ in {}", tensor.name)};
    ++number;
  }
  return {.verdict = Verdict::unrepeatable, .reason = "two runs on the same input differ"};
}

/// Cases without drawn inputs differ in their shapes alone. The reference's recipe has its candidates' key.
std::string answer_key(const std::string& shape, CaseRecipe recipe) {
  for (InputRecipe& input : recipe.inputs) input.widened.reset();
  return shape + " " + fingerprint(recipe);
}

}  // namespace

DeviceServer::DeviceServer(Device& device)
    : device_(device),
      inputs_(input_bytes_kept(device.info())),
      spares_(kAnswerBytesKept),
      idle_budget_(idle_bytes(device.info())) {}

DeviceServer::Call DeviceServer::call(std::uint64_t module, const std::string& shape) const {
  const auto found = loaded_.find(module);
  if (found == loaded_.end()) throw machine_error(fmt::format("module {} is not loaded", module));
  const auto plan = found->second.plans.find(shape);
  if (plan == found->second.plans.end())
    throw machine_error(fmt::format("module {} has no plan for shape {}", module, shape));
  return {*found->second.module, plan->second};
}

protocol::Reply DeviceServer::load(const protocol::Load& request) {
  std::optional<Failure> failure;
  std::unique_ptr<Module> module = device_.load(request.binary, failure);
  if (failure) return failed(std::move(*failure));
  if (!module) throw machine_error("the device gave neither a module nor a reason");
  if (request.module == protocol::kJudgeModule) {
    judge_.emplace(device_, std::move(module));
    return protocol::Done{};
  }
  loaded_[request.module] = {std::move(module), request.plans};
  forget_answers(request.module);
  return protocol::Done{};
}

protocol::Reply DeviceServer::unload(const protocol::Unload& request) {
  loaded_.erase(request.module);
  forget_answers(request.module);
  return protocol::Done{};
}

void DeviceServer::forget_answers(std::uint64_t module) {
  answers_.erase(answers_.lower_bound({module, ""}), answers_.lower_bound({module + 1, ""}));
}

std::shared_ptr<const PristineInputs> DeviceServer::inputs_of(const CaseRecipe& recipe) {
  std::string key = fingerprint(recipe);
  if (const auto* found = inputs_.find(key)) return *found;
  const std::size_t bytes = input_bytes(recipe);
  inputs_.make_room(bytes);  // before more of the device's memory is asked for
  auto inputs = std::make_shared<const PristineInputs>(device_, recipe, guard_bytes_for(device_.info()),
                                                       judge_ ? &judge_->drawer() : nullptr);
  inputs_.put(std::move(key), inputs, bytes);
  return inputs;
}

bool DeviceServer::has_drawn(const CaseRecipe& recipe) const {
  return inputs_.contains(fingerprint(recipe));
}

std::unique_ptr<BufferSet> DeviceServer::acquire(const Plan& plan) {
  const auto found = std::ranges::find_if(
      idle_sets_, [&](const std::unique_ptr<BufferSet>& set) { return same_layout(set->tensors(), plan.tensors); });
  if (found != idle_sets_.end()) {
    std::unique_ptr<BufferSet> set = std::move(*found);
    idle_sets_.erase(found);
    idle_bytes_ -= set->bytes();
    return set;
  }
  try {
    return std::make_unique<BufferSet>(device_, plan.tensors);
  } catch (const Error&) {
    if (idle_sets_.empty()) throw;
  }
  idle_sets_.clear();
  idle_bytes_ = 0;
  return std::make_unique<BufferSet>(device_, plan.tensors);
}

void DeviceServer::release(std::unique_ptr<BufferSet> set) {
  set->forget_outputs();
  set->forget_workspaces();
  if (idle_bytes_ + set->bytes() > idle_budget_) {
    idle_sets_.clear();
    idle_bytes_ = 0;
  }
  idle_bytes_ += set->bytes();
  idle_sets_.push_back(std::move(set));
}

protocol::Reply DeviceServer::run(const protocol::Run& request) {
  const Call asked = call(request.module, request.shape);
  const auto inputs = inputs_of(*request.recipe);
  std::unique_ptr<BufferSet> set = acquire(asked.plan);
  if (auto failure = set->attach_workspaces(asked.plan.workspaces)) return failed(std::move(*failure));

  protocol::Ran ran;
  Digests digests;
  Digests& last = answers_[{request.module, answer_key(request.shape, *request.recipe)}];
  for (unsigned repeat = 0; repeat < std::max(request.repeats, 1U); ++repeat) {
    const bool returned = repeat == 0 && request.compared.empty();
    Readback read = returned ? outputs_wanted(*set) : set->readback(BufferSet::Wanted::digests);
    if (auto failure = run_once(asked, request, *inputs, *set, repeat, read)) return failed(std::move(*failure));
    RunOutputs outputs = set->outputs(std::move(read));
    if (repeat == 0) {
      if (returned) ran.outputs = std::move(outputs.bytes);
      digests = std::move(outputs.digests);
      if (!request.compared.empty()) ran.sums = compared(request, *inputs, *set);
      if (request.as_before && !last.empty() && last != digests) {
        ran.unrepeatable = unrepeatable(asked.plan, last, digests);
        break;
      }
    } else if (outputs.digests != digests && !request.compared.empty()) {
      ran.unrepeatable = unrepeatable(asked.plan, digests, outputs.digests);
      break;
    } else if (outputs.digests != digests) {
      const std::vector<std::byte> others = read_outputs(*set);
      const auto [a, b] = std::ranges::mismatch(others, ran.outputs);
      ran.unrepeatable = unrepeatable(asked.plan, static_cast<std::size_t>(a - others.begin()));
      break;
    }
  }
  last = std::move(digests);
  release(std::move(set));
  return ran;
}

/// Nothing where no answer is kept, or where the device has no memory left to compare with it: the host compares.
std::vector<OutputSums> DeviceServer::compared(const protocol::Run& request, const PristineInputs& inputs,
                                               BufferSet& set) {
  if (!judge_) return {};
  if (set.works_in_place()) inputs.repair();
  try {
    return judge_->compare(answer_key(request.shape, *request.recipe), set, request.compared, &inputs);
  } catch (const Error& error) {
    log_line(LogLevel::warning,
             [&] { return fmt::format("{}: nothing was compared: {}", request.shape, error.what()); });
    return {};
  }
}

protocol::Reply DeviceServer::keep_answer(const protocol::KeepAnswer& request) {
  if (!judge_) throw machine_error("an answer is to be kept where nothing compares");
  const Call reference = call(request.module, request.shape);
  const auto inputs = inputs_of(request.recipe);
  std::unique_ptr<BufferSet> set = acquire(reference.plan);
  if (auto failure = set->attach_workspaces(reference.plan.workspaces)) return failed(std::move(*failure));
  Readback read = set->readback(BufferSet::Wanted::digests);
  const protocol::Run once{request.module, request.shape, request.recipe};
  // With another poison than a first run has: what neither the reference nor a kernel writes is not equal.
  if (auto failure = run_once(reference, once, *inputs, *set, 1, read)) return failed(std::move(*failure));
  try {
    judge_->keep_answer(answer_key(request.shape, request.recipe), *set);
  } catch (...) {
    set->forget_outputs();  // They are the answer.
    throw;
  }
  release(std::move(set));
  return protocol::Done{};
}

/// A run from fresh buffers. Where the case's own inputs have been written by an earlier candidate they are mended, and
/// it runs again: this one is not to blame.
std::optional<Failure> DeviceServer::run_once(const Call& call, const protocol::Run& request,
                                              const PristineInputs& inputs, BufferSet& set, unsigned repeat,
                                              Readback& read) {
  if (set.works_in_place()) inputs.repair();
  for (bool mended = false;; mended = true) {
    set.prepare(inputs, repeat, static_cast<unsigned>(request.recipe->seed % kPoisons) + repeat);
    std::optional<Failure> failure;
    if (request.sanitised) {
      failure = device_.run_sanitised(call.module, call.plan, set.addresses());
      if (!failure) device_.read(read);
    } else {
      failure = device_.run_and_read(call.module, call.plan, set.addresses(), read);
    }
    if (failure) return failure;
    if (mended || !set.first_changed_input(inputs, read) || !inputs.repair()) return set.damage(inputs, read);
  }
}

Readback DeviceServer::outputs_wanted(const BufferSet& set) {
  Readback read = set.readback(BufferSet::Wanted::outputs);
  std::size_t bytes = 0;
  for (const DeviceRange& range : read.copied) bytes += range.bytes;
  read.bytes = spares_.take(bytes);
  return read;
}

std::vector<std::byte> DeviceServer::read_outputs(const BufferSet& set) {
  Readback read = outputs_wanted(set);
  device_.read(read);
  return set.outputs(std::move(read)).bytes;
}

/// Looks for damage after timed calls. Where outputs are asked for, they are appended, unless they are an answer given
/// before; from now on they are one.
std::optional<Failure> DeviceServer::look_at(const protocol::Time& request, const CaseRecipe& recipe,
                                             const PristineInputs& inputs, BufferSet& set, protocol::Timed& timed) {
  Readback read = set.readback(BufferSet::Wanted::digests);
  device_.read(read);
  if (auto damage = set.damage(inputs, read)) return damage;
  if (!request.answered) return std::nullopt;
  Digests digests = set.outputs(std::move(read)).digests;
  Digests& known = answers_[{request.module, answer_key(request.shape, recipe)}];
  timed.as_before.push_back(digests == known);
  if (timed.as_before.back()) return std::nullopt;
  known = std::move(digests);
  const std::vector<std::byte> outputs = read_outputs(set);
  timed.outputs.insert(timed.outputs.end(), outputs.begin(), outputs.end());
  return std::nullopt;
}

protocol::Reply DeviceServer::time(const protocol::Time& request) {
  Stopwatch watch;
  const auto [code, plan] = call(request.module, request.shape);
  std::vector<std::unique_ptr<BufferSet>> sets;
  std::vector<std::shared_ptr<const PristineInputs>> inputs;
  std::vector<Buffers> rotation;
  for (const CaseRecipe& recipe : request.rotation) {
    inputs.push_back(inputs_of(recipe));
    inputs.back()->repair();
    sets.push_back(acquire(plan));
    if (auto failure = sets.back()->attach_workspaces(plan.workspaces)) return failed(std::move(*failure));
    sets.back()->prepare(*inputs.back(), 0, 0);
    rotation.push_back(sets.back()->addresses());
  }
  if (constants_hold_inputs(plan) && rotation.size() > 1)
    throw machine_error("a plan whose variables hold inputs is timed on one set of them");
  std::optional<Failure> failure;
  protocol::Timed timed;
  if (request.probe) {
    failure = find_skips(request, {code, plan}, sets, inputs, rotation);
  } else {
    timed.timing = device_.time(code, plan, rotation, request.timing, failure);
  }
  if (failure) return failed(std::move(*failure));
  for (std::size_t i = 0; i < sets.size(); ++i) {
    // What is computed in place has been computed from its own results: one more call, from the drawn values.
    if (request.probe) {
      failure = call_on_results({code, plan}, *inputs[i], *sets[i]);
      if (!failure) failure = call_again({code, plan}, *inputs[i], *sets[i]);
    } else if (sets[i]->works_in_place()) {
      sets[i]->replace_inputs(*inputs[i]);
      failure = device_.run(code, plan, rotation[i]);
    }
    if (failure) return failed(std::move(*failure));
    if (auto damage = look_at(request, request.rotation[i], *inputs[i], *sets[i], timed))
      return failed(std::move(*damage));
  }
  if (request.afterwards && !sets.empty()) {
    const auto others = inputs_of(*request.afterwards);
    others->repair();
    for (std::size_t i = 1; i < sets.size(); ++i) sets[i]->forget_outputs();  // One may be the answer.
    sets.front()->replace_inputs(*others);
    if (auto later = device_.run(code, plan, rotation.front())) return failed(std::move(*later));
    if (auto damage = look_at(request, *request.afterwards, *others, *sets.front(), timed))
      return failed(std::move(*damage));
  }
  for (std::unique_ptr<BufferSet>& set : sets) release(std::move(set));
  if (request.probe)
    log_line(LogLevel::debug, [&] { return fmt::format("{}: the probe took {:.3f} s", request.shape, watch.lap_s()); });
  return timed;
}

protocol::Reply DeviceServer::read_counters(const protocol::ReadCounters& request) {
  const Call asked = call(request.module, request.shape);
  std::optional<Failure> failure;
  protocol::Profiled profiled;
  if (kind_named(device_.info().kind).modelled) {
    profiled.launches = model(asked, request.recipe, failure);
    if (failure) return failed(std::move(*failure));
    return profiled;
  }
  std::unique_ptr<BufferSet> set = acquire(asked.plan);
  failure = set->attach_workspaces(asked.plan.workspaces);
  if (failure) return failed(std::move(*failure));
  set->prepare(*inputs_of(request.recipe), 0, 0);
  profiled.launches = device_.profile(asked.module, asked.plan, set->addresses(), failure);
  if (failure) return failed(std::move(*failure));
  release(std::move(set));
  return profiled;
}

/// A cost model looks at addresses: repeated numbers serve it as well as drawn ones.
std::vector<LaunchProfile> DeviceServer::model(const Call& call, CaseRecipe recipe, std::optional<Failure>& failure) {
  recipe.repeating = true;
  BufferSet& set = modelled_set(call.plan, recipe);
  failure = set.attach_workspaces(call.plan.workspaces);
  if (failure) return {};
  set.prepare_workspaces(0);
  return device_.profile(call.module, call.plan, set.addresses(), failure);
}

BufferSet& DeviceServer::modelled_set(const Plan& plan, const CaseRecipe& recipe) {
  std::string name = fingerprint(recipe);
  const bool known = modelled_set_ && modelled_case_ == name && same_layout(modelled_set_->tensors(), plan.tensors);
  if (!known) {
    if (modelled_set_) release(std::move(modelled_set_));
    modelled_set_ = acquire(plan);
    modelled_case_ = std::move(name);
    modelled_set_->prepare(*inputs_of(recipe), 0, 0);
  } else if (std::ranges::any_of(plan.tensors, &PlanTensor::is_changed_in_place)) {
    modelled_set_->replace_inputs(*inputs_of(recipe));
  }
  return *modelled_set_;
}

}  // namespace evo
