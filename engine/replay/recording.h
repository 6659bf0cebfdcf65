#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "engine/task/evaluation.h"
#include "engine/task/family.h"
#include "engine/task/genome.h"
#include "engine/task/point.h"

namespace evo {

/// One evaluated configuration of a recorded space.
struct RecordedRow {
  Path alleles;                      ///< In the recording's genes.
  std::optional<double> latency_us;  ///< Empty: it failed.
  Verdict verdict = Verdict::valid;
  double cost_s = 0;  ///< Compiling and benchmarking it; failures cost too.
};

/// A space whose every configuration has been measured before, so that strategies can be run without a
/// device. Rows keep the file's order: orders of visits name them by index.
struct Recording {
  std::string name;
  Family family;  ///< Its genes; nothing else is known.
  std::vector<RecordedRow> rows;
};

/// The genomes of the fastest rows, best first.
std::vector<Genome> best_genomes(const Recording& recording, std::size_t count);

}  // namespace evo
