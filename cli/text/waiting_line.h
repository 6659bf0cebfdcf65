#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

#include "cli/text/terminal.h"

namespace evo::cli {

/// Says on standard error what a command does that shows nothing yet, once that has taken a moment: a terminal gets a
/// line with the time so far, which goes away at the end, any other stream one line.
class WaitingLine {
 public:
  WaitingLine(const Terminal& terminal, std::string what);
  ~WaitingLine();
  WaitingLine(const WaitingLine&) = delete;
  WaitingLine& operator=(const WaitingLine&) = delete;

 private:
  void show();

  const Terminal terminal_;
  const std::string what_;
  const std::chrono::steady_clock::time_point begun_ = std::chrono::steady_clock::now();
  std::mutex mutex_;
  std::condition_variable over_now_;
  bool over_ = false;
  std::thread thread_;
};

}  // namespace evo::cli
