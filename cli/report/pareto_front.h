#pragma once

#include <string>
#include <vector>

#include "population/store/store.h"

namespace evo::cli {

/// Which results are put side by side.
struct FrontFilter {
  std::string task;
  std::string device = {};               ///< Its id, its kind or a part of its name; empty: all.
  std::string shape = {};                ///< A timed shape's name; empty: all.
  std::string regime = "normal";         ///< The draws whose errors count.
  std::vector<std::string> rivals = {};  ///< Files of JSON lines.
};

/// The latency and error of a kernel or a rival.
struct FrontPoint {
  std::string name = {};      ///< A rival's; empty for a candidate.
  CandidateId candidate = 0;  ///< 0 for a rival.
  std::string objective = {};
  Genome genome = {};
  double latency_us = 0;
  double error = 0;       ///< The mean relative L2 error over the draws of the regime at the shape; of a rival that was
                          ///< timed with a candidate its largest on the timed inputs.
  bool on_front = false;  ///< None of the candidates is both faster and more accurate. Never for rivals.
};

/// The results at one shape on one device, whatever objective they were found for.
struct Front {
  std::string device;  ///< Its name.
  std::string shape;
  std::string options;
  bool modelled = false;
  std::vector<FrontPoint> candidates;  ///< Those on the front first, the fastest first.
  std::vector<FrontPoint> rivals;      ///< The fastest first.
};

/// A rival and the name of the shape that it was timed at.
struct Rival {
  std::string shape;
  FrontPoint point;
};

/// Of files of lines like {"name": "cuDNN e4m3", "shape": "mission", "us": 10.8, "error": 0.035}. Throws usage_error
/// that names file and line when one cannot be read.
std::vector<Rival> read_rivals(const std::vector<std::string>& files);

/// Of runs that timed one shape. Rivals are those that `evo baseline` timed with one of the candidates, and the lines
/// {"name", "shape", "us", "error"} of files whose shape is the timed one's name. Throws
/// usage_error when a file of rivals cannot be read.
std::vector<Front> pareto_fronts(const Store& store, const FrontFilter& filter);

}  // namespace evo::cli
