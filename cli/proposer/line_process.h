#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "evaluator/worker/process.h"

namespace evo::cli {

/// A failure of a process that speaks lines, in words that begin with "it".
struct LineFailure : std::runtime_error {
  using std::runtime_error::runtime_error;
};
/// It did not answer in time.
struct LineTimeout : LineFailure {
  using LineFailure::LineFailure;
};
/// Thrown where LineProcessOptions::ends asks for the end.
struct LineInterrupted {};

struct LineProcessOptions {
  std::vector<std::string> command;           ///< guarded_command.h makes it.
  double deadline_s = 10;                     ///< For each line, written or read.
  std::function<bool()> ends = {};            ///< Whether waiting is to end. May be empty.
  std::vector<std::string> environment = {};  ///< "NAME=value", for this process alone.
  std::size_t longest_line = 1 << 20;         ///< Bytes that are read.
  int errors = 2;                             ///< The descriptor that its standard error goes to.
};

/// A process that reads lines on its standard input and writes lines on its standard output. It and its children end
/// with this object, and with this process, however that ends. Used by one thread.
class LineProcess {
 public:
  explicit LineProcess(LineProcessOptions options) : options_(std::move(options)) {}
  ~LineProcess() { stop(); }
  LineProcess(const LineProcess&) = delete;
  LineProcess& operator=(const LineProcess&) = delete;

  bool running() const { return process_ != nullptr; }
  /// Throws machine_error when it does not start.
  void start();
  void stop() noexcept;

  // Both throw LineFailure and LineInterrupted; the process goes on until it is stopped.
  void send(const std::string& line);  ///< With its newline.
  std::string receive();               ///< Without its newline.

 private:
  /// Waits until the socket is ready for `events`, at most a tenth of a second.
  void wait_a_little(short events) const;

  LineProcessOptions options_;
  std::unique_ptr<Process> process_;
  UniqueFd socket_;
  std::string received_;
};

}  // namespace evo::cli
