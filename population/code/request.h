#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "engine/base/source_tree.h"
#include "engine/record/record.h"
#include "engine/result/evaluation.h"
#include "engine/task/candidate.h"
#include "engine/task/family.h"
#include "engine/task/genome.h"
#include "engine/task/task.h"
#include "population/store/records.h"

namespace evo {

/// The origin of an exported file and the results that it claims.
struct Provenance {
  std::string task;
  std::string task_hash;
  Genome genome;
  Target target;  ///< Options, timed and validated shapes of the run.
  DeviceRecord device;
  std::string objective;
  double latency_us = 0;  ///< The objective's value.
  double worst_relative_l2 = 0;
  std::vector<Timing> timings;  ///< Without samples.
  std::uint64_t salt = 0;
  RunId run = 0;
  CandidateId candidate = 0;
  std::string evo_version;
  std::string nvrtc_version;
  std::vector<std::string> compile_flags;  ///< Without the architecture and the register cap.
  std::string rivals = {};                 ///< How it did beside rivals, for people; empty: it was not timed with any.
};

/// What is for people alone is no field.
template <>
inline constexpr auto kFields<Provenance> =
    std::tuple(Field{"task", &Provenance::task}, Field{"task_hash", &Provenance::task_hash},
               Field{"genome", &Provenance::genome}, Field{"target", &Provenance::target},
               Field{"device", &Provenance::device}, Field{"objective", &Provenance::objective},
               Field{"latency_us", &Provenance::latency_us}, Field{"worst_relative_l2", &Provenance::worst_relative_l2},
               Field{"timings", &Provenance::timings}, Field{"salt", &Provenance::salt}, Field{"run", &Provenance::run},
               Field{"candidate", &Provenance::candidate}, Field{"evo_version", &Provenance::evo_version},
               Field{"nvrtc_version", &Provenance::nvrtc_version}, Field{"compile_flags", &Provenance::compile_flags});

struct ExportRequest {
  SourceTree files;  ///< At least the task's and the family's JSON and the reference (Store::task_files).
  Task task;
  Family family;
  std::vector<Program> programs;    ///< One for each specialisation: specialisation, source, max_registers are read.
  std::vector<Program> references;  ///< reference_program for the same specialisations, in the same order.
  std::set<std::string> cooperative = {};  ///< Kernels that may wait for the whole grid, by their bare names.
  Provenance provenance;
};

}  // namespace evo
