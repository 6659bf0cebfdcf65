#pragma once

#include <memory>
#include <string>

#include "evaluator/worker/process.h"
#include "population/store/records.h"

namespace evo::cli {

/// The hidden command `evo watch-run DB PORT` of the process.
inline constexpr const char* kWatchRun = "watch-run";

/// The server of `evo run --watch` in a process of its own: viewers cannot disturb the search. It reads the database
/// and ends with this object or with this process, however that ends.
class WatchProcess {
 public:
  /// `port`: as typed; empty: a free one. Throws what PageServer throws, and usage_error for what is no port.
  WatchProcess(const std::string& database, const std::string& port);
  /// Tells the viewers that the run is over. Waits a few seconds at most.
  ~WatchProcess();
  WatchProcess(const WatchProcess&) = delete;
  WatchProcess& operator=(const WatchProcess&) = delete;

  const std::string& address() const { return address_; }
  /// The run that is shown. Viewers have to wait until it is named.
  void show(RunId run);

 private:
  UniqueFd line_;
  std::unique_ptr<Process> process_;
  std::string address_;
};

/// A port as typed on the command line. Throws usage_error that names the option.
std::uint16_t parse_port(const std::string& option, const std::string& text);

/// The process. Returns its exit code.
int watch_run(const std::string& database, const std::string& port);

}  // namespace evo::cli
