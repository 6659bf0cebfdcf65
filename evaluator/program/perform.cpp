#include "evaluator/program/perform.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "engine/base/demangled.h"
#include "engine/base/error.h"
#include "evaluator/program/event.h"
#include "evaluator/program/graph.h"

namespace evo::program {
namespace {

/// Bytes that cross the bus between host and GPU in a microsecond: PCIe 5.0 x16 moves some 55 GB/s.
constexpr double kBusBytesPerUs = 55e3;
/// What a copy takes at least.
constexpr double kCopyUs = 1.5;

/// The parts of the GPU that work beside each other: each does one thing after the other.
struct Parts {
  double kernels = 0, to_device = 0, to_host = 0;
};
Parts& parts() {
  static auto& all = *new Parts;
  return all;
}

/// Part of the GPU is busy for so long from when it and the stream are free.
void occupy(double& part, Clock& clock, double us) {
  clock.now = part = std::max(part, clock.now) + us;
}

void move_row(Address to, Address from, std::size_t bytes) {
  vgpu::VirtualGpu& gpu = machine().gpu();
  if (on_device(to) && on_device(from)) {
    gpu.copy(to, from, bytes);
  } else if (on_device(to)) {
    gpu.upload(to, {reinterpret_cast<const std::byte*>(from), bytes});
  } else if (on_device(from)) {
    gpu.download({reinterpret_cast<std::byte*>(to), bytes}, from);
  } else {
    std::memmove(reinterpret_cast<void*>(to), reinterpret_cast<const void*>(from), bytes);
  }
}

void fill_row(Address to, const Fill& fill) {
  if (fill.element == 1 && on_device(to))
    return machine().gpu().fill(to, static_cast<std::byte>(fill.value), fill.width);
  std::vector<std::byte> row(fill.width * fill.element);
  for (std::size_t i = 0; i < fill.width; ++i) std::memcpy(row.data() + i * fill.element, &fill.value, fill.element);
  if (on_device(to)) {
    machine().gpu().upload(to, row);
  } else {
    std::memcpy(reinterpret_cast<void*>(to), row.data(), row.size());
  }
}

/// What the GPU's host is told of a launch that has ended badly.
Code code_of(const Failure& failure) {
  if (failure.verdict == Verdict::timed_out) return Code::launch_timeout;
  if (failure.verdict == Verdict::launch_failed) return Code::out_of_resources;
  if (failure.verdict == Verdict::unsupported) return Code::not_supported;
  const auto tells = [&](const char* word) { return failure.reason.find(word) != std::string::npos; };
  if (tells("misaligned")) return Code::misaligned_address;
  if (tells("assert")) return Code::assert_failed;
  if (tells("trap") || tells("deadlock")) return Code::launch_failed;  // By .trap of surfaces, too.
  return Code::illegal_address;
}

void report_findings() {
  Machine& m = machine();
  std::vector<vgpu::Finding> found = m.gpu().findings(vgpu::Strictness::strict);
  m.report().findings(std::move(found));
}

void run(const KernelLaunch& asked, Clock& clock) {
  Function& function = *asked.function;
  const std::string name = readable_kernel_name(function.name);
  const evo::Launch launch = planned(asked);
  ModelledShape& shape = function.modelled[{asked.grid, asked.block, asked.cluster, asked.dynamic_smem_bytes}];
  vgpu::KernelRun result;
  result.modelled = shape.warp_instructions == 0;
  const std::optional<Failure> failure =
      machine().gpu().run_kernel(function.code->module(), launch, asked.arguments, result);
  machine().print(result.printed);
  report_findings();
  if (failure) {
    machine().broken = code_of(*failure);
    machine().show_printed();
    machine().report().failed(failure->reason);
    say(fmt::format("{}: {}", name, failure->reason));
    return;
  }
  if (result.modelled) shape = {result.cost.latency_us, std::max<std::uint64_t>(result.warp_instructions, 1)};
  const double us = shape.us * static_cast<double>(std::max<std::uint64_t>(result.warp_instructions, 1)) /
                    static_cast<double>(shape.warp_instructions);
  machine().report().launched(name, us, result.warp_instructions);
  occupy(parts().kernels, clock, us);
}

void run(const Copy& copy, Clock& clock) {
  const std::size_t bytes = copy.width * copy.height * copy.depth;
  if (bytes == 0) return;
  const bool dense =
      copy.to.pitch == copy.width && copy.from.pitch == copy.width &&
      (copy.depth == 1 || (copy.to.slice == copy.width * copy.height && copy.from.slice == copy.to.slice));
  if (dense) {
    move_row(copy.to.address, copy.from.address, bytes);
  } else {
    for (std::size_t z = 0; z < copy.depth; ++z)
      for (std::size_t y = 0; y < copy.height; ++y)
        move_row(copy.to.address + z * copy.to.slice + y * copy.to.pitch,
                 copy.from.address + z * copy.from.slice + y * copy.from.pitch, copy.width);
  }
  const bool to = on_device(copy.to.address), from = on_device(copy.from.address);
  const auto size = static_cast<double>(bytes);
  if (to && from) {
    // Each byte is read and written.
    occupy(parts().kernels, clock, kCopyUs + 2e-3 * size / machine().info().memory_gbytes_per_s);
  } else {
    occupy(to ? parts().to_device : parts().to_host, clock, kCopyUs + size / kBusBytesPerUs);
  }
}

void run(const Fill& fill, Clock& clock) {
  if (fill.width * fill.height * fill.depth == 0) return;
  for (std::size_t z = 0; z < fill.depth; ++z)
    for (std::size_t y = 0; y < fill.height; ++y)
      fill_row(fill.to.address + z * fill.to.slice + y * fill.to.pitch, fill);
  const auto size = static_cast<double>(fill.width * fill.element * fill.height * fill.depth);
  occupy(parts().kernels, clock, kCopyUs + 1e-3 * size / machine().info().memory_gbytes_per_s);
}

void run(const HostCall& call, Clock&) {
  machine().show_printed();
  call.function(call.data);
}

void run(const ChildGraph& child, Clock& clock) {
  for (const Node* node : child.graph->in_order())
    if (node->enabled) perform(node->work, clock);
}

void run(const EventRecord& record, Clock& clock) {
  record.event->recorded = true;
  record.event->time_us = clock.now;
}

void run(const EventWait& wait, Clock& clock) {
  if (wait.event->recorded) clock.now = std::max(clock.now, wait.event->time_us);
}

void run(const MemoryAllocation&, Clock&) {}

void run(const MemoryFree& free, Clock&) {
  machine().release(free.address, MemoryKind::device);
}

void run(const Empty&, Clock&) {}

}  // namespace

void perform(const Work& work, Clock& clock) {
  try {
    std::visit([&](const auto& one) { run(one, clock); }, work);
  } catch (const Error& error) {
    // An address that is none, or a range that leaves its buffer.
    say(error.what());
    throw Refusal(Code::invalid_value);
  }
}

}  // namespace evo::program
