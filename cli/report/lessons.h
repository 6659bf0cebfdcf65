#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "cli/report/run_report.h"
#include "cli/run/rejections.h"
#include "engine/space/space.h"
#include "population/store/store.h"

namespace evo::cli {

/// A note of a candidate, and what became of the candidate.
struct NotedCandidate {
  CandidateId candidate = 0;
  RunId run = 0;
  bool by_person = false;  ///< Otherwise a proposer's.
  std::string note;
  Verdict verdict = Verdict::harness_failed;
  std::string reason;
  std::optional<double> latency_us;
};

/// The findings of past runs of a task, on one model of device and for one objective.
struct Lessons {
  std::vector<RunId> runs;  ///< The newest first.
  std::uint64_t candidates = 0;
  std::vector<FamilyReport> families;  ///< Gene effects, over all these runs.
  std::vector<Rejection> rejections;   ///< The most frequent first.
  std::vector<NotedCandidate> notes;   ///< The newest first.
};

/// Of the newest runs, at most `most_runs`, of the task of `of` on its model of device and for its objective, also with
/// other versions of the task's files, but `except`. Of genomes of other versions those count for genes that are in
/// `space`.
Lessons lessons_of(const Store& store, const RunInfo& of, std::optional<RunId> except, const Space& space,
                   std::size_t most_runs = 20);

/// A sentence each: gene effects, failures, notes; the most useful first within each.
std::vector<std::string> lesson_lines(const Lessons& lessons);

/// The same about a genome: where its alleles are not the best ones, and how its family failed. Without notes.
std::vector<std::string> lesson_lines(const Lessons& lessons, const Genome& genome);

nlohmann::ordered_json lessons_json(const Lessons& lessons);

}  // namespace evo::cli
