#include "engine/replay/replay.h"

#include <algorithm>
#include <deque>
#include <iterator>

#include "engine/search/guided_strategy.h"
#include "engine/search/presearch.h"
#include "engine/search/search.h"

namespace evo {
namespace {

std::vector<Path> paths_of(const Recording& recording) {
  std::vector<Path> paths;
  paths.reserve(recording.rows.size());
  for (const RecordedRow& row : recording.rows) paths.push_back(row.alleles);
  return paths;
}

/// Answers from the recording; first in, first out.
class RecordedEvaluator : public Evaluator {
 public:
  RecordedEvaluator(const RecordedSpace& space, std::size_t width) : space_(space), width_(width) {}

  std::size_t width() const override { return width_; }
  void submit(std::uint64_t ticket, const Candidate& candidate) override {
    waiting_.push_back({ticket, space_.row_of(candidate.genome)});
  }
  Done wait() override {
    const auto [ticket, at] = waiting_.front();
    waiting_.pop_front();
    const RecordedRow& row = space_.recording().rows[at];
    order.push_back(at);
    spent_s += row.cost_s;
    Done done{ticket, {}};
    done.evaluation.verdict = row.verdict;
    if (row.latency_us) done.evaluation.latency_us = *row.latency_us;
    return done;
  }

  std::vector<std::size_t> order;
  double spent_s = 0;

 private:
  const RecordedSpace& space_;
  std::size_t width_;
  std::deque<std::pair<std::uint64_t, std::size_t>> waiting_;
};

}  // namespace

RecordedSpace::RecordedSpace(const Recording& recording)
    : recording_(recording), space_(recording.family, paths_of(recording)) {
  for (std::size_t row = 0; row < recording.rows.size(); ++row)
    rows_.emplace(Point{0, recording.rows[row].alleles}, row);
}

std::size_t RecordedSpace::row_of(const Genome& genome) const {
  return rows_.at(space_.point(genome));
}

RecordedLatencyPredictor::RecordedLatencyPredictor(const RecordedSpace& space,
                                                   const std::vector<PredictedLatency>& rows)
    : space_(space), rows_(rows) {
  for (const PredictedLatency& row : rows) traits_ = std::max(traits_, row.traits.size());
}

std::optional<PredictedLatency> RecordedLatencyPredictor::prediction(const Genome& genome) {
  return rows_.at(space_.row_of(genome));
}

std::vector<std::size_t> replay(const RecordedSpace& space, std::string_view strategy, std::uint64_t seed,
                                const ReplayLimits& limits, const std::vector<Seed>& seeds,
                                const std::vector<PredictedLatency>& predicted) {
  RecordedLatencyPredictor predictor(space, predicted);
  std::vector<Seed> opening = seeds;
  if (limits.presearch > 0)
    std::ranges::move(run_presearch(space.space(), strategy, seed, predictor, {.genomes = limits.presearch}),
                      std::back_inserter(opening));
  const auto searching = make_guided(
      std::string(strategy), space.space(), seed, &predictor,
      {.screen = limits.screen, .presearches = limits.presearch > 0, .ahead = limits.ahead}, std::move(opening));
  RecordedEvaluator evaluator(space, limits.width);
  NoArchive archive;
  SearchLimits stop;
  stop.evaluations = space.recording().rows.size();
  stop.out_of_time = [&] {
    return evaluator.order.size() >= limits.evaluations && evaluator.spent_s >= limits.seconds;
  };
  search(*searching, evaluator, archive, [](const Genome& genome) { return Candidate{genome, {}}; }, stop, {});
  return std::move(evaluator.order);
}

}  // namespace evo
