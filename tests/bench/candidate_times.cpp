// How long the virtual GPU takes for one complete plain run of random candidates, on one core:
//   evo_bench_candidates [TASK [SHAPE [COUNT]]]      fp8_sdpa mission 20
// Prints CPU seconds of each, loading excluded, and the slowest of each family.
#include <fmt/core.h>

#include <cstdlib>
#include <ctime>
#include <string>
#include <variant>

#include "cli/sources/templates.h"
#include "cli/subject/lookup.h"
#include "engine/base/error.h"
#include "engine/base/rng.h"
#include "engine/space/space.h"
#include "engine/task/candidate.h"
#include "evaluator/compile/compiler.h"
#include "evaluator/compile/nvrtc_compiler.h"
#include "evaluator/device/device_buffers.h"
#include "evaluator/device/guards.h"
#include "evaluator/device/inputs.h"
#include "evaluator/hosts/devices.h"
#include "evaluator/pipeline/pipeline.h"
#include "evaluator/vgpu/virtual_device.h"

namespace {

using namespace evo;

double cpu_seconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

/// CPU seconds of one run; negative when the candidate does not compile, load or run.
double time_of(vgpu::VirtualGpu& gpu, Compiler& compiler, const Program& program, const Plan& plan,
               const PristineInputs& inputs) {
  auto built = compiler.compile(program.source, gpu.info().arch, program.max_registers);
  if (!std::holds_alternative<Binary>(built)) return -1;
  std::optional<Failure> failure;
  const auto module = gpu.load(std::get<Binary>(built), failure);
  if (failure) return -1;
  BufferSet buffers(gpu, plan.tensors);
  if (buffers.attach_workspaces(plan.workspaces)) return -1;
  buffers.prepare(inputs, 0, 0);
  const double start = cpu_seconds();
  if (gpu.run(*module, plan, buffers.addresses())) return -1;
  return cpu_seconds() - start;
}

void measure(const std::string& task_name, const std::string& shape, int count) {
  const SourceTree tree = cli::load_templates({});
  const Task task = cli::find_task(tree, task_name);
  const DeviceInfo device = resolve_device("vgpu:h200");
  const Target target = make_target(task, device.kind, {shape}, {});
  const auto gpu = vgpu::make_device("h200");
  const auto compiler = make_nvrtc_compiler();
  const CaseRecipe recipe = make_recipe(task, target.options, target.timed.front(), task.regimes.front(), 1, 0);
  const PristineInputs inputs(*gpu, recipe, guard_bytes_for(gpu->info()));
  for (const Family& family : load_families(tree, task)) {
    const Space space = cli::make_space(tree, task, device, target, family.name);
    Rng rng(1);
    double slowest = 0;
    std::string which;
    for (int i = 0; i < count && space.size() > 0; ++i) {
      const Genome genome = space.sample(rng);
      const Candidate candidate =
          make_candidate(tree, task, space.family(genome.family), genome, target, facts_of(device.limits));
      const Program& program = candidate.programs.front();
      const double seconds = time_of(*gpu, *compiler, program, program.plans.begin()->second, inputs);
      fmt::print("{:8.3f} s  {}\n", seconds, to_text(genome));
      if (seconds <= slowest) continue;
      slowest = seconds;
      which = to_text(genome);
    }
    fmt::print("slowest of {} {}: {:.3f} s  {}\n", count, family.name, slowest, which);
  }
}

}  // namespace

int main(int count, char** arguments) {
  const auto argument = [&](int at, const char* otherwise) {
    return std::string(at < count ? arguments[at] : otherwise);
  };
  try {
    measure(argument(1, "fp8_sdpa"), argument(2, "mission"), std::atoi(argument(3, "20").c_str()));
  } catch (const Error& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 1;
  }
}
