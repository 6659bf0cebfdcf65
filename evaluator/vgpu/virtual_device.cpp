#include "evaluator/vgpu/virtual_device.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "engine/base/demangled.h"
#include "engine/base/error.h"
#include "engine/base/text.h"
#include "evaluator/base/random.h"
#include "evaluator/device/constants.h"
#include "evaluator/device/digest.h"
#include "evaluator/numbers/elements.h"
#include "evaluator/vgpu/cost/device_models.h"
#include "evaluator/vgpu/cost/modelled_counters.h"
#include "evaluator/vgpu/launch_limits.h"
#include "evaluator/vgpu/loaded_module.h"
#include "evaluator/vgpu/machine/block_scheduler.h"
#include "evaluator/vgpu/plan_memory.h"
#include "evaluator/vgpu/ptx/load_error.h"
#include "evaluator/vgpu/sanitiser/sanitiser.h"
#include "evaluator/vgpu/traced_launch.h"

namespace evo::vgpu {
namespace {

/// More of them only compete for memory bandwidth.
constexpr int kMostThreads = 8;

class VirtualDevice : public VirtualGpu {
 public:
  VirtualDevice(const DeviceModel& model, int threads, std::optional<std::uint64_t> address_salt)
      : model_(model), info_(device_info(model)), threads_(std::clamp(threads, 1, kMostThreads)) {
    if (address_salt) memory_.scatter(*address_salt);
  }

  const DeviceInfo& info() const override { return info_; }
  DeviceAddress allocate(std::size_t bytes, const std::string& name) override {
    const DeviceAddress address = memory_.allocate(bytes, name);
    if (sanitiser_) sanitiser_->allocated(address, bytes);
    return address;
  }
  DeviceAddress allocate_shared(std::size_t bytes, const std::string& name) override {
    const DeviceAddress address = memory_.allocate_shared(bytes, name);
    watch_shared(address, bytes);
    return address;
  }
  void share(std::span<std::byte> host, const std::string& name) override {
    memory_.share(host, name);
    watch_shared(reinterpret_cast<DeviceAddress>(host.data()), host.size());
  }
  ObjectTable& objects() override { return objects_; }
  void share_with_host(DeviceAddress begin) override { memory_.share_with_host(begin); }
  void free(DeviceAddress address) override {
    memory_.free(address);
    if (sanitiser_) sanitiser_->freed(address);
  }
  void upload(DeviceAddress to, std::span<const std::byte> from) override {
    if (!from.empty()) std::memcpy(memory_.at(to, from.size()), from.data(), from.size());
    if (sanitiser_) sanitiser_->written(to, from.size(), memory_);
  }
  void download(std::span<std::byte> to, DeviceAddress from) override {
    if (!to.empty()) std::memcpy(to.data(), memory_.at(from, to.size()), to.size());
  }
  void fill(DeviceAddress to, std::byte value, std::size_t bytes) override {
    if (bytes > 0) std::memset(memory_.at(to, bytes), std::to_integer<int>(value), bytes);
    if (sanitiser_) sanitiser_->written(to, bytes, memory_);
  }
  void copy(DeviceAddress to, DeviceAddress from, std::size_t bytes) override {
    if (bytes > 0) upload(to, {memory_.at(from, bytes), bytes});
  }
  std::uint64_t digest(DeviceAddress from, std::size_t bytes) override {
    return bytes > 0 ? digest_of({memory_.at(from, bytes), bytes}, digest_key()) : 0;
  }
  void sanitise() override { sanitiser_ = std::make_unique<Sanitiser>(); }
  std::vector<Finding> findings(Strictness strictness) const override {
    std::vector<Finding> found = sanitiser_ ? sanitiser_->findings() : std::vector<Finding>();
    if (strictness == Strictness::usual) std::erase_if(found, [](const Finding& one) { return is_weaker(one.kind); });
    return found;
  }

  std::unique_ptr<Module> load(const Binary& binary, std::optional<Failure>& failure) override;
  std::optional<Failure> run(const Module& module, const Plan& plan, const Buffers& buffers) override;
  std::optional<Failure> run_sanitised(const Module& module, const Plan& plan, const Buffers& buffers) override;
  std::optional<Failure> fill_constants(const Module& module, const Plan& plan, const Buffers& buffers) override;
  Timing time(const Module& module, const Plan& plan, std::span<const Buffers> rotation, const TimingRequest& request,
              std::optional<Failure>& failure) override;
  std::vector<std::vector<SequenceCost>> time_sequences(const Module& module, const Plan& plan,
                                                        std::span<const Buffers> sets,
                                                        std::span<const CallSequence> sequences, int rounds,
                                                        std::optional<Failure>& failure) override;
  std::vector<std::string> kernels(const Module& module) const override {
    return dynamic_cast<const LoadedModule&>(module).kernel_names();
  }
  std::optional<std::vector<DeclaredParameter>> parameters(const Module& module,
                                                           const std::string& kernel) const override;
  std::optional<KernelFacts> facts(const Module& module, const std::string& kernel,
                                   std::string& refused) const override;
  std::vector<DeclaredVariable> variables(const Module& module) const override;
  void limit_instructions(std::uint64_t of_a_warp) override {
    budget_.warp_instructions = of_a_warp;
    // A launch may take as much more as it may by default.
    const Budget usual;
    const std::uint64_t warps = usual.launch_instructions / usual.warp_instructions;
    budget_.launch_instructions =
        std::max(usual.launch_instructions, of_a_warp * std::min(warps, ~std::uint64_t{0} / of_a_warp));
  }
  void limit_launches(std::uint64_t instructions) override { budget_.launch_instructions = instructions; }
  std::optional<Failure> run_kernel(const Module& module, const evo::Launch& planned,
                                    std::span<const std::vector<std::byte>> arguments, KernelRun& run) override;
  PlanCost model(const Module& module, const Plan& plan, const Buffers& buffers, bool cold,
                 std::optional<Failure>& failure) override {
    return cost_of(dynamic_cast<const LoadedModule&>(module), plan, buffers, cold, Blocks::few, failure);
  }
  std::vector<LaunchProfile> profile(const Module& module, const Plan& plan, const Buffers& buffers,
                                     std::optional<Failure>& failure) override {
    const PlanCost cost = model(module, plan, buffers, false, failure);
    if (failure) return {};
    return modelled_launches(model_, cost);
  }

 private:
  enum class Blocks { all, few };  ///< Which of them run.
  struct TracedRun {
    Blocks blocks = Blocks::all;
    bool cold = false;
    std::int64_t footprint_bytes = 0;
    std::span<const DeviceRange> written;  ///< What the launch may change.
    std::uint64_t salt = 0;                ///< Draws the blocks that are traced.
  };
  std::optional<Failure> prepare(const LoadedModule& module, const evo::Launch& planned, Launch& launch);
  std::optional<Failure> prepare(const LoadedModule& module, const Plan& plan, const evo::Launch& planned,
                                 const Buffers& buffers, Launch& launch);
  PlanCost cost_of(const LoadedModule& module, const Plan& plan, const Buffers& buffers, bool cold, Blocks blocks,
                   std::optional<Failure>& failure);
  LaunchCost run_traced(const LoadedModule& module, const evo::Launch& planned, const TracedRun& how,
                        Launch& launch) const;
  void zero_workspaces(const Plan& plan, const Buffers& buffers);
  void watch_plan(const Plan& plan, const Buffers& buffers);
  void begin_call(const LoadedModule& module, const Plan& plan, const Buffers& buffers);
  /// The sanitiser knows buffers by their address.
  GlobalMemory* moving() { return sanitiser_ ? nullptr : &memory_; }
  template <class Run>
  void watched(Launch& launch, Run run) const;
  /// The host may write it at any time.
  void watch_shared(DeviceAddress address, std::size_t bytes) {
    if (!sanitiser_) return;
    sanitiser_->allocated(address, bytes);
    sanitiser_->written(address, bytes, memory_);
  }

  const DeviceModel& model_;
  DeviceInfo info_;
  int threads_ = 1;
  Budget budget_;
  GlobalMemory memory_;
  ObjectTable objects_;
  std::unique_ptr<Sanitiser> sanitiser_;  ///< Null: launches are not sanitised.
};

std::unique_ptr<Module> VirtualDevice::load(const Binary& binary, std::optional<Failure>& failure) {
  if (binary.ptx.empty()) {
    failure = failure_of(Verdict::unsupported, "the program has no PTX, which is what the virtual GPU runs");
    return nullptr;
  }
  try {
    auto module = std::make_unique<LoadedModule>(memory_, binary.ptx, binary.build);
    if (runs_target(model_, module->target())) return module;
    failure = refusal(fmt::format("the program was compiled for {}, which {} ({}) does not run", module->target(),
                                  info_.name, info_.arch));
    return nullptr;
  } catch (const LoadError& error) {
    failure = failure_of(Verdict::unsupported, error.what());
    return nullptr;
  }
}

std::optional<Failure> VirtualDevice::prepare(const LoadedModule& module, const evo::Launch& planned, Launch& launch) {
  const Kernel* kernel = nullptr;
  try {
    kernel = module.kernel(module.build().ptx_name(planned.kernel));
  } catch (const LoadError& error) {
    return failure_of(Verdict::unsupported, error.what());
  }
  if (kernel == nullptr) {
    std::vector<std::string> names;
    for (const std::string& name : module.kernel_names()) names.push_back(readable_kernel_name(name));
    return refusal(fmt::format("the program has no kernel {}; there are: {}", planned.kernel, list_of(names)));
  }
  const int registers = module.build().kernel(planned.kernel).registers;
  const LaunchDemands demands = demands_of(*kernel, registers);
  if (const auto refused = refused_launch(info_.limits, demands, planned))
    return refusal(fmt::format("kernel {}: {}", kernel->name, refused->why));
  launch.kernel = kernel;
  launch.memory = &memory_;
  launch.objects = &objects_;
  launch.grid = planned.grid;
  launch.block = planned.block;
  launch.cluster = cluster_of(demands, planned);
  launch.dynamic_smem_bytes = planned.dynamic_smem_bytes;
  launch.programmatic = planned.programmatic;
  launch.registers_per_thread = static_cast<std::uint32_t>(std::max(registers, 0));
  launch.numerics = tensor_core_numerics(model_.sm);
  launch.sm_count = static_cast<std::uint32_t>(model_.sm_count);
  launch.resident_blocks =
      static_cast<std::uint32_t>(occupancy_of(info_.limits, demands, planned).blocks * model_.sm_count);
  launch.threads = threads_;
  launch.budget = budget_;
  if (kernel->cooperative && volume(planned.grid) > launch.resident_blocks)
    return refusal(fmt::format("kernel {} awaits the whole grid: of its {} blocks {} are resident together",
                               kernel->name, volume(planned.grid), launch.resident_blocks));
  return std::nullopt;
}

std::optional<Failure> VirtualDevice::prepare(const LoadedModule& module, const Plan& plan, const evo::Launch& planned,
                                              const Buffers& buffers, Launch& launch) {
  if (auto failure = prepare(module, planned, launch)) return failure;
  return bind_arguments(*launch.kernel, plan, planned, buffers, launch.parameters);
}

std::optional<Failure> VirtualDevice::fill_constants(const Module& module, const Plan& plan, const Buffers& buffers) {
  const auto& loaded = dynamic_cast<const LoadedModule&>(module);
  for (const Constant& constant : plan.constants) {
    const auto* variable = loaded.variable(loaded.build().variable_name(constant.symbol));
    const auto size = variable == nullptr ? std::nullopt : std::optional(variable->bytes);
    if (auto failure = misfit(constant, plan, size)) return failure;
    const std::vector<std::byte> value = bytes_of(constant.source.fields);
    const std::byte* from = value.data();
    if (constant.source.kind == Argument::Kind::tensor)
      from = memory_.at(buffers.tensors.at(constant.source.index), variable->bytes);
    std::memcpy(memory_.at(variable->address, variable->bytes), from, variable->bytes);
  }
  return std::nullopt;
}

void VirtualDevice::zero_workspaces(const Plan& plan, const Buffers& buffers) {
  for (std::size_t i = 0; i < plan.workspaces.size(); ++i) {
    const Workspace& workspace = plan.workspaces[i];
    if (workspace.zeroed) fill(buffers.workspaces.at(i), std::byte{0}, workspace.bytes);
  }
}

/// A plan must write outputs and scratch memory before it reads them.
void VirtualDevice::watch_plan(const Plan& plan, const Buffers& buffers) {
  if (!sanitiser_) return;
  std::vector<std::uint64_t> addresses = buffers.tensors;
  addresses.insert(addresses.end(), buffers.workspaces.begin(), buffers.workspaces.end());
  // Zeroing a workspace is not a launch. The first launch waits for it, and it waits for everything before it.
  const bool zeroes =
      std::ranges::any_of(plan.workspaces, [](const Workspace& one) { return one.zeroed && one.bytes > 0; });
  sanitiser_->begin_plan(addresses, zeroes, memory_);
  for (std::size_t i = 0; i < plan.tensors.size(); ++i)
    if (!plan.tensors[i].drawn() && plan.tensors[i].bytes > 0)
      sanitiser_->poisoned(buffers.tensors.at(i), plan.tensors[i].bytes, memory_);
  for (std::size_t i = 0; i < plan.workspaces.size(); ++i)
    sanitiser_->poisoned(buffers.workspaces.at(i), plan.workspaces[i].bytes, memory_);
}

/// Nothing that an earlier call left outside of the plan's buffers is of use to this one.
void VirtualDevice::begin_call(const LoadedModule& module, const Plan& plan, const Buffers& buffers) {
  open_only(memory_, module, plan, buffers);
  for (const std::uint64_t address : memory_.clear_heap())
    if (sanitiser_) sanitiser_->freed(address);
}

template <class Run>
void VirtualDevice::watched(Launch& launch, Run run) const {
  launch.observer = sanitiser_.get();
  if (sanitiser_) sanitiser_->begin_launch(launch);
  run(launch);
  if (sanitiser_) sanitiser_->end_launch(launch);
}

std::optional<Failure> VirtualDevice::run(const Module& module, const Plan& plan, const Buffers& buffers) {
  const auto& loaded = dynamic_cast<const LoadedModule&>(module);
  if (auto failure = fill_constants(module, plan, buffers)) return failure;
  watch_plan(plan, buffers);
  zero_workspaces(plan, buffers);
  const CallBuffers call(moving(), buffers);
  begin_call(loaded, plan, call.addresses());
  for (const evo::Launch& planned : plan.launches) {
    Launch launch;
    if (auto failure = prepare(loaded, plan, planned, call.addresses(), launch)) return failure;
    watched(launch, [](Launch& one) { run_blocks(one); });
    if (launch.failure) return launch.failure;
  }
  return std::nullopt;
}

std::optional<Failure> VirtualDevice::run_sanitised(const Module& module, const Plan& plan, const Buffers& buffers) {
  if (sanitiser_) return run(module, plan, buffers);
  sanitise();
  std::optional<Failure> failure = run(module, plan, buffers);
  const std::vector<Finding> found = findings(Strictness::usual);
  sanitiser_.reset();
  if (failure || found.empty()) return failure;
  std::string reason = fmt::format("{}: {}", name_of(found.front().kind), found.front().text);
  if (found.size() > 1) reason += fmt::format(" (and {} more findings: evo sanitize)", found.size() - 1);
  return failure_of(Verdict::crashed, std::move(reason));
}

/// Runs a launch and models what it would cost. The cost means nothing when `launch.failure` is set.
LaunchCost VirtualDevice::run_traced(const LoadedModule& module, const evo::Launch& planned, const TracedRun& how,
                                     Launch& launch) const {
  LaunchConfig config;
  config.kernel = planned.kernel;
  config.blocks = volume(planned.grid);
  config.threads_per_block = static_cast<std::uint32_t>(volume(planned.block));
  config.cluster = static_cast<std::uint32_t>(volume(launch.cluster));
  config.registers_per_thread =
      static_cast<std::uint32_t>(std::max(module.build().kernel(planned.kernel).registers, 16));
  config.smem_bytes = std::int64_t{launch.kernel->static_smem_bytes} + planned.dynamic_smem_bytes;
  config.programmatic = planned.programmatic;
  config.cold = how.cold;
  config.footprint_bytes = how.footprint_bytes;
  TracedLaunch traced;
  watched(launch, [&](Launch& one) {
    traced = how.blocks == Blocks::few ? trace_few(one, model_, how.written, how.salt)
                                       : run_and_trace(one, model_, how.written, how.salt);
  });
  if (launch.failure) return {};
  LaunchCost cost = model_launch(model_, config, traced.trace, traced.work, traced.waits.get());
  if (traced.uncertainty > kWantedUncertainty) cost.uncertain_us = traced.uncertainty * cost.sm_us;
  return cost;
}

PlanCost VirtualDevice::cost_of(const LoadedModule& module, const Plan& plan, const Buffers& buffers, bool cold,
                                Blocks blocks, std::optional<Failure>& failure) {
  failure = fill_constants(module, plan, buffers);
  if (failure) return {};
  const CallBuffers call(moving(), buffers);
  begin_call(module, plan, call.addresses());
  const std::vector<DeviceRange> written = written_by(module, plan, call.addresses());
  const std::uint64_t salt = salt_of(memory_, plan, call.addresses());
  std::vector<LaunchCost> costs;
  for (const evo::Launch& planned : plan.launches) {
    Launch launch;
    failure = prepare(module, plan, planned, call.addresses(), launch);
    if (failure) return {};
    if (blocks == Blocks::few) launch.numerics = estimated(launch.numerics);
    const TracedRun how{blocks, cold, footprint_of(plan, planned), written, mix(salt, costs.size())};
    costs.push_back(run_traced(module, planned, how, launch));
    costs.back().executed = launch.executed;
    failure = launch.failure;
    if (failure) return {};
  }
  return model_plan(std::move(costs));
}

std::optional<std::vector<DeclaredParameter>> VirtualDevice::parameters(const Module& module,
                                                                        const std::string& kernel) const {
  std::string refused;
  std::optional<KernelFacts> facts = this->facts(module, kernel, refused);
  return facts ? std::optional(std::move(facts->parameters)) : std::nullopt;
}

std::optional<KernelFacts> VirtualDevice::facts(const Module& module, const std::string& kernel,
                                                std::string& refused) const {
  const auto& loaded = dynamic_cast<const LoadedModule&>(module);
  try {
    if (const Kernel* found = loaded.kernel(kernel)) return facts_of(*found, loaded.build().kernel(kernel).registers);
  } catch (const LoadError& error) {
    refused = error.what();
  }
  return std::nullopt;
}

std::vector<DeclaredVariable> VirtualDevice::variables(const Module& module) const {
  std::vector<DeclaredVariable> declared;
  for (const auto& variable : dynamic_cast<const LoadedModule&>(module).variables())
    declared.push_back({variable.name, variable.address, variable.bytes});
  return declared;
}

std::optional<Failure> VirtualDevice::run_kernel(const Module& module, const evo::Launch& planned,
                                                 std::span<const std::vector<std::byte>> arguments, KernelRun& run) {
  const auto& loaded = dynamic_cast<const LoadedModule&>(module);
  Launch launch;
  if (auto failure = prepare(loaded, planned, launch)) return failure;
  const std::vector<KernelParameter>& parameters = launch.kernel->parameters;
  if (parameters.size() != arguments.size()) {
    return refusal(fmt::format("kernel {} takes {} arguments, {} were given", launch.kernel->name, parameters.size(),
                               arguments.size()));
  }
  launch.parameters.assign(launch.kernel->parameter_bytes, std::byte{0});
  memory_.open_all();
  std::int64_t footprint_bytes = 0;
  std::vector<DeviceRange> written;
  for (const auto& variable : loaded.variables()) written.push_back({variable.address, variable.bytes});
  for (const auto& [handle, surface] : objects_.surfaces())
    if (const Allocation* buffer = memory_.find(surface.address))
      written.push_back({buffer->begin, buffer->end - buffer->begin});
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (parameters[i].bytes != arguments[i].size()) {
      return refusal(fmt::format("kernel {}: argument {} has {} bytes, {} were given", launch.kernel->name, i,
                                 parameters[i].bytes, arguments[i].size()));
    }
    if (arguments[i].empty()) continue;
    std::memcpy(launch.parameters.data() + parameters[i].offset, arguments[i].data(), arguments[i].size());
    std::uint64_t address = 0;
    if (arguments[i].size() == sizeof address) std::memcpy(&address, arguments[i].data(), sizeof address);
    if (const Texture* texture = objects_.texture(address)) address = texture->texels.address;
    if (const Texels* surface = objects_.surface(address)) address = surface->address;
    const Allocation* buffer = memory_.find(address);
    if (buffer == nullptr) continue;
    footprint_bytes += static_cast<std::int64_t>(buffer->end - buffer->begin);
    written.push_back({buffer->begin, buffer->end - buffer->begin});
  }
  if (run.modelled) {
    run.cost = run_traced(loaded, planned, {Blocks::all, false, footprint_bytes, written, 0}, launch);
  } else {
    watched(launch, [](Launch& one) { run_blocks(one); });
  }
  run.printed = std::move(launch.printed);
  run.warp_instructions = launch.executed;
  return launch.failure;
}

Timing VirtualDevice::time(const Module& module, const Plan& plan, std::span<const Buffers> rotation,
                           const TimingRequest& request, std::optional<Failure>& failure) {
  Timing timing;
  timing.modelled = true;
  timing.cold = request.cold;
  if (rotation.empty()) throw machine_error("nothing to time: no buffers");
  const auto& loaded = dynamic_cast<const LoadedModule&>(module);
  zero_workspaces(plan, rotation.front());
  const PlanCost cost = cost_of(loaded, plan, rotation.front(), request.cold, Blocks::all, failure);
  if (failure) return timing;
  // The model needs one set; what the timed launches leave in the others is checked too.
  for (const Buffers& buffers : rotation.subspan(1)) {
    failure = run(module, plan, buffers);
    if (failure) return timing;
  }
  timing.median_us = timing.low_us = timing.high_us = cost.latency_us;
  for (const LaunchCost& launch : cost.launches) {
    timing.low_us -= std::min(launch.uncertain_us, launch.sm_us);
    timing.high_us += launch.uncertain_us;
  }
  timing.samples_us = {cost.latency_us};
  return timing;
}

std::vector<std::vector<SequenceCost>> VirtualDevice::time_sequences(const Module& module, const Plan& plan,
                                                                     std::span<const Buffers> sets,
                                                                     std::span<const CallSequence> sequences,
                                                                     int rounds, std::optional<Failure>& failure) {
  const auto& loaded = dynamic_cast<const LoadedModule&>(module);
  failure.reset();
  std::vector<std::vector<SequenceCost>> costs(static_cast<std::size_t>(rounds));
  for (std::vector<SequenceCost>& round : costs) {
    for (const CallSequence& sequence : sequences) {
      SequenceCost& total = round.emplace_back();
      for (const CallStep& step : sequence) {
        for (const std::vector<DeviceWrite>& batch : step.writes) write(batch);
        if (!step.calls) continue;
        zero_workspaces(plan, sets[step.set]);
        const PlanCost cost = cost_of(loaded, plan, sets[step.set], false, Blocks::all, failure);
        if (failure) return {};
        total.us += cost.latency_us;
        for (const LaunchCost& launch : cost.launches) total.instructions += launch.executed;
      }
    }
  }
  return costs;
}

}  // namespace

std::vector<std::string> model_names() {
  std::vector<std::string> names;
  for (const DeviceModel& model : device_models()) names.emplace_back(model.name);
  return names;
}

DeviceInfo model_info(std::string_view model) {
  return device_info(device_model(model));
}

std::unique_ptr<VirtualGpu> make_device(std::string_view model, int threads,
                                        std::optional<std::uint64_t> address_salt) {
  return std::make_unique<VirtualDevice>(device_model(model), threads, address_salt);
}

std::unique_ptr<VirtualGpu> make_device(const DeviceInfo& info, int threads) {
  if (info.kind != kKind) {
    throw usage_error(fmt::format("{} is not a virtual GPU, and this needs one: --device {}:MODEL", info.id, kKind));
  }
  return make_device(std::string_view(info.id).substr(kKind.size() + 1), threads);
}

}  // namespace evo::vgpu
