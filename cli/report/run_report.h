#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cli/run/rejections.h"
#include "engine/space/space.h"
#include "engine/strategy/gene_worth.h"
#include "population/store/store.h"

namespace evo::cli {

/// A candidate that was faster than all before it.
struct Milestone {
  std::uint64_t evaluations = 0;  ///< Up to and with it.
  double seconds = 0;             ///< Since the run was started.
  CandidateId candidate = 0;
  double latency_us = 0;
  std::string op;
  std::string change;  ///< From the milestone before; the genome of the first one.
};

/// One searched family.
struct FamilyReport {
  std::string family;
  std::size_t tried = 0;
  std::size_t valid = 0;
  std::optional<double> best_us;
  std::vector<GeneWorth> genes;  ///< By importance.
};

/// Where the time of a run went.
struct PhaseSums {
  double run_s = 0;      ///< From its start to its last result.
  double compile_s = 0;  ///< Added up over all workers, which compile while others are validated and timed.
  PhaseTimes device;     ///< Added up over its evaluations: what followed one another.
};

/// A proposal that came with a note.
struct NotedProposal {
  CandidateId candidate = 0;
  std::string note;
  Verdict verdict = Verdict::harness_failed;
  std::string reason;
  std::optional<double> latency_us;
};

/// The findings of a run.
struct RunReport {
  RunRow run;
  std::map<Verdict, std::uint64_t> verdicts;
  std::vector<Milestone> milestones;
  std::vector<EliteRow> front;  ///< Of its board, where it keeps one.
  std::vector<FamilyReport> families;
  std::vector<Rejection> rejections;
  PhaseSums phases;
  std::vector<NotedProposal> notes;
  std::vector<NoteRow> peoples_notes;  ///< The oldest first.
  ExchangeSums exchanges;              ///< With a language model.
  std::vector<std::string> questions;  ///< Its open questions, a sentence each.
  std::string rivals;                  ///< How its best did beside rivals; empty: it was not timed with any.
};

/// A report for each family of the space. The outcomes may be of several runs.
std::vector<FamilyReport> family_reports(const Space& space, const std::vector<OutcomeRow>& outcomes);

/// Of one run.
PhaseSums phase_sums(const std::vector<OutcomeRow>& outcomes);

/// The same for runs that were imported without their task's files: genes have the alleles that occur.
std::vector<FamilyReport> recorded_family_reports(const std::vector<OutcomeRow>& outcomes);

/// The space that a run searched, of its stored files. Throws usage_error when it was imported without them.
Space space_of_run(const Store& store, const RunRow& run);

/// `space`: the one that the run searched; null: it was imported.
RunReport report_of(const Store& store, const RunRow& run, const Space* space);

}  // namespace evo::cli
