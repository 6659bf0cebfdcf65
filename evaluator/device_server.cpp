#include "evaluator/device_server.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <span>
#include <utility>

#include "engine/error.h"
#include "evaluator/inputs.h"

namespace evo {
namespace {

constexpr std::size_t kGiB = std::size_t{1} << 30;

bool same_layout(const std::vector<PlanTensor>& a, const std::vector<PlanTensor>& b) {
  return std::ranges::equal(a, b, [](const PlanTensor& x, const PlanTensor& y) {
    return x.name == y.name && x.bytes == y.bytes && x.output == y.output;
  });
}

protocol::Reply failed(Failure failure) { return protocol::Failed{std::move(failure)}; }

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

}  // namespace

DeviceServer::DeviceServer(Device& device)
    : device_(device),
      input_budget_(device.info().kind == "vgpu" ? kGiB / 4 : 4 * kGiB),
      idle_budget_(std::min<std::size_t>(static_cast<std::size_t>(device.info().memory_bytes) / 8, 4 * kGiB)) {}

const Module& DeviceServer::module(std::uint64_t number) const {
  const auto found = modules_.find(number);
  if (found == modules_.end()) throw machine_error(fmt::format("module {} is not loaded", number));
  return *found->second;
}

protocol::Reply DeviceServer::load(const protocol::Load& request) {
  std::optional<Failure> failure;
  std::unique_ptr<Module> module = device_.load(request.binary, failure);
  if (failure) return failed(std::move(*failure));
  if (!module) throw machine_error("the device gave neither a module nor a reason");
  modules_[request.module] = std::move(module);
  return protocol::Done{};
}

protocol::Reply DeviceServer::unload(const protocol::Unload& request) {
  modules_.erase(request.module);
  return protocol::Done{};
}

std::shared_ptr<const DeviceServer::Contents> DeviceServer::inputs_of(const CaseRecipe& recipe) {
  const std::vector<std::uint8_t> print = protocol::fingerprint(recipe);
  std::string key(print.begin(), print.end());
  if (const auto found = inputs_.find(key); found != inputs_.end()) {
    ages_.splice(ages_.begin(), ages_, found->second.age);
    return found->second.contents;
  }
  auto contents = std::make_shared<const Contents>(generate_inputs(recipe));
  const std::size_t bytes = input_bytes(recipe);
  while (!ages_.empty() && input_bytes_ + bytes > input_budget_) {
    const auto oldest = inputs_.find(ages_.back());
    input_bytes_ -= oldest->second.bytes;
    inputs_.erase(oldest);
    ages_.pop_back();
  }
  ages_.push_front(key);
  inputs_.emplace(std::move(key), CachedInputs{contents, bytes, ages_.begin()});
  input_bytes_ += bytes;
  return contents;
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
  set->attach_workspaces({});
  set->forget_outputs();
  if (idle_bytes_ + set->bytes() > idle_budget_) {
    idle_sets_.clear();
    idle_bytes_ = 0;
  }
  idle_bytes_ += set->bytes();
  idle_sets_.push_back(std::move(set));
}

protocol::Reply DeviceServer::run(const protocol::Run& request) {
  const Module& code = module(request.module);
  const auto inputs = inputs_of(request.recipe);
  std::unique_ptr<BufferSet> set = acquire(request.plan);
  if (auto failure = set->attach_workspaces(request.plan.workspaces)) return failed(std::move(*failure));

  protocol::Ran ran;
  for (unsigned repeat = 0; repeat < std::max(request.repeats, 1U); ++repeat) {
    set->prepare(*inputs, repeat);
    if (auto failure = device_.run(code, request.plan, set->addresses())) return failed(std::move(*failure));
    std::vector<std::byte> outputs;
    outputs.reserve(protocol::output_bytes(request.plan));
    if (auto failure = set->collect(*inputs, outputs)) return failed(std::move(*failure));
    if (repeat == 0) {
      ran.outputs = std::move(outputs);
    } else if (outputs != ran.outputs) {
      const auto [a, b] = std::ranges::mismatch(outputs, ran.outputs);
      ran.unrepeatable = unrepeatable(request.plan, static_cast<std::size_t>(a - outputs.begin()));
      break;
    }
  }
  release(std::move(set));
  return ran;
}

protocol::Reply DeviceServer::time(const protocol::Time& request) {
  const Module& code = module(request.module);
  std::vector<std::unique_ptr<BufferSet>> sets;
  std::vector<std::shared_ptr<const Contents>> inputs;
  std::vector<Buffers> rotation;
  for (const CaseRecipe& recipe : request.rotation) {
    inputs.push_back(inputs_of(recipe));
    sets.push_back(acquire(request.plan));
    if (auto failure = sets.back()->attach_workspaces(request.plan.workspaces)) return failed(std::move(*failure));
    sets.back()->prepare(*inputs.back(), 0);
    rotation.push_back(sets.back()->addresses());
  }
  std::optional<Failure> failure;
  Timing timing = device_.time(code, request.plan, rotation, request.timing, failure);
  if (failure) return failed(std::move(*failure));
  std::vector<std::byte> outputs;
  outputs.reserve(protocol::output_bytes(request.plan) * (sets.size() + 1));
  for (std::size_t i = 0; i < sets.size(); ++i) {
    if (auto damage = sets[i]->collect(*inputs[i], outputs)) return failed(std::move(*damage));
  }
  if (request.afterwards && !sets.empty()) {
    const auto others = inputs_of(*request.afterwards);
    for (std::size_t i = 1; i < sets.size(); ++i) sets[i]->forget_outputs();  // One may be the answer.
    sets.front()->replace_inputs(*others);
    if (auto later = device_.run(code, request.plan, rotation.front())) return failed(std::move(*later));
    if (auto damage = sets.front()->collect(*others, outputs)) return failed(std::move(*damage));
  }
  for (std::unique_ptr<BufferSet>& set : sets) release(std::move(set));
  return protocol::Timed{std::move(timing), std::move(outputs)};
}

}  // namespace evo
