#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "engine/result/verdict.h"
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

/// One evaluated configuration by names, as files and databases have it. A gene that is absent is inactive.
struct RecordedEntry {
  std::map<std::string, Value> genes;
  std::optional<double> latency_us;
  Verdict verdict = Verdict::valid;
  double cost_s = 0;
};

/// The recording of entries. `genes`: their order; numbers are ordered by value, also where they are no
/// integers and stand as text (`fractional` names those genes). Throws usage_error when there are no entries.
Recording make_recording(const std::string& name, const std::vector<std::string>& genes,
                         const std::vector<std::string>& fractional, const std::vector<RecordedEntry>& entries);

/// The genomes of the fastest rows, best first.
std::vector<Genome> best_genomes(const Recording& recording, std::size_t count);

}  // namespace evo
