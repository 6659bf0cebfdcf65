#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "cli/text/terminal.h"
#include "engine/search/search.h"

namespace evo::cli {

/// Tells a person how a search goes, on stderr: one live line in a terminal; elsewhere a line whenever the
/// best improves and every so many evaluations.
class ProgressReport {
 public:
  struct Settings {
    Terminal terminal;
    bool quiet = false;
    bool modelled = false;
    std::uint64_t evaluations = 0;  ///< The run's limit; 0: none.
    std::optional<std::chrono::milliseconds> time_limit;
    std::uint64_t recalled = 0;  ///< Stored answers that are told again first: they say nothing about the rate.
  };
  explicit ProgressReport(Settings settings);

  void update(const SearchProgress& progress);
  /// A line that stays, also of a quiet run.
  void say(const std::string& line);
  /// Ends the live line. Also for when an error interrupts the search.
  void finish();

 private:
  double elapsed_s() const;
  std::string line(const SearchProgress& progress) const;
  std::string time_left(const SearchProgress& progress) const;

  using Clock = std::chrono::steady_clock;
  Settings settings_;
  Clock::time_point started_;
  std::optional<Clock::time_point> first_fresh_;  ///< When the first answer that was not recalled came in.
  std::optional<double> best_us_;
  bool live_line_open_ = false;
};

}  // namespace evo::cli
