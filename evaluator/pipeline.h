#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/evaluation.h"
#include "engine/task.h"
#include "evaluator/device.h"

namespace evo {

/// Every device that can be named here: CUDA GPUs, then the virtual models.
std::vector<DeviceInfo> all_devices();

/// "auto" (the first CUDA GPU, else vgpu:h200), "cuda:N", "vgpu", "vgpu:MODEL". Throws usage_error for a malformed name
/// and machine_error, saying what is missing, when it is not there.
DeviceInfo resolve_device(std::string_view name);

struct PipelineOptions {
  Task task;
  SourceTree tree;        ///< For the reference.
  Target target;
  DeviceInfo device;
  std::uint64_t salt = 0;     ///< Mixed into every seed.
  int compile_workers = 0;    ///< 0: one for each core.
  double compile_deadline_s = 60;
  double run_deadline_s = 60;   ///< For each request to a device worker: validation of one case, one timing.
  bool dedup = true;            ///< Off for verify: every candidate is built and measured afresh.
  double timing_seconds = 0.5;  ///< Budget of one timing.
};

/// The evaluation pipeline of design.md "Evaluation": compile pool, one device worker, validation in this process.
/// Worker processes are this executable re-executed as `evo worker ...`.
std::unique_ptr<Evaluator> make_pipeline(PipelineOptions options);

/// The hidden command behind worker processes: serves requests on the inherited socket until it closes. `arguments` are
/// what follows "worker". Returns the exit code.
int worker_main(const std::vector<std::string>& arguments);

}  // namespace evo
