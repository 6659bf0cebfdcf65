#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include "cli/model/modeller.h"
#include "cli/model/sweep.h"
#include "engine/base/source_tree.h"
#include "engine/task/genome.h"

namespace evo::cli {

/// A genome with its measured and its modelled latency.
struct FitPoint {
  Genome genome;
  double measured_us = 0;  ///< 0: it failed on the GPU.
  double modelled_us = 0;  ///< 0: it could not be modelled.
  std::string failure;     ///< Why.
  Build build;
  vgpu::PlanCost cost;
};

/// How well the model predicts the latencies of one sweep.
struct Fit {
  std::string name;  ///< Of the sweep.
  std::string family;
  std::string shape;
  std::string device;  ///< The virtual GPU.
  std::vector<FitPoint> points = {};
  std::size_t failed = 0;
  // Over the points that were modelled:
  double spearman = 0;      ///< Rank correlation of modelled with measured.
  double best_share = 0;    ///< Share of the points that the model ranks before the one measured fastest.
  double median_ratio = 0;  ///< Modelled over measured.
  double spread = 0;        ///< Half of the points have a ratio within this factor of the median ratio.
};

struct FitRequest {
  std::size_t skip = 0;          ///< Genomes of the drawing order to leave out, and
  std::size_t limit = SIZE_MAX;  ///< how many to take then.
  bool failed_too = false;       ///< And all those that failed on the GPU after they were built.
  std::string device;            ///< Empty: the virtual GPU of the sweep's GPU.
  std::filesystem::path kept;    ///< As Modeller takes it.
};

/// Models a sweep's genomes on all usable cores. Genomes that are no longer legal count as failed. Throws
/// usage_error when the sweep's task or genes are unknown to the templates.
Fit fit_of(const SourceTree& tree, const Sweep& sweep, const FitRequest& request);

/// A line for each point, with its genome, where the modelled time goes, and its traits (traits_of).
std::string fit_csv(const std::vector<Fit>& fits);

}  // namespace evo::cli
