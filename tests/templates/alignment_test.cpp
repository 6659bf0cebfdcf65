// Kernels of the shipped families take tensors at any multiple of 16 bytes, as exported launchers promise.
#include "population/code/alignment.h"

#include <catch2/matchers/catch_matchers_string.hpp>
#include <memory>
#include <optional>

#include "evaluator/device/device_memory.h"
#include "evaluator/device/pristine_inputs.h"
#include "evaluator/judge/cases.h"
#include "evaluator/vgpu/virtual_device.h"
#include "tests/templates/shipped.h"

using namespace evo;
using namespace evo::test;

namespace {

struct PlacedRun {
  std::optional<Failure> failure;
  std::vector<std::byte> outputs;
};

/// Runs a plan on the virtual H200. Every tensor begins `further` bytes behind a multiple of 256.
PlacedRun run_at(const Program& program, const Case& one, const Binary& binary, std::size_t further) {
  const auto device = vgpu::make_device("h200");
  PlacedRun answer;
  const std::unique_ptr<Module> module = device->load(binary, answer.failure);
  REQUIRE(module != nullptr);
  const Plan& plan = program.plans.at(one.shape.name);
  const PristineInputs inputs(*device, one.recipe, 0);
  std::vector<DeviceMemory> memory;
  Buffers buffers;
  std::vector<DeviceAddress> drawn;
  for (const PlanTensor& tensor : plan.tensors) {
    memory.emplace_back(*device, tensor.bytes + further + 1, tensor.name);
    buffers.tensors.push_back(tensor.bytes > 0 ? memory.back().address() + further : 0);
    if (tensor.drawn()) drawn.push_back(buffers.tensors.back());
    if (tensor.output && !tensor.drawn()) device->fill(buffers.tensors.back(), std::byte{0xff}, tensor.bytes);
  }
  device->write(inputs.copies(drawn));
  for (const Workspace& workspace : plan.workspaces) {
    memory.emplace_back(*device, workspace.bytes + 1, workspace.name);
    buffers.workspaces.push_back(memory.back().address());
    if (workspace.zeroed) device->fill(buffers.workspaces.back(), std::byte{0}, workspace.bytes);
  }
  answer.failure = device->run(*module, plan, buffers);
  for (std::size_t i = 0; i < plan.tensors.size() && !answer.failure; ++i) {
    if (!plan.tensors[i].output || plan.tensors[i].bytes == 0) continue;
    const std::size_t begin = answer.outputs.size();
    answer.outputs.resize(begin + plan.tensors[i].bytes);
    device->download(std::span(answer.outputs).subspan(begin), buffers.tensors[i]);
  }
  return answer;
}

/// Kernels of a family on its task's shape: `expect` sees the answers at multiples of 256 and `further` behind them.
template <class Expect>
void run_kernels(const char* task, const std::string& family, int count, std::size_t further, Expect expect) {
  const Task shipped = load_task(shipped_templates(), task);
  const Aimed aimed(task, hopper(), {shipped.shape_sets.at("vgpu").timed.front()});
  const Space space = aimed.space();
  Rng rng(5);
  int ran = 0;
  for (int tried = 0; tried < 20 && ran < count; ++tried) {
    const Genome genome = space.sample(rng, family);
    INFO(to_text(genome));
    const Candidate candidate = aimed.candidate(space, genome);
    const Program& program = candidate.programs.front();
    auto compiled = nvrtc_or_skip().compile(program.source, aimed.gpu().arch, program.max_registers);
    if (std::holds_alternative<Failure>(compiled)) continue;
    const Binary& binary = std::get<Binary>(compiled);
    const CasePlan cases = plan_cases(aimed.task(), aimed.target(), "vgpu", 1);
    const Case& one = cases.cases.at(cases.timed.front().rotation.front());
    const PlacedRun usual = run_at(program, one, binary, 0);
    if (usual.failure) continue;
    ++ran;
    expect(usual, run_at(program, one, binary, further));
  }
  CHECK(ran == count);
}

}  // namespace

TEST_CASE("kernels of every shipped family give the same bits where tensors begin at other multiples of 16 bytes",
          "[long]") {
  for (const char* task : {"fp8_sdpa",     "f16_sdpa",     "fp8_qkt",     "gemm_bf16",     "gemm_fp8",
                           "grouped_gemm", "rms_norm",     "layer_norm",  "norm_backward", "softmax",
                           "quantise",     "sim_fp8_sdpa", "sim_fp8_qkt", "cross_entropy", "cross_entropy_backward",
                           "transpose",    "reduce",       "histogram",   "scan",          "top_k"}) {
    const Task shipped = load_task(shipped_templates(), task);
    const Aimed aimed(task, hopper(), {shipped.shape_sets.at("vgpu").timed.front()});
    const Space space = aimed.space();
    for (const Family& family : space.families()) {
      CAPTURE(task, family.name);
      run_kernels(task, family.name, 2, kTensorAlignment, [](const PlacedRun& usual, const PlacedRun& view) {
        CHECK(!view.failure);
        CHECK(view.outputs == usual.outputs);
      });
    }
  }
}

TEST_CASE("a kernel of vector loads faults where a tensor begins between multiples of 16 bytes") {
  int faults = 0;
  run_kernels("rms_norm", "row", 3, kTensorAlignment / 2,
              [&](const PlacedRun&, const PlacedRun& view) { faults += view.failure ? 1 : 0; });
  CHECK(faults > 0);
}
