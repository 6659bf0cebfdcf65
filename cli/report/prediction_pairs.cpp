#include "cli/report/prediction_pairs.h"

#include <fmt/format.h>

#include <cmath>
#include <map>

#include "cli/model/modeller.h"
#include "cli/report/page_subject.h"
#include "cli/run/cost_model_predictor.h"
#include "cli/subject/lookup.h"
#include "cli/subject/restore.h"
#include "cli/text/signals.h"
#include "cli/text/streams.h"
#include "engine/base/error.h"
#include "engine/device/device_kind.h"
#include "evaluator/base/statistics.h"
#include "evaluator/hosts/devices.h"
#include "population/results/import.h"

namespace evo::cli {
namespace {

constexpr std::size_t kLeastPairs = 3;

/// Evenly spread over the ranks, the first and the last among them.
std::vector<OutcomeRow> spread(std::vector<OutcomeRow> ranked, std::size_t most) {
  if (ranked.size() <= most) return ranked;
  std::vector<OutcomeRow> chosen;
  for (std::size_t i = 0; i < most; ++i) chosen.push_back(ranked[most == 1 ? 0 : i * (ranked.size() - 1) / (most - 1)]);
  return chosen;
}

void model(const Store& store, const RunRow& run, const DeviceInfo& device, const std::vector<OutcomeRow>& kernels,
           Predictions& predictions) {
  std::map<std::string, CandidateId> ids;
  std::vector<Genome> genomes;
  for (const OutcomeRow& one : kernels) {
    ids.emplace(to_text(one.genome), one.candidate);
    genomes.push_back(one.genome);
  }
  const auto make = [&](const Genome& genome) {
    return restored_candidate(restore(store, ids.at(to_text(genome))), run.info.target);
  };
  const InterruptGuard interrupt;
  CostModelPredictor predictor(load_task(files_of(store, run), run.info.task), run.info.target, device, make,
                               std::make_shared<BinaryCache>(), interrupt.requested());
  const std::vector<PredictedLatency> predicted = predictor.predict(genomes);
  for (std::size_t i = 0; i < predicted.size(); ++i) {
    if (predicted[i].latency && std::isfinite(*predicted[i].latency))
      predictions.pairs.push_back({kernels[i].candidate, *predicted[i].latency, *kernels[i].latency_us});
    else
      ++predictions.failed;
  }
}

}  // namespace

Predictions predictions_of(const Store& store, const RunRow& run, const std::vector<OutcomeRow>& outcomes,
                           std::size_t most) {
  Predictions predictions;
  if (run.info.strategy == kImported) {
    predictions.why_none = "The runs were imported without the sources of their kernels.";
    return predictions;
  }
  if (kind_named(run.info.device.kind).modelled) {
    predictions.why_none =
        "The latencies of this report are the cost model's own. A report of runs on a GPU compares "
        "them with measured ones.";
    return predictions;
  }
  const auto like = find_virtual_gpu_like(run.info.device.name);
  if (!like) {
    predictions.why_none = fmt::format("No virtual GPU models {}.", run.info.device.name);
    return predictions;
  }
  const std::vector<OutcomeRow> ranked = by_latency(outcomes);
  if (most == 0 || ranked.empty()) {
    predictions.why_none = most == 0 ? "None were asked for (--predict 0)." : "No candidate was valid.";
    return predictions;
  }
  const std::vector<OutcomeRow> chosen = spread(ranked, most);
  write_to_stderr(
      fmt::format("predicting the latencies of {} of {} kernels with the cost model of {} (--predict 0: none)\n",
                  chosen.size(), ranked.size(), *like));
  try {
    model(store, run, resolve_device(*like), chosen, predictions);
  } catch (const Error& error) {
    predictions.pairs.clear();
    predictions.why_none = fmt::format("The cost model could not be asked: {}", error.what());
    return predictions;
  }
  predictions.model = *like;
  if (predictions.pairs.empty()) predictions.why_none = "None of the kernels could be modelled.";
  std::vector<double> predicted, measured;
  for (const PredictionPair& pair : predictions.pairs) {
    predicted.push_back(pair.predicted_us);
    measured.push_back(pair.measured_us);
  }
  if (predicted.size() >= kLeastPairs) predictions.rank_correlation = rank_correlation(predicted, measured);
  return predictions;
}

}  // namespace evo::cli
