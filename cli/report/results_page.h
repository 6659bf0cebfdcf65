#pragma once

#include <string>
#include <vector>

#include "population/store/store.h"

namespace evo::cli {

/// A picture of a results page.
struct ResultsPicture {
  std::string file;  ///< Its name: the page is in the same folder.
  std::string svg;
};

/// What a database holds of one task on one model of device.
struct ResultsPage {
  std::string file;  ///< "nvidia_h200_fp8_sdpa.md"
  std::string markdown;
  std::vector<ResultsPicture> pictures;
};

/// The second line of every page, by which one is known.
inline constexpr const char* kResultsMark =
    "<!-- Written by evo results: a change by hand is lost with the next run. -->";

/// A page for each task and each model of device that the elites of a filter were found on, by name: for each objective
/// the fastest kernel at each shape, its genome, its rivals, and a picture of latency over error at each shape.
/// `former`: also elites of older versions of a task. Throws as find_elites does.
std::vector<ResultsPage> results_pages(const Store& store, const EliteFilter& filter, bool former);

}  // namespace evo::cli
