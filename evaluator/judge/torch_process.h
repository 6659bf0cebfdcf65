#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "evaluator/worker/channel.h"

namespace evo {

/// The python that runs references: python3, or what $EVO_PYTHON names.
std::string python_name();

/// What the process of a reference says, a line of JSON: that torch is missing, or that something has failed, or
/// neither.
struct TorchAnswer {
  std::string missing, error;
};

/// Empty for what is no answer.
std::optional<TorchAnswer> read_torch_answer(const std::string& line);

/// A process of python that has loaded a task's reference.py. Tensors travel as files. Used by one thread at a time.
class TorchProcess {
 public:
  /// `file`: the name of `source` in messages. `stop`, which may be null, must outlive it. An answer has ten times
  /// `run_deadline_s`, the deadline of a candidate's run (0: the usual one), as one of a reference in CUDA has. Throws
  /// machine_error where there is no torch, usage_error for a reference.py that cannot be loaded.
  TorchProcess(const std::string& file, const std::string& source, const StopSignal* stop, double run_deadline_s);
  ~TorchProcess();

  bool has_ended() const;
  /// The file of a tensor, for messages.
  std::string path_of(const std::string& tensor) const;
  /// Writes the file of a tensor. Throws machine_error.
  void put(const std::string& tensor, std::span<const std::byte> bytes) const;
  /// What the file of a tensor holds. Throws usage_error unless it is a plain file of that size.
  std::string get(const std::string& tensor, std::uint64_t bytes, const std::string& where) const;
  /// Sends a message, a line of JSON, and waits for its end. `where`: it happens, for errors. Throws usage_error where
  /// reference.py fails or is late, machine_error when the process is lost, Stopped once the signal is raised.
  void ask(const std::string& message, const std::string& where);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace evo
