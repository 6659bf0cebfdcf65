#include "evaluator/pipeline/pipeline_options.h"

namespace evo {

WorkerOptions worker_options(const PipelineOptions& options, const std::vector<std::string>& role,
                             const StopSignal* stop) {
  WorkerOptions worker;
  worker.command = options.worker_command;
  if (worker.command.empty()) worker.command = {"/proc/self/exe", "worker"};
  worker.command.insert(worker.command.end(), role.begin(), role.end());
  worker.stop = stop;
  return worker;
}

}  // namespace evo
