// Whether the learnt chance of a genome to be valid (engine/search/chance_valid.h) comes true, and what it saves where
// proposals that it expects to fail are withheld from a search that is not screened:
//   evo_bench_chance RUNS SPACE.json.gz...
// What is said of a genome is said before it is evaluated, by a forest that has seen nothing but the run so far: no
// space has served to choose anything. Prints two tables in Markdown.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/subject/recordings.h"
#include "engine/replay/replay.h"
#include "engine/search/chance_valid.h"
#include "engine/strategy/strategies.h"

namespace {

using namespace evo;

constexpr int kEvaluations = 200;
constexpr std::size_t kMostWithheld = 16;  // in a row

/// What was said of the genomes of a tenth, and how many of them were valid.
struct Tenth {
  double said = 0;
  double valid = 0;
  std::size_t count = 0;
};

struct Searched {
  double failed = 0;          ///< Evaluations.
  double withheld = 0;        ///< Proposals.
  double withheld_valid = 0;  ///< Of these.
  double best = 0;            ///< Over the optimum.

  void add(const Searched& other) {
    failed += other.failed;
    withheld += other.withheld;
    withheld_valid += other.withheld_valid;
    best += other.best;
  }
};

double optimum_of(const Recording& recording) {
  double optimum = HUGE_VAL;
  for (const RecordedRow& row : recording.rows) optimum = std::min(optimum, row.latency_us.value_or(HUGE_VAL));
  return optimum;
}

/// One search; proposals with a smaller chance than `least` are withheld and told as failures.
Searched search_once(const RecordedSpace& space, std::uint64_t seed, double least, std::array<Tenth, 10>& tenths) {
  const auto strategy = make_strategy("evolve", space.space(), seed);
  ChanceValid chance(space.space());
  Searched searched;
  double best = HUGE_VAL;
  std::size_t in_a_row = 0;
  for (int evaluated = 0; evaluated < kEvaluations;) {
    const std::optional<Proposal> proposal = strategy->ask();
    if (!proposal) break;
    const RecordedRow& row = space.recording().rows[space.row_of(proposal->genome)];
    const double said = chance.of(proposal->genome);
    if (said < least && in_a_row++ < kMostWithheld) {
      ++searched.withheld;
      searched.withheld_valid += row.latency_us ? 1 : 0;
      strategy->tell({proposal->ticket, std::nullopt});
      continue;
    }
    in_a_row = 0;
    if (evaluated >= 16 && searched.failed > 0) {  // Before, it says 1 of all.
      Tenth& tenth = tenths[std::min<std::size_t>(9, static_cast<std::size_t>(said * 10))];
      tenth.said += said;
      tenth.valid += row.latency_us ? 1 : 0;
      ++tenth.count;
    }
    const Answer answer{proposal->ticket, row.latency_us};
    strategy->tell(answer);
    chance.observe(proposal->genome, answer);
    searched.failed += row.latency_us ? 0 : 1;
    best = std::min(best, row.latency_us.value_or(HUGE_VAL));
    ++evaluated;
  }
  searched.best = best / optimum_of(space.recording());
  return searched;
}

void print_reliability(const std::array<Tenth, 10>& tenths) {
  fmt::print("| said | genomes | said, mean | valid |\n|---|---|---|---|\n");
  for (std::size_t i = 0; i < tenths.size(); ++i) {
    const auto count = static_cast<double>(tenths[i].count);
    if (count > 0)
      fmt::print("| {:.1f} to {:.1f} | {} | {:.2f} | {:.2f} |\n", 0.1 * static_cast<double>(i),
                 0.1 * static_cast<double>(i + 1), tenths[i].count, tenths[i].said / count, tenths[i].valid / count);
  }
}

}  // namespace

int main(int count, char** arguments) {
  const int runs = count > 2 ? std::stoi(arguments[1]) : 0;
  std::array<Tenth, 10> tenths, ignored;
  std::string saved =
      "| space | withheld below | evaluations that failed | withheld in a run | of these valid | best@200 |\n"
      "|---|---|---|---|---|---|\n";
  for (int i = 2; i < count; ++i) {
    for (const Recording& recording : cli::open_recordings(arguments[i])) {
      const RecordedSpace space(recording);
      for (const double least : {0.0, 0.5, 0.65}) {
        Searched all;
        for (int run = 0; run < runs; ++run)
          all.add(search_once(space, static_cast<std::uint64_t>(run), least, least == 0 ? tenths : ignored));
        saved += fmt::format("| {} | {} | {:.3f} | {:.1f} | {:.2f} | {:.3f} |\n", recording.name, least,
                             all.failed / runs / kEvaluations, all.withheld / runs,
                             all.withheld > 0 ? all.withheld_valid / all.withheld : 0, all.best / runs);
      }
    }
  }
  print_reliability(tenths);
  fmt::print("\n{}", saved);
}
