#include "engine/replay/replay_report.h"

#include <algorithm>

#include "engine/base/mean.h"
#include "engine/base/rng.h"

namespace evo {
namespace {

constexpr std::size_t kResamples = 400;
constexpr double kNear = 1.05;  // best/optimum of a hit

double quantile(std::vector<double> values, double share) {
  std::sort(values.begin(), values.end());
  return values[static_cast<std::size_t>(share * static_cast<double>(values.size() - 1) + 0.5)];
}

Figure figure(double value, const std::vector<double>& resampled) {
  return {value, quantile(resampled, 0.025), quantile(resampled, 0.975)};
}

// Best/optimum after each evaluation; as long as nothing valid has been found, the worst of the space.
std::vector<double> best_so_far(const Recording& recording, const Methodology& methodology,
                                const std::vector<std::size_t>& order) {
  std::vector<double> best;
  double least = methodology.worst_us();
  for (const std::size_t row : order) {
    if (const auto& latency = recording.rows[row].latency_us) least = std::min(least, *latency);
    best.push_back(least / methodology.optimum_us());
  }
  if (best.empty()) best.push_back(methodology.worst_us() / methodology.optimum_us());
  return best;
}

double at(const std::vector<double>& best, std::size_t budget) {
  return best[std::min(budget, best.size()) - 1];
}

}  // namespace

ReplaySamples assess(const Recording& recording, const Methodology& methodology, const Orders& orders,
                     std::span<const std::size_t> budgets) {
  std::vector<std::vector<double>> best(budgets.size());  // by budget, by run
  std::vector<double> hit;
  std::vector<double> reach;
  std::vector<std::vector<std::uint32_t>> ranks;
  ReplaySamples samples;
  samples.figures.runs = orders.size();
  for (const auto& order : orders) {
    const std::vector<double> so_far = best_so_far(recording, methodology, order);
    std::vector<double>& of_run = samples.best_by_run.emplace_back();
    for (std::size_t i = 0; i < budgets.size(); ++i) best[i].push_back(of_run.emplace_back(at(so_far, budgets[i])));
    hit.push_back(best.back().back() <= kNear ? 1 : 0);
    const auto near = std::find_if(so_far.begin(), so_far.end(), [](double ratio) { return ratio <= kNear; });
    reach.push_back(static_cast<double>(near - so_far.begin()) + (near == so_far.end() ? 0 : 1));
    ranks.push_back(methodology.ranks(order));
    samples.figures.evaluations += static_cast<double>(order.size()) / static_cast<double>(orders.size());
  }
  samples.best.resize(budgets.size());
  Rng rng(0);
  std::vector<std::size_t> chosen(orders.size());
  for (std::size_t resample = 0; resample < kResamples; ++resample) {
    for (std::size_t& run : chosen) run = rng.below(orders.size());
    const auto mean_of_chosen = [&](const std::vector<double>& values) {
      double sum = 0;
      for (const std::size_t run : chosen) sum += values[run];
      return sum / static_cast<double>(chosen.size());
    };
    for (std::size_t i = 0; i < budgets.size(); ++i) samples.best[i].push_back(mean_of_chosen(best[i]));
    samples.hit.push_back(mean_of_chosen(hit));
    samples.reach.push_back(mean_of_chosen(reach));
    samples.score.push_back(methodology.score(ranks, chosen));
  }
  for (std::size_t i = 0; i < budgets.size(); ++i)
    samples.figures.best.push_back(figure(mean(best[i]), samples.best[i]));
  samples.figures.hit = figure(mean(hit), samples.hit);
  samples.figures.reach = figure(mean(reach), samples.reach);
  samples.figures.score = figure(methodology.score(ranks), samples.score);
  return samples;
}

ReplayFigures mean_over(const std::vector<const ReplaySamples*>& spaces) {
  const auto count = static_cast<double>(spaces.size());
  const auto averaged = [&](auto value_of, auto resampled_of) {
    double value = 0;
    std::vector<double> resampled(kResamples, 0.0);
    for (const ReplaySamples* space : spaces) {
      value += value_of(*space) / count;
      const std::vector<double>& own = resampled_of(*space);
      for (std::size_t i = 0; i < kResamples; ++i) resampled[i] += own[i] / count;
    }
    return figure(value, resampled);
  };
  ReplayFigures figures;
  figures.runs = spaces.front()->figures.runs;
  for (std::size_t i = 0; i < spaces.front()->best.size(); ++i) {
    figures.best.push_back(averaged([&](const ReplaySamples& s) { return s.figures.best[i].value; },
                                    [&](const ReplaySamples& s) -> const auto& { return s.best[i]; }));
  }
  figures.hit = averaged([](const ReplaySamples& s) { return s.figures.hit.value; },
                         [](const ReplaySamples& s) -> const auto& { return s.hit; });
  figures.reach = averaged([](const ReplaySamples& s) { return s.figures.reach.value; },
                           [](const ReplaySamples& s) -> const auto& { return s.reach; });
  figures.score = averaged([](const ReplaySamples& s) { return s.figures.score.value; },
                           [](const ReplaySamples& s) -> const auto& { return s.score; });
  for (const ReplaySamples* space : spaces) {
    figures.runs = std::min(figures.runs, space->figures.runs);
    figures.evaluations += space->figures.evaluations / count;
  }
  return figures;
}

Curve convergence(const Recording& recording, const Methodology& methodology, const Orders& orders,
                  std::size_t evaluations) {
  std::vector<std::vector<double>> runs;
  for (const auto& order : orders) runs.push_back(best_so_far(recording, methodology, order));
  Curve curve;
  std::vector<double> here(runs.size());
  for (std::size_t budget = 1; budget <= evaluations; ++budget) {
    for (std::size_t run = 0; run < runs.size(); ++run) here[run] = at(runs[run], budget);
    curve.mean.push_back(mean(here));
    curve.low.push_back(quantile(here, 0.25));
    curve.high.push_back(quantile(here, 0.75));
  }
  return curve;
}

}  // namespace evo
