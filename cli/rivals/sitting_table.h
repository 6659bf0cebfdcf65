#pragma once

#include <string>
#include <vector>

#include "cli/text/terminal.h"
#include "population/store/store.h"

namespace evo::cli {

/// A sitting with what it is about.
struct SittingReport {
  Sitting sitting;
  std::string task;
  std::string objective;
  bool modelled = false;
  double relative_l2 = 0;  ///< The candidate's: the worst on inputs like those that rivals were given.
};

/// For people: the candidate and its rivals, the fastest first.
std::string sitting_text(const SittingReport& report, const Terminal& terminal);

/// The same as Markdown: a heading for each task, device and objective, and a table for each sitting.
std::string sittings_markdown(const std::vector<SittingReport>& reports);

}  // namespace evo::cli
