// Programmatic dependent launches: the sanitiser's findings for kernels that do not wait for the preceding launch.
#include <catch2/catch_test_macros.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "tests/vgpu/gpu_for_tests.h"
#include "tests/vgpu/times/device_bench.h"

using namespace evo;

namespace {

constexpr std::string_view kKernels = R"(
__device__ void wait() { asm volatile("griddepcontrol.wait;" ::: "memory"); }
__device__ void let_go() { asm volatile("griddepcontrol.launch_dependents;" ::: "memory"); }
extern "C" __global__ void hasty(const int* in, int* out) { out[threadIdx.x] = in[threadIdx.x]; }
extern "C" __global__ void patient(const int* in, int* out) { wait(); out[threadIdx.x] = in[threadIdx.x]; }
extern "C" __global__ void deferred(const int* in, int* out) { const int value = in[threadIdx.x]; wait(); out[threadIdx.x] = value; }
extern "C" __global__ void eager(const int* in, int* out) { let_go(); wait(); out[threadIdx.x] = in[threadIdx.x]; }
extern "C" __global__ void settled(const int* in, int* out) { wait(); let_go(); out[threadIdx.x] = in[threadIdx.x]; }
extern "C" __global__ void one_waits(const int* in, int* out, int meet) {
  if (threadIdx.x == 0) wait();
  if (meet) __syncthreads();
  out[threadIdx.x] = in[threadIdx.x];
}
extern "C" __global__ void sum(const int* in, const int* scratch, int* out) {
  const int early = in[threadIdx.x];
  wait();
  out[threadIdx.x] = early + scratch[threadIdx.x];
}
extern "C" __global__ void flag(int* counter, int* out) { out[threadIdx.x] = atomicAdd(counter, 1); }
)";

Argument tensor(std::size_t index) {
  return {Argument::Kind::tensor, index};
}
Argument scratch() {
  return {Argument::Kind::workspace, 0};
}
Argument number(int value) {
  return Argument::of_int(value);
}

Launch launch(std::string kernel, bool programmatic, std::vector<Argument> arguments) {
  Launch made;
  made.kernel = std::move(kernel);
  made.block = {64, 1, 1};
  made.programmatic = programmatic;
  made.arguments = std::move(arguments);
  return made;
}

/// A virtual GPU with the kernels, an input, an output and a workspace of 64 numbers each.
struct Bench : vgpu::DeviceBench {
  Bench()
      : DeviceBench(vgpu::ptx_of(kKernels), {{"in", DType::s32, 256, false}, {"out", DType::s32, 256, true}},
                    {"scratch", 256, false}) {}

  /// The reason of the failure; empty if there is no finding.
  std::string found(std::vector<Launch> launches, bool zeroed = false) {
    Plan plan = plan_with(std::move(launches));
    plan.workspaces[0].zeroed = zeroed;
    const auto failure = device->run_sanitised(*module, plan, buffers);
    return failure ? failure->reason : "";
  }
};

bool holds(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("the first launch of a plan must wait before it accesses memory that a previous call may still use") {
  Bench bench;
  const std::vector<Argument> copy = {tensor(0), tensor(1)};
  CHECK(bench.found({launch("hasty", false, copy)}).empty());
  CHECK(bench.found({launch("patient", true, copy)}).empty());
  const std::string hasty = bench.found({launch("hasty", true, copy)});
  INFO(hasty);
  CHECK(holds(hasty, "race"));
  CHECK(holds(hasty, "reads 4 bytes"));
  CHECK(holds(hasty, "'in'"));
  CHECK(holds(hasty, "a race with whatever was launched ahead: no griddepcontrol.wait lies before it"));
  CHECK(holds(bench.found({launch("deferred", true, copy)}), "whatever was launched ahead"));
}

TEST_CASE("one thread's wait counts only for threads that a barrier orders after it") {
  Bench bench;
  CHECK(bench.found({launch("one_waits", true, {tensor(0), tensor(1), number(1)})}).empty());
  CHECK(holds(bench.found({launch("one_waits", true, {tensor(0), tensor(1), number(0)})}), "thread (1, 0, 0)"));
}

TEST_CASE("a launch must wait before it reads the preceding launch's outputs or overwrites its inputs") {
  Bench bench;
  const Launch first = launch("hasty", false, {tensor(0), scratch()});
  CHECK(bench.found({first, launch("patient", true, {scratch(), tensor(1)})}).empty());
  const std::string reads = bench.found({first, launch("hasty", true, {scratch(), tensor(1)})});
  INFO(reads);
  CHECK(holds(reads, "reads 4 bytes"));
  CHECK(holds(reads, "a race with the launch ahead: no griddepcontrol.wait lies before it"));
  // The second launch copies `out` over `in`, which the first one still copies to `scratch`.
  const Launch fill = launch("hasty", false, {tensor(0), tensor(1)});
  const std::string writes = bench.found({fill, first, launch("hasty", true, {tensor(1), tensor(0)})});
  INFO(writes);
  CHECK(holds(writes, "writes 4 bytes"));
  CHECK(holds(writes, "a race with the launch ahead"));
  CHECK(bench.found({first, launch("hasty", false, {scratch(), tensor(1)})}).empty());
}

TEST_CASE("memory that the preceding launch does not touch may be read early if that launch has waited") {
  Bench bench;
  const Launch last = launch("sum", true, {tensor(0), scratch(), tensor(1)});
  CHECK(bench.found({launch("hasty", false, {tensor(0), scratch()}), last}).empty());
  CHECK(bench.found({launch("patient", true, {tensor(0), scratch()}), last}).empty());
  CHECK(bench.found({launch("settled", true, {tensor(0), scratch()}), last}).empty());
  // If the preceding launch triggers before its own wait, the call before it may still be running.
  CHECK(holds(bench.found({launch("eager", true, {tensor(0), scratch()}), last}), "whatever was launched ahead"));
}

TEST_CASE("zeroing a workspace before a launch orders that launch after all preceding ones") {
  Bench bench;
  CHECK(bench.found({launch("flag", true, {scratch(), tensor(1)})}, true).empty());
}

TEST_CASE("a kernel that does not wait for the preceding launch gains nothing by programmatic launch") {
  Bench bench;
  const auto modelled_us = [&](const std::string& kernel, bool programmatic) {
    const Plan plan = bench.plan_with({launch(kernel, programmatic, {tensor(0), tensor(1)})});
    return bench.device->model(*bench.module, plan, bench.buffers, false, bench.failure).launches.front();
  };
  CHECK(modelled_us("hasty", true).hidden_us == 0);
  CHECK(modelled_us("deferred", true).hidden_us > 0);
  CHECK_FALSE(bench.failure);
}
