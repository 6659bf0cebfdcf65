#pragma once

#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace evo::testing {

/// How a process ended, and its output.
struct Outcome {
  int code = -1;                     ///< Exit code; -1 when a signal ended it.
  int signal = 0;                    ///< The signal that ended it, or 0.
  std::string out;                   ///< Standard output.
  std::string err;                   ///< Standard error.
  std::shared_ptr<void> shown = {};  ///< As long as this lives, checks that fail show both.
};

struct ProcessOptions {
  std::filesystem::path folder = ".";                   ///< Working directory.
  std::map<std::string, std::string> environment = {};  ///< Added to the environment of the tests.
  std::string output = {};                              ///< Standard output goes to this file instead.
  std::string errors = {};                              ///< Standard error goes to this file instead.
  std::vector<int> closed = {};                         ///< Streams that are closed when it starts.
  bool terminal = false;                                ///< Standard error is a terminal of 100 columns.
  std::chrono::minutes deadline{20};  ///< Killed after this, and the test fails: long, for a busy machine.
};

/// For tests of the checks of elites: a run waits for them, however busy the machine is.
inline const ProcessOptions kChecksElites = {.environment = {{"EVO_CHECK_TIME", "20m"}}};

/// A running `evo`, started without a shell. GPUs are hidden from it and variables that evo reads are unset, so that
/// tests mean the same everywhere; elites are not checked, which takes longer than searches of tests. Killed in the
/// destructor when it still runs.
class EvoProcess {
 public:
  EvoProcess(const std::vector<std::string>& arguments, const ProcessOptions& options = {});
  ~EvoProcess();
  EvoProcess(const EvoProcess&) = delete;
  EvoProcess& operator=(const EvoProcess&) = delete;

  /// Reads until standard error holds the text. Fails the test when the process ends or its deadline comes
  /// first.
  void wait_for_error_text(const std::string& text);
  /// Reads until one of the streams holds a whole line that has the text, and returns the line. Fails as above.
  std::string wait_for_line(const std::string& text);
  /// Reads until `holds`, which is asked again and again. Fails as above.
  void wait_until(const std::function<bool()>& holds);
  /// Sends a signal to the process and its children, as a terminal does.
  void send(int signal) const;
  pid_t pid() const { return pid_; }
  /// Waits for the end.
  Outcome finish();

 private:
  /// For so long at most. False once both streams are closed.
  bool read_some(std::chrono::milliseconds patience = std::chrono::hours(24));
  void kill_now();

  pid_t pid_ = -1;
  int out_ = -1;
  int err_ = -1;
  std::chrono::steady_clock::time_point end_;
  Outcome outcome_;
};

/// Runs `evo` to its end.
Outcome run_evo(const std::vector<std::string>& arguments, const ProcessOptions& options = {});

}  // namespace evo::testing
