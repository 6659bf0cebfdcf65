#include "evaluator/hosts/pipeline_options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <utility>

#include "engine/device/device_kind.h"
#include "evaluator/base/log.h"
#include "evaluator/worker/remote_link.h"

namespace evo {

WorkerOptions worker_options(const PipelineOptions& options, std::vector<std::string> role, const StopSignal* stop) {
  WorkerOptions worker;
  worker.name = fmt::format("{}", fmt::join(role, " "));
  for (std::string& level : log_argument()) role.push_back(std::move(level));
  worker.command = options.worker_command;
  if (worker.command.empty()) worker.command = {"/proc/self/exe", "worker"};
  const DeviceInfo& device = options.device;
  if (role.front() != "compile" && !device.reached_by.empty()) {
    std::vector<std::string> there(worker.command.begin() + 1, worker.command.end());
    there.insert(there.end(), role.begin(), role.end());
    const std::vector<std::string> link =
        near_end_arguments({device.reached_by, device.program, options.lease_s}, there);
    worker.command.insert(worker.command.end(), link.begin(), link.end());
    worker.name += " on " + (device.host.empty() ? device.reached_by : device.host);
  } else {
    worker.command.insert(worker.command.end(), role.begin(), role.end());
    const DeviceKind* kind = find_kind(device.kind);
    worker.computes = options.worker_command.empty() && (role.front() == "compile" || (kind && kind->on_host));
  }
  worker.stop = stop;
  return worker;
}

}  // namespace evo
