#include "cli/report/lessons.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>

#include "cli/text/format.h"
#include "cli/text/json_text.h"
#include "cli/text/result_text.h"
#include "cli/text/terminal.h"
#include "engine/search/proposer.h"

namespace evo::cli {
namespace {

constexpr std::size_t kMostRuns = 20;  ///< The newest.
constexpr std::size_t kEffects = 5;    ///< Genes of a family, the most important ones.
constexpr std::size_t kFailures = 6;
constexpr std::size_t kNotes = 10;
constexpr double kClearlySlower = 1.01;  ///< Best latency with an allele over the gene's best.
constexpr std::size_t kLessonCharacters = 300;

bool same_ranking(const RunInfo& a, const RunInfo& b) {
  return a.task == b.task && a.objective == b.objective && device_key(a.device) == device_key(b.device);
}

/// The allele with the best latency; null: none was valid.
const AlleleWorth* best_allele(const GeneWorth& gene) {
  const AlleleWorth* best = nullptr;
  for (const AlleleWorth& allele : gene.alleles)
    if (allele.best_us && (best == nullptr || *allele.best_us < *best->best_us)) best = &allele;
  return best;
}

std::string failure_line(const Rejection& rejection) {
  return fmt::format("{}: {} were {}: {}", rejection.family, rejection.candidates, name_of(rejection.verdict),
                     rejection.reason);
}

/// "tile_k (45 % of the differences): 64 is best; 32 1.31x slower; 128 never valid"; empty: it makes no difference.
std::string effect_line(const FamilyReport& family, const GeneWorth& gene) {
  const AlleleWorth* best = best_allele(gene);
  if (best == nullptr || gene.importance <= 0) return "";
  std::string others;
  for (const AlleleWorth& allele : gene.alleles) {
    if (&allele == best || allele.tried == 0) continue;
    if (!allele.best_us)
      others += fmt::format("; {} never valid in {}", expr::to_string(allele.allele), allele.tried);
    else if (const double ratio = *allele.best_us / *best->best_us; ratio >= kClearlySlower)
      others += fmt::format("; {} {:.2f}x slower", expr::to_string(allele.allele), ratio);
  }
  if (others.empty()) return "";
  return fmt::format("{}: gene {} ({} of the differences): {} is best{}", family.family, gene.gene,
                     percent(gene.importance), expr::to_string(best->allele), others);
}

std::string note_line(const NotedCandidate& note) {
  const std::string became =
      note.latency_us ? fmt::format("{} us", microseconds(*note.latency_us)) : std::string(name_of(note.verdict));
  return fmt::format("candidate {} ({}), noted by a {}: {}", note.candidate, became,
                     note.by_person ? "person" : "proposer", note.note);
}

std::string lesson(const std::string& text) {
  return clipped(one_line(text), kLessonCharacters, "...");
}

void add_notes(const Store& store, RunId run, const std::vector<OutcomeRow>& outcomes, Lessons& lessons) {
  for (const NoteRow& note : store.notes_of_run(run)) {
    const auto of = std::ranges::find(outcomes, note.candidate, &OutcomeRow::candidate);
    if (of != outcomes.end())
      lessons.notes.push_back({note.candidate, run, true, note.text, of->verdict, reason_text(*of), of->latency_us});
  }
  for (auto one = outcomes.rbegin(); one != outcomes.rend(); ++one)
    if (!one->note.empty() && one->op != kEditOperator)  // Its places mean nothing elsewhere.
      lessons.notes.push_back(
          {one->candidate, run, false, one->note, one->verdict, reason_text(*one), one->latency_us});
}

}  // namespace

Lessons lessons_of(const Store& store, const RunInfo& of, std::optional<RunId> except, const Space& space,
                   std::size_t most_runs) {
  Lessons lessons;
  std::vector<OutcomeRow> all;
  for (const RunRow& run : store.runs()) {
    if (run.id == except || run.evaluated == 0 || !same_ranking(run.info, of)) continue;
    if (lessons.runs.size() == most_runs) break;
    lessons.runs.push_back(run.id);
    std::vector<OutcomeRow> outcomes = store.outcomes(run.id);
    add_notes(store, run.id, outcomes, lessons);
    std::ranges::move(outcomes, std::back_inserter(all));
  }
  lessons.candidates = all.size();
  if (all.empty()) return lessons;
  lessons.families = family_reports(space, all);
  lessons.rejections = rejections_of(all);
  std::ranges::stable_sort(lessons.rejections, std::ranges::greater(), &Rejection::candidates);
  // People's first: they chose what to write.
  std::ranges::stable_partition(lessons.notes, &NotedCandidate::by_person);
  return lessons;
}

std::vector<std::string> lesson_lines(const Lessons& lessons) {
  std::vector<std::string> lines;
  for (const FamilyReport& family : lessons.families) {
    std::size_t effects = 0;
    for (const GeneWorth& gene : family.genes) {
      std::string line = effect_line(family, gene);
      if (line.empty()) continue;
      lines.push_back(lesson(line));
      if (++effects == kEffects) break;
    }
  }
  for (std::size_t i = 0; i < std::min(kFailures, lessons.rejections.size()); ++i) {
    lines.push_back(lesson(failure_line(lessons.rejections[i])));
  }
  for (std::size_t i = 0; i < std::min(kNotes, lessons.notes.size()); ++i)
    lines.push_back(lesson(note_line(lessons.notes[i])));
  return lines;
}

std::vector<std::string> lesson_lines(const Lessons& lessons, const Genome& genome) {
  std::vector<std::string> lines;
  for (const FamilyReport& family : lessons.families) {
    if (family.family != genome.family) continue;
    for (const GeneWorth& gene : family.genes) {
      const AlleleWorth* best = best_allele(gene);
      const auto own = genome.genes.find(gene.gene);
      if (best == nullptr || gene.importance <= 0 || own == genome.genes.end() || own->second == best->allele ||
          lines.size() == kEffects)
        continue;
      const auto worth = std::ranges::find(gene.alleles, own->second, &AlleleWorth::allele);
      if (worth == gene.alleles.end() || !worth->best_us || *worth->best_us < kClearlySlower * *best->best_us) continue;
      lines.push_back(lesson(fmt::format("{} {} is {:.2f}x slower than {} at best ({} of the differences)", gene.gene,
                                         expr::to_string(own->second), *worth->best_us / *best->best_us,
                                         expr::to_string(best->allele), percent(gene.importance))));
    }
  }
  std::size_t failures = 0;
  for (const Rejection& rejection : lessons.rejections) {
    if (rejection.family != genome.family || failures++ == 3) continue;
    lines.push_back(lesson(failure_line(rejection)));
  }
  return lines;
}

Json lessons_json(const Lessons& lessons) {
  Json json = {{"runs", lessons.runs}, {"candidates", lessons.candidates}, {"lines", lesson_lines(lessons)}};
  json["notes"] = Json::array();
  for (const NotedCandidate& note : lessons.notes)
    json["notes"].push_back({{"candidate", note.candidate},
                             {"run", note.run},
                             {"by", note.by_person ? "person" : "proposer"},
                             {"note", note.note},
                             {"verdict", name_of(note.verdict)},
                             {"reason", note.reason},
                             {"latency_us", or_null(note.latency_us)}});
  return json;
}

}  // namespace evo::cli
