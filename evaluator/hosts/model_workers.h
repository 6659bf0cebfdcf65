#pragma once

#include <string>
#include <variant>

#include "engine/task/candidate.h"
#include "evaluator/device/device.h"
#include "evaluator/hosts/compile_worker.h"
#include "evaluator/hosts/pipeline_options.h"
#include "evaluator/worker/channel.h"
#include "evaluator/worker/protocol.h"
#include "evaluator/worker/worker_client.h"

namespace evo {

/// The two worker processes with which one thread models programs: a compiler, and a virtual GPU that predicts. They
/// start with the first program, and again after one has cost them. Every call throws Stopped once the stop signal is
/// raised, and machine_error when no worker can be started.
class ModelWorkers {
 public:
  /// Of the options it uses the device, the worker command, both deadlines and the binaries. Both arguments must live
  /// longer.
  ModelWorkers(const PipelineOptions& options, const StopSignal& stop);

  /// Starts both workers; the compiler alone where the options name no device. Returns its name and version.
  const std::string& open();
  /// What `binaries` holds is not compiled again.
  std::variant<Binary, Failure> compile(const protocol::Compile& request);
  /// A Failure: the program does not compile.
  std::variant<protocol::Modelled, Failure> model(const protocol::Model& request);

 private:
  template <typename T>
  std::variant<T, Failure> ask(protocol::Request request, const std::string& doing);

  const PipelineOptions& options_;
  CompileWorker compiler_;
  WorkerClient device_;
};

}  // namespace evo
