#pragma once

#include <string>
#include <vector>

#include "population/store/store.h"

namespace evo::cli {

/// A picture of a results page.
struct ResultsPicture {
  std::string file;  ///< From the page's folder: "pictures/fp8_sdpa_mission.svg".
  std::string svg;
};

/// A page on one task and one model of device.
struct ResultsPage {
  std::string folder;  ///< Of this model of device: "nvidia_h200".
  std::string file;    ///< "fp8_sdpa.md"
  std::string markdown;
  std::vector<ResultsPicture> pictures;
};

/// The second line of every page, by which one is known.
inline constexpr const char* kResultsMark =
    "<!-- Written by evo results: a change by hand is lost with the next run. -->";

/// The folder of a page's pictures, beside the page.
inline constexpr const char* kPicturesFolder = "pictures";

/// A page for each task and each model of device that the elites of a filter were found on, by name: for each objective
/// the fastest kernel at each shape, its genome, its rivals, and a picture of latency over error at each shape.
/// `former`: also elites of older versions of a task. Throws as find_elites does.
std::vector<ResultsPage> results_pages(const Store& store, const EliteFilter& filter, bool former);

}  // namespace evo::cli
