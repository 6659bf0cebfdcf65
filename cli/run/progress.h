#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "cli/run/rejections.h"
#include "cli/text/terminal.h"
#include "engine/search/search.h"

namespace evo::cli {

/// Reports the progress of a search on standard error. A terminal gets a live line with the last reasons of rejections
/// below it, any other stream a line now and then. Where lines are wanted, both get one whenever the best improves and
/// one every few evaluations, too. Its methods may be called from any thread.
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
    /// Without a terminal: the least time between lines. In a long run they are a tenth of it apart.
    std::chrono::milliseconds pause{10'000};
  };
  explicit ProgressReport(Settings settings);
  ~ProgressReport();
  ProgressReport(const ProgressReport&) = delete;
  ProgressReport& operator=(const ProgressReport&) = delete;

  void update(const SearchProgress& progress);
  /// Prints a line that stays, also in a quiet run.
  void say(const std::string& line);
  /// The same, but not in a quiet run.
  void note(const std::string& line);
  /// What the search waits for at its end, in the place of the live line, or in the place of the lines now and then;
  /// empty: it waits no longer.
  void wait(const std::string& line);
  /// The search has ended, or an error has: clears the live lines, and no line of where it stands comes any more.
  void finish();

 private:
  using Clock = std::chrono::steady_clock;

  bool is_live() const { return settings_.terminal.interactive && !settings_.lines; }
  /// Without a terminal: shows, now and then, where the search stands, also when no answer comes.
  void show_now_and_then();
  /// On a terminal: shows each second how long it has been, also when no answer comes.
  void keep_moving();
  void show(const std::string& line);
  void clear();
  double elapsed_s() const { return std::chrono::duration<double>(Clock::now() - started_).count(); }
  std::string line(const SearchProgress& progress) const;
  /// The line and those of the rejections, for a terminal. The cursor stays in the first, so that what others print
  /// begins there.
  std::string live_lines(const SearchProgress& progress) const;
  std::string time_left(const SearchProgress& progress) const;

  Settings settings_;
  std::mutex mutex_;
  Clock::time_point started_;
  Clock::time_point shown_;                       ///< When the last line was.
  std::string standing_;                          ///< What the next line now and then says,
  std::string waited_for_;                        ///< unless this is not empty.
  std::optional<Clock::time_point> first_fresh_;  ///< When the first answer that was not recalled came in.
  std::optional<double> best_us_;
  RejectionCounts rejections_;
  bool live_lines_open_ = false;
  bool over_ = false;
  std::condition_variable ended_;
  std::thread now_and_then_;
};

}  // namespace evo::cli
