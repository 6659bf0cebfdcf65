#include "cli/check/tried_reference.h"

#include <utility>
#include <variant>

#include "engine/base/error.h"
#include "evaluator/base/cores.h"
#include "evaluator/compile/compiler.h"
#include "evaluator/vgpu/virtual_device.h"
#include "evaluator/worker/device_server.h"

namespace evo::cli {

struct TriedReference::Impl {
  Program program;
  const Task& task;
  const Bindings& options;
  std::unique_ptr<vgpu::VirtualGpu> gpu;
  DeviceServer server;
};

TriedReference::TriedReference(Program program, const Task& task, const Bindings& options, const DeviceInfo& device,
                               Compiler& compiler, std::uint64_t instructions) {
  auto gpu = vgpu::make_device(device, usable_cores());
  gpu->limit_instructions(instructions);
  vgpu::VirtualGpu& served = *gpu;
  impl_.reset(new Impl{std::move(program), task, options, std::move(gpu), DeviceServer(served)});
  auto compiled = compiler.compile(impl_->program, device.arch);
  if (const auto* failure = std::get_if<Failure>(&compiled))
    throw failure->verdict == Verdict::harness_failed ? machine_error(failure->reason) : usage_error(failure->reason);
  protocol::Reply loaded = impl_->server.load({1, std::move(std::get<Binary>(compiled)), impl_->program.plans});
  if (const auto* failed = std::get_if<protocol::Failed>(&loaded)) throw usage_error(failed->failure.reason);
}

TriedReference::~TriedReference() = default;

Expected TriedReference::answer(const Case& one) {
  protocol::Reply ran = impl_->server.run({1, one.shape.name, reference_recipe(impl_->task, one.recipe), 1});
  if (const auto* failed = std::get_if<protocol::Failed>(&ran)) throw usage_error(failed->failure.reason);
  Expected expected = expected_outputs(impl_->program.plans.at(one.shape.name), std::get<protocol::Ran>(ran).outputs);
  note_drawn(impl_->task, impl_->options, one.recipe, expected);
  return expected;
}

}  // namespace evo::cli
