#pragma once

#include <memory>
#include <string>
#include <variant>

#include "evaluator/compile/compiler.h"
#include "evaluator/hosts/pipeline_options.h"
#include "evaluator/worker/channel.h"
#include "evaluator/worker/worker_client.h"

namespace evo {

/// The compiler of a kind of devices in a worker process: a source that crashes it, or makes it hang, is a Failure, and
/// the next source gets another process. Calls throw as those of WorkerClient do.
class CompileWorker final : public Compiler {
 public:
  enum class Reads {
    own_headers,    ///< The compiler's and the toolkit's.
    what_user_may,  ///< For sources that include files beside them: whatever the user may read.
  };

  /// Of the options it uses the device's kind, the worker command, the deadline for compiling and, where there are
  /// some, the binaries: what they hold is not compiled again. `stop` may be null.
  CompileWorker(const PipelineOptions& options, const StopSignal* stop);
  /// Of a command that works on one kernel or task. Its deadline is ten times a run's.
  explicit CompileWorker(const DeviceInfo& device, Reads reads = Reads::own_headers);

  void start() { worker_.start(); }
  /// Its name and version, once it has started.
  const std::string& opened() const { return worker_.opened(); }

  using Compiler::compile;
  std::variant<Binary, Failure> compile(const SourceRequest& request) override;
  std::string version() override;
  /// Ends the process.
  void stop() { worker_.stop(); }

 private:
  WorkerClient worker_;
  double deadline_s_;
  std::shared_ptr<BinaryCache> binaries_;
};

}  // namespace evo
