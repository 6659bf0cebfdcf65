#include "cli/report/run_report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "cli/subject/best_rival.h"
#include "cli/subject/genome_change.h"
#include "cli/subject/lookup.h"
#include "cli/subject/restore.h"
#include "cli/text/format.h"
#include "cli/text/result_text.h"
#include "population/results/recorded_families.h"

namespace evo::cli {
namespace {

constexpr std::size_t kListed = 8;      ///< Alleles in one sentence.
constexpr std::size_t kAskedGenes = 5;  ///< The most important ones.
constexpr double kManyRejected = 0.25;  ///< Share of the evaluations.
constexpr double kLate = 0.8;           ///< Share of the evaluations after which a best one comes late.

bool was_evaluated(const OutcomeRow& outcome) {
  return outcome.verdict != Verdict::duplicate;
}

std::vector<Milestone> milestones_of(const std::vector<OutcomeRow>& outcomes) {
  std::vector<Milestone> milestones;
  const Genome* last = nullptr;
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    const OutcomeRow& one = outcomes[i];
    if (!one.latency_us || (last != nullptr && *one.latency_us >= milestones.back().latency_us)) continue;
    milestones.push_back({i + 1, one.seconds, one.candidate, *one.latency_us, one.op,
                          last == nullptr ? to_text(one.genome) : genome_change(*last, one.genome)});
    last = &one.genome;
  }
  return milestones;
}

std::vector<NotedProposal> notes_of(const std::vector<OutcomeRow>& outcomes) {
  std::vector<NotedProposal> notes;
  for (const OutcomeRow& one : outcomes)
    if (!one.note.empty()) notes.push_back({one.candidate, one.note, one.verdict, reason_text(one), one.latency_us});
  return notes;
}

// --- what is left open

/// "stages=4, tile_k=256 and 3 more".
std::string listed(std::vector<std::string> items) {
  const std::size_t more = items.size() > kListed ? items.size() - kListed : 0;
  items.resize(items.size() - more);
  return fmt::format("{}{}", fmt::join(items, ", "), more > 0 ? fmt::format(" and {} more", more) : "");
}

std::string untried_alleles(const FamilyReport& family) {
  std::vector<std::string> untried;
  for (const GeneWorth& gene : family.genes)
    for (const AlleleWorth& allele : gene.alleles)
      if (allele.tried == 0) untried.push_back(fmt::format("{}={}", gene.gene, expr::to_string(allele.allele)));
  return untried.empty() ? "" : fmt::format("{}: never tried: {}", family.family, listed(std::move(untried)));
}

std::string unpaired_genes(const FamilyReport& family) {
  std::vector<std::string> unpaired;
  for (std::size_t i = 0; i < std::min(kAskedGenes, family.genes.size()); ++i) {
    const GeneWorth& gene = family.genes[i];
    if (gene.importance > 0 && gene.pairs == 0) unpaired.push_back(gene.gene);
  }
  if (unpaired.empty()) return "";
  return fmt::format("{}: no two valid candidates differ in one of these alone: {}", family.family,
                     listed(std::move(unpaired)));
}

std::string untried_neighbours(const Space& space, const std::vector<OutcomeRow>& outcomes, CandidateId best) {
  std::set<std::string> tried;
  const Genome* centre = nullptr;
  for (const OutcomeRow& one : outcomes) {
    tried.insert(to_text(one.genome));
    if (one.candidate == best) centre = &one.genome;
  }
  if (centre == nullptr || !space.contains(*centre)) return "";
  const std::vector<Genome> neighbours = space.neighbours(*centre, Space::Step::any);
  const auto fresh =
      std::ranges::count_if(neighbours, [&](const Genome& one) { return !tried.contains(to_text(one)); });
  if (fresh == 0) return "";
  return fmt::format("{} of the {} genomes one gene away from the best (candidate {}) were not tried", fresh,
                     neighbours.size(), best);
}

std::string lateness(const RunReport& report, std::size_t evaluated) {
  const Milestone& best = report.milestones.back();
  if (double(best.evaluations) < kLate * double(evaluated)) return "";
  return fmt::format("the best came with evaluation {} of {}: a longer run may find a faster one", best.evaluations,
                     evaluated);
}

std::string rejected_share(const RunReport& report) {
  std::uint64_t all = 0, rejected = 0;
  std::pair<std::uint64_t, Verdict> commonest{0, Verdict::valid};
  for (const auto& [verdict, count] : report.verdicts) {
    all += count;
    if (verdict == Verdict::valid || verdict == Verdict::duplicate) continue;
    rejected += count;
    commonest = std::max(commonest, {count, verdict});
  }
  if (double(rejected) < kManyRejected * double(all)) return "";
  return fmt::format("{} of the evaluations were rejected, {} of them as {}: could a constraint say so before?",
                     percent(double(rejected) / double(all)), commonest.first, name_of(commonest.second));
}

std::vector<std::string> questions_of(const RunReport& report, const Space& space,
                                      const std::vector<OutcomeRow>& outcomes) {
  std::vector<std::string> questions;
  const auto ask = [&](std::string question) {
    if (!question.empty()) questions.push_back(std::move(question));
  };
  for (const FamilyReport& family : report.families) {
    if (family.tried == 0) {
      ask(fmt::format("{}: never tried", family.family));
      continue;
    }
    ask(untried_alleles(family));
    ask(unpaired_genes(family));
  }
  if (!report.milestones.empty()) {
    ask(untried_neighbours(space, outcomes, report.milestones.back().candidate));
    ask(lateness(report, outcomes.size()));
  }
  ask(rejected_share(report));
  return questions;
}

}  // namespace

std::vector<FamilyReport> family_reports(const Space& space, const std::vector<OutcomeRow>& outcomes) {
  std::vector<Tried> tried;
  for (const OutcomeRow& one : outcomes)
    if (was_evaluated(one)) tried.push_back({one.genome, one.latency_us});
  std::vector<FamilyReport> reports;
  for (const Family& family : space.families()) {
    FamilyReport report;
    report.family = family.name;
    for (const Tried& one : tried) {
      if (one.genome.family != family.name) continue;
      ++report.tried;
      if (!one.latency_us) continue;
      ++report.valid;
      report.best_us = std::min(report.best_us.value_or(*one.latency_us), *one.latency_us);
    }
    report.genes = gene_worths(space, family.name, tried);
    reports.push_back(std::move(report));
  }
  return reports;
}

PhaseSums phase_sums(const std::vector<OutcomeRow>& outcomes) {
  PhaseSums sums;
  for (const OutcomeRow& one : outcomes) {
    sums.run_s = std::max(sums.run_s, one.seconds);
    if (was_evaluated(one)) sums.compile_s += one.compile_ms * 1e-3;
    sums.device.waiting_s += one.phases.waiting_s;
    sums.device.validation_s += one.phases.validation_s;
    sums.device.timing_s += one.phases.timing_s;
  }
  return sums;
}

Space space_of_run(const Store& store, const RunRow& run) {
  const RunInfo& info = run.info;
  const SourceTree files = files_of(store, run);
  const Task task = load_task(files, info.task);
  return make_space(files, task, known_to_space(info.device, info.target), info.target, info.family);
}

std::vector<FamilyReport> recorded_family_reports(const std::vector<OutcomeRow>& outcomes) {
  std::vector<FamilyReport> reports;
  for (const Space& space : recorded_spaces(outcomes))
    std::ranges::move(family_reports(space, outcomes), std::back_inserter(reports));
  return reports;
}

RunReport report_of(const Store& store, const RunRow& run, const Space* space) {
  RunReport report;
  report.run = run;
  const std::vector<OutcomeRow> outcomes = store.outcomes(run.id);
  for (const OutcomeRow& outcome : outcomes) ++report.verdicts[outcome.verdict];
  report.milestones = milestones_of(outcomes);
  if (run.info.keeps_front) report.front = front_of_board(store, run.info);
  report.families = space != nullptr ? family_reports(*space, outcomes) : recorded_family_reports(outcomes);
  report.rejections = rejections_of(outcomes);
  report.phases = phase_sums(outcomes);
  report.notes = notes_of(outcomes);
  report.peoples_notes = store.notes_of_run(run.id);
  report.exchanges = store.exchange_sums(run.id);
  if (space != nullptr) report.questions = questions_of(report, *space, outcomes);
  if (!report.milestones.empty())
    report.rivals = best_rival_text(store.sittings(report.milestones.back().candidate), run.info.device);
  return report;
}

}  // namespace evo::cli
