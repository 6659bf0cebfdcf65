#pragma once

#include <cstdint>
#include <set>
#include <string>
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
  std::string day = {};                    ///< "2026-11-30", when its run began. For people and packages.
  std::string rivals = {};                 ///< How it did beside rivals, for people; empty: it was not timed with any.
};

/// What is for people alone is no field.
EVO_FIELDS(Provenance, task, task_hash, genome, target, device, objective, latency_us, worst_relative_l2, timings, salt,
           run, candidate, evo_version, nvrtc_version, compile_flags);

struct ExportRequest {
  SourceTree files;  ///< At least the task's and the family's JSON and the reference (Store::task_files).
  Task task;
  Family family;
  std::vector<Program> programs;    ///< One for each specialisation: specialisation, source, max_registers are read.
  std::vector<Program> references;  ///< reference_program for the same specialisations, in the same order.
  std::set<std::string> cooperative = {};  ///< Kernels that may wait for the whole grid, by their bare names.
  Provenance provenance;
  std::string remark = {};  ///< On the task, for people; mostly empty.
};

}  // namespace evo
