#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>

#include "cli/run/rejections.h"
#include "cli/text/terminal.h"
#include "engine/search/search.h"

namespace evo::cli {

/// Reports the progress of a search on standard error. A terminal gets a live line with the last reasons of rejections
/// below it, any other stream nothing. Where lines are wanted, both get one whenever the best improves and one every
/// few evaluations instead. Its methods may be called from any thread.
class ProgressReport {
 public:
  struct Settings {
    Terminal terminal;
    bool quiet = false;
    bool lines = false;
    bool modelled = false;
    std::uint64_t evaluations = 0;  ///< The run's limit; 0: none.
    std::optional<std::chrono::milliseconds> time_limit;
    std::uint64_t recalled = 0;  ///< Stored answers of a resumed run. They come first, and do not count for the rate.
    std::function<std::string(const std::string&)> placed;  ///< Puts the author's places into a reason; may be empty.
  };
  explicit ProgressReport(Settings settings);

  void update(const SearchProgress& progress);
  /// Prints a line that stays, also in a quiet run.
  void say(const std::string& line);
  /// The same, but not in a quiet run.
  void note(const std::string& line);
  /// What the search waits for at its end, in the place of the live line. Where lines are wanted, one every 10 s.
  void wait(const std::string& line);
  /// Clears the live lines, at the end of the search or when an error interrupts it.
  void finish();

 private:
  void clear();
  double elapsed_s() const { return std::chrono::duration<double>(Clock::now() - started_).count(); }
  std::string line(const SearchProgress& progress) const;
  /// The line and those of the rejections, for a terminal. The cursor stays in the first, so that what others print
  /// begins there.
  std::string live_lines(const SearchProgress& progress) const;
  std::string time_left(const SearchProgress& progress) const;

  using Clock = std::chrono::steady_clock;
  Settings settings_;
  std::mutex mutex_;
  Clock::time_point started_;
  std::optional<Clock::time_point> wait_shown_;
  std::optional<Clock::time_point> first_fresh_;  ///< When the first answer that was not recalled came in.
  std::optional<double> best_us_;
  RejectionCounts rejections_;
  bool live_lines_open_ = false;
};

}  // namespace evo::cli
