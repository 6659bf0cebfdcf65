#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <deque>
#include <limits>
#include <numbers>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/model/modelled_latencies.h"
#include "cli/sources/templates.h"
#include "cli/subject/lookup.h"
#include "cli/subject/recordings.h"
#include "engine/base/error.h"
#include "engine/base/rng.h"
#include "engine/base/text.h"
#include "engine/expression/expression.h"
#include "engine/search/guided_strategy.h"
#include "engine/search/late_predictions.h"
#include "engine/search/presearch.h"
#include "engine/search/search.h"
#include "engine/search/seeds.h"
#include "engine/strategy/strategies.h"
#include "evaluator/base/parallel.h"
#include "evaluator/hosts/devices.h"
#include "evaluator/pipeline/pipeline.h"

// Strategies on landscapes over a space that no recording can hold, all 34 million genomes of fp8_sdpa's
// wgmma family on an H200: learnt by ridge regression from the recorded sweeps of that family. Each sweep
// makes two landscapes: the effects of genes and their pairs, and those of triples too. Where half of the
// chance that a genome fails is learnt, it fails. Descents from random genomes end in dozens of different
// places. Predicted latencies have the error of the cost model: the same regression learns it on the
// sweep.
//   evo_bench_landscapes SWEEP... --strategy A,B [--evals N] [--runs R] [--screen N] [--presearch M]
//   [--width Q] [--ahead A] [--late PERCENT] [--modelled FILE...] [--seeded] [--wrong EXPRESSION...]
// SWEEP: tests/data/sweeps/fp8_sdpa_wgmma_*; FILE: what evo model --against SWEEP --csv wrote. ±: half of the
// 95 % interval over runs. Seeded: each run from one of as many evaluations on the other sweep's landscape. EXPRESSION
// over the genes: such genomes give wrong answers, which no model foresees, in a case of their own.
namespace {

using namespace evo;

/// Standard deviation of that part of log(modelled/measured) which belongs to a genome alone. With what genes
/// explain it is 0.11, as the sweeps show (0.11 and 0.13).
constexpr double kOwnError = 0.05;
constexpr double kPenalty = 0.02;  // relative to the kernel of equal genomes
constexpr double kFailed = 1e9;    // us, slower than anything
constexpr double kNever = std::numeric_limits<double>::infinity();
constexpr int kDegrees[] = {2, 3};
constexpr std::size_t kDescents = 60;
constexpr double kNear = 1.05;
constexpr double kNothing = 10;  // best/optimum at most, and as long as nothing is valid

/// Ridge regression on alleles and all their combinations up to `degree`, in its dual form: the kernel counts
/// the combinations that two genomes share.
class Ridge {
 public:
  /// `targets`: of each quantity those of all points.
  Ridge(std::vector<Point> points, std::vector<std::vector<double>> targets, int degree) : points_(std::move(points)) {
    const std::size_t genes = points_.front().alleles.size();
    for (std::size_t same = 0; same <= genes; ++same) kernel_.push_back(combinations(same, degree));
    for (std::vector<double>& one : targets) {
      means_.push_back(std::accumulate(one.begin(), one.end(), 0.0) / static_cast<double>(one.size()));
      for (double& target : one) target -= means_.back();
    }
    weights_ = solved(std::move(targets));
  }

  /// Of each quantity.
  std::vector<double> all(const Point& point) const {
    std::vector<double> sums = means_;
    for (std::size_t i = 0; i < points_.size(); ++i) {
      const double kernel = kernel_[same(points_[i], point)];
      for (std::size_t k = 0; k < sums.size(); ++k) sums[k] += weights_[k][i] * kernel;
    }
    return sums;
  }
  double operator()(const Point& point) const { return all(point).front(); }

 private:
  static double combinations(std::size_t same, int degree) {
    double sum = 1;
    double of_size = 1;
    for (int size = 1; size <= degree; ++size) {
      of_size *= (static_cast<double>(same) - size + 1) / size;
      sum += of_size;
    }
    return sum;
  }

  static std::size_t same(const Point& a, const Point& b) {
    std::size_t same = 0;
    for (std::size_t i = 0; i < a.alleles.size(); ++i) same += a.alleles[i] == b.alleles[i];
    return same;
  }

  /// (K + penalty) x = y for each y, by Cholesky's decomposition.
  std::vector<std::vector<double>> solved(std::vector<std::vector<double>> all) const {
    const std::size_t n = points_.size();
    std::vector<double> l(n * n);
    const auto row_product = [&](std::size_t i, std::size_t j, std::size_t count) {
      return std::inner_product(&l[i * n], &l[i * n] + count, &l[j * n], 0.0);
    };
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = 0; j < i; ++j)
        l[i * n + j] = (kernel_[same(points_[i], points_[j])] - row_product(i, j, j)) / l[j * n + j];
      l[i * n + i] = std::sqrt(kernel_.back() * (1 + kPenalty) - row_product(i, i, i));
    }
    for (std::vector<double>& y : all) {
      for (std::size_t i = 0; i < n; ++i)
        y[i] = (y[i] - std::inner_product(&l[i * n], &l[i * n] + i, y.begin(), 0.0)) / l[i * n + i];
      for (std::size_t i = n; i-- > 0;) {
        for (std::size_t k = i + 1; k < n; ++k) y[i] -= l[k * n + i] * y[k];
        y[i] /= l[i * n + i];
      }
    }
    return all;
  }

  std::vector<Point> points_;
  std::vector<double> kernel_;  // by how many alleles are the same
  std::vector<double> means_;
  std::vector<std::vector<double>> weights_;
};

class Landscape {
 public:
  /// `modelled`: null where no model is asked.
  Landscape(const Space& space, const Recording& recording, const cli::ModelledLatencies* modelled, int degree,
            const std::vector<Expression>& wrong)
      : wrong_(wrong), name_(fmt::format("{}, {}", recording.name, degree == 2 ? "pairs" : "triples")), space_(space) {
    Rng ties(0);
    std::vector<Point> all;
    std::vector<Point> valid;
    std::vector<double> failures;
    std::vector<double> latencies;
    std::vector<Point> modelled_points;
    std::vector<std::vector<double>> model;  // the logarithm of its error, then its traits
    for (const RecordedRow& row : recording.rows) {
      Genome genome = genome_of(recording.family, row.alleles);
      genome.family = space.families().front().name;
      all.push_back(space.point(space.complete(genome, ties)));
      failures.push_back(row.latency_us ? 0 : 1);
      if (!row.latency_us) continue;
      valid.push_back(all.back());
      latencies.push_back(std::log(*row.latency_us));
      const PredictedLatency* one = modelled ? modelled->of(genome) : nullptr;
      if (!one) continue;
      modelled_points.push_back(all.back());
      model.resize(1 + one->traits.size());
      model[0].push_back(std::log(*one->latency / *row.latency_us));
      for (std::size_t trait = 0; trait < one->traits.size(); ++trait) model[1 + trait].push_back(one->traits[trait]);
    }
    failure_.emplace(std::move(all), std::vector<std::vector<double>>{std::move(failures)}, degree);
    log_latency_.emplace(std::move(valid), std::vector<std::vector<double>>{std::move(latencies)}, degree);
    if (!modelled) return;
    if (model.empty()) throw usage_error(fmt::format("--modelled: no latency of a genome of {}", recording.name));
    traits_ = model.size() - 1;
    model_.emplace(std::move(modelled_points), std::move(model), degree);
  }

  const std::string& name() const { return name_; }
  const Space& space() const { return space_; }

  /// Of right and of wrong answers.
  double any_latency_us(const Point& point) const {
    return (*failure_)(point) > 0.5 ? kFailed : std::exp((*log_latency_)(point));
  }
  double latency_us(const Point& point) const {
    return cases(space_.genome(point)) < wrong_.size() ? kFailed : any_latency_us(point);
  }
  /// Those whose answer is right, up to the first wrong one.
  std::size_t cases(const Genome& genome) const {
    const auto wrong = [&](const Expression& one) { return one.evaluate_bool(genome.genes); };
    return static_cast<std::size_t>(std::ranges::find_if(wrong_, wrong) - wrong_.begin());
  }
  double latency_us(const Genome& genome) const { return latency_us(space_.point(genome)); }

  /// The part of modelled/measured that the genes explain, and the traits, as far as the genes do.
  std::pair<double, std::vector<float>> modelled(const Point& point) const {
    const std::vector<double> all = model_->all(point);
    return {std::exp(all.front()), {all.begin() + 1, all.end()}};
  }
  std::size_t traits() const { return traits_; }

  /// Where a steepest descent through all neighbours of a random genome ends.
  double descent_us(std::uint64_t seed) const {
    Rng rng(seed);
    Point at = space_.sample_point(rng);
    double best = latency_us(at);
    for (bool better = true; better;) {
      better = false;
      Point next = at;
      for (std::size_t gene = 0; gene < at.alleles.size(); ++gene) {
        for (Point& point : space_.neighbours(at, gene, Space::Step::any)) {
          const double latency = latency_us(point);
          if (latency >= best) continue;
          best = latency;
          next = std::move(point);
          better = true;
        }
      }
      at = std::move(next);
    }
    return best;
  }

 private:
  std::vector<Expression> wrong_;
  std::string name_;
  const Space& space_;
  std::optional<Ridge> failure_;
  std::optional<Ridge> log_latency_;
  std::optional<Ridge> model_;
  std::size_t traits_ = 0;
};

class LearntEvaluator : public Evaluator {
 public:
  LearntEvaluator(const Landscape& landscape, std::size_t width) : landscape_(landscape), width_(width) {}
  std::size_t width() const override { return width_; }
  void submit(std::uint64_t ticket, const Candidate& candidate) override {
    const double latency = landscape_.latency_us(candidate.genome);
    Done& done = done_.emplace_back(ticket, Evaluation{});
    done.evaluation.verdict = latency < kFailed ? Verdict::valid : Verdict::launch_failed;
    done.evaluation.latency_us = latency;
    done.evaluation.errors.resize(landscape_.cases(candidate.genome));
    best_us.push_back(best_us.empty() ? latency : std::min(best_us.back(), latency));
    if (latency < kFailed) valid.emplace_back(latency, candidate.genome);
  }
  Done wait() override {
    Done done = std::move(done_.front());
    done_.pop_front();
    return done;
  }

  std::vector<double> best_us;  // after each evaluation
  std::vector<std::pair<double, Genome>> valid;

 private:
  const Landscape& landscape_;
  std::size_t width_;
  std::deque<Done> done_;
};

/// A model that errs, always in the same way about the same genome. It knows what fails, but not what is wrong.
class LearntLatencyPredictor : public InstantPredictor {
 public:
  explicit LearntLatencyPredictor(const Landscape& landscape) : landscape_(landscape) {}
  std::size_t traits() const override { return landscape_.traits(); }

 protected:
  std::optional<PredictedLatency> prediction(const Genome& genome) override {
    const Point point = landscape_.space().point(genome);
    const double latency = landscape_.any_latency_us(point);
    const bool fails = latency >= kFailed;
    if (fails) return PredictedLatency{kNever};
    auto [error, traits] = landscape_.modelled(point);
    return PredictedLatency{latency * error * own_error(point), "", std::move(traits)};
  }

 private:
  static double own_error(const Point& point) {  // Box-Muller
    Rng rng(PointHash()(point));
    return std::exp(kOwnError * std::sqrt(-2 * std::log(1 - rng.unit())) * std::cos(2 * std::numbers::pi * rng.unit()));
  }
  const Landscape& landscape_;
};

/// Predictions that take long: `percent` of a hundred come one to eight choices late.
class SlowPredictions : public LatePredictions {
 public:
  /// `among` genomes are predicted for each choice; `seeds` are asked for before them.
  SlowPredictions(std::size_t percent, std::size_t among, std::size_t seeds, std::uint64_t seed)
      : percent_(percent), among_(among), seeds_(seeds), seed_(seed) {}

  std::optional<Tickets> recall(const Choice& choice) override {
    Tickets late;
    const std::uint64_t first = seeds_ + among_ * (choice.number - std::min<std::uint64_t>(choice.number, kLatest));
    for (std::uint64_t ticket = first; ticket < seeds_ + among_ * (choice.number + 2); ++ticket) {
      const std::uint64_t delay = delay_of(ticket);
      if (delay > 0 && choice.number < (ticket - seeds_) / among_ + delay) late.push_back(ticket);
    }
    return late;
  }
  void record(const Choice&, const Tickets&) override {}

 private:
  static constexpr std::uint64_t kLatest = 8;

  std::uint64_t delay_of(std::uint64_t ticket) const {
    Rng rng(seed_ * 1'000'003 + ticket);
    return rng.below(100) < percent_ ? 1 + rng.below(kLatest) : 0;
  }

  std::uint64_t percent_, among_, seeds_, seed_;
};

struct Budget {
  std::size_t evaluations = 200;
  std::size_t screen = 1;
  std::size_t presearch = 0;  // genomes that are predicted before
  std::size_t width = 1;      // candidates in flight
  std::size_t ahead = 0;      // measurements begun while a prediction is under way
  std::size_t late = 0;       // percentage of the predictions that are late nevertheless

  bool predicts() const { return screen > 1 || presearch > 0; }
};

/// The evaluations of a run that begins with `seeds` and the best genomes of a pre-search.
LearntEvaluator run(const Landscape& landscape, const std::string& strategy, std::uint64_t seed, const Budget& budget,
                    std::vector<Seed> seeds = {}) {
  LearntLatencyPredictor predictor(landscape);
  if (budget.presearch > 0)
    std::ranges::move(run_presearch(landscape.space(), strategy, seed, predictor, {.genomes = budget.presearch}),
                      std::back_inserter(seeds));
  SlowPredictions slow(budget.late, budget.screen, seeds.size(), seed);
  const auto searching = make_guided(strategy, landscape.space(), seed, &predictor,
                                     {.screen = budget.screen,
                                      .presearches = budget.presearch > 0,
                                      .ahead = budget.ahead,
                                      .late = budget.late > 0 ? &slow : nullptr},
                                     std::move(seeds));
  LearntEvaluator evaluator(landscape, budget.width);
  NoArchive archive;
  SearchLimits limits;
  limits.evaluations = budget.evaluations;
  const auto build = [](const Genome& genome) { return Candidate{genome, {}}; };
  search(*searching, evaluator, archive, build, limits, {});
  return evaluator;
}

/// As `evo run --seed-from` takes them from a run on another landscape.
std::vector<Seed> seeds_from(LearntEvaluator source, const Landscape& landscape, const Budget& budget) {
  std::ranges::stable_sort(source.valid, {}, [](const auto& one) { return one.first; });
  std::vector<Seed> ranking;
  for (auto& [latency, genome] : source.valid) ranking.push_back({std::move(genome), ""});
  LearntLatencyPredictor predictor(landscape);
  return budget.screen > 1 ? seeds_in(landscape.space(), {ranking}, predictor) : seeds_in(landscape.space(), {ranking});
}

std::string cell(const std::vector<double>& values, int digits) {
  const auto count = static_cast<double>(values.size());
  const double mean = std::accumulate(values.begin(), values.end(), 0.0) / count;
  double squares = 0;
  for (const double value : values) squares += (value - mean) * (value - mean);
  return fmt::format("{:.{}f} ±{:.{}f}", mean, digits, 1.96 * std::sqrt(squares / count / count), digits);
}

/// The results of a strategy's runs on each landscape: best/optimum after each evaluation, by landscape and
/// run.
using Runs = std::vector<std::vector<std::vector<double>>>;

/// The mean over `landscapes` of the results of the runs of one number.
template <typename Figure>
std::vector<double> by_run(const Runs& runs, const std::vector<std::size_t>& landscapes, Figure figure) {
  std::vector<double> values(runs.front().size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    for (const std::size_t landscape : landscapes)
      values[i] += figure(runs[landscape][i]) / static_cast<double>(landscapes.size());
  }
  return values;
}

void print_row(const std::string& name, const std::string& strategy, const Runs& runs,
               const std::vector<std::size_t>& landscapes) {
  using Best = std::vector<double>;
  const auto at = [&](std::size_t evaluations) {
    return cell(
        by_run(runs, landscapes, [&](const Best& best) { return best[std::min(evaluations, best.size()) - 1]; }), 3);
  };
  const auto hit = by_run(runs, landscapes, [](const Best& best) { return best.back() <= kNear ? 1.0 : 0.0; });
  const auto reach = by_run(runs, landscapes, [](const Best& best) {
    const auto far = std::count_if(best.begin(), best.end(), [](double ratio) { return ratio > kNear; });
    return static_cast<double>(std::min<std::ptrdiff_t>(far + 1, std::ssize(best)));
  });
  fmt::print("| {} | {} | {} | {} | {} | {} | {} | {} |\n", name, strategy, at(50), at(80), at(100), at(200),
             cell(hit, 2), cell(reach, 0));
}

int compare(const std::vector<std::string>& sweeps, const std::vector<std::string>& strategies, const Budget& budget,
            std::size_t runs, const std::vector<std::string>& models, bool seeded,
            const std::vector<Expression>& wrong) {
  const auto modelled = cli::read_modelled_latencies(models);
  const SourceTree tree = cli::load_templates({});
  const Task task = cli::find_task(tree, "fp8_sdpa");
  const DeviceInfo device = resolve_device("vgpu:h200");
  const Space space = cli::make_space(tree, task, device, make_target(task, device.kind, {"mission"}, {}), "wgmma");
  std::vector<Landscape> landscapes;
  for (const std::string& sweep : sweeps) {
    for (const Recording& recording : cli::open_recordings(sweep)) {
      const auto model = modelled.find(recording.name);
      if (budget.predicts() && model == modelled.end())
        throw usage_error(fmt::format("no --modelled file knows {}", recording.name));
      const cli::ModelledLatencies* genomes = model == modelled.end() ? nullptr : &model->second;
      for (const int degree : kDegrees) landscapes.emplace_back(space, recording, genomes, degree, wrong);
    }
  }

  std::vector<std::pair<std::string, Runs>> results;
  for (const std::string& strategy : strategies) results.emplace_back(strategy, Runs(landscapes.size()));
  for (std::size_t l = 0; l < landscapes.size(); ++l) {
    std::vector<double> ends(kDescents);
    parallel_each(kDescents,
                  [&] { return [&](std::size_t descent) { ends[descent] = landscapes[l].descent_us(descent); }; });
    double optimum = *std::min_element(ends.begin(), ends.end());
    for (auto& [strategy, all] : results) {
      all[l].resize(runs);
      parallel_each(runs, [&, &name = strategy, &bests = all[l]] {
        return [&](std::size_t seed) {
          // Of the same degree, of the other sweep.
          const Landscape& source = landscapes[(l + std::size(kDegrees)) % landscapes.size()];
          std::vector<Seed> seeds;
          if (seeded) seeds = seeds_from(run(source, name, seed + runs, budget), landscapes[l], budget);
          bests[seed] = run(landscapes[l], name, seed, budget, seeds).best_us;
        };
      });
      for (const auto& best : all[l]) optimum = std::min(optimum, best.back());
    }
    for (auto& [strategy, all] : results) {
      for (auto& best : all[l]) {
        for (double& latency : best) latency = std::min(latency / optimum, kNothing);
      }
    }
  }

  fmt::print(
      "| landscape | strategy | best@50 | best@80 | best@100 | best@200 | within 5 % | to 5 % "
      "|\n|---|---|---|---|---|---|---|---|\n");
  std::vector<std::size_t> all(landscapes.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  for (const std::size_t l : all) {
    for (const auto& [strategy, bests] : results) print_row(landscapes[l].name(), strategy, bests, {l});
  }
  for (const auto& [strategy, bests] : results) print_row("mean", strategy, bests, all);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Strategies on landscapes learnt from recorded sweeps");
  std::vector<std::string> sweeps;
  std::string strategies = "evolve,random";
  Budget budget;
  std::size_t runs = 40;
  bool seeded = false;
  std::vector<std::string> modelled;
  std::vector<std::string> wrong;
  app.add_option("SWEEP", sweeps)->required();
  app.add_option("--strategy", strategies);
  app.add_option("--evals", budget.evaluations);
  app.add_option("--runs", runs);
  app.add_option("--screen", budget.screen);
  app.add_option("--presearch", budget.presearch);
  app.add_option("--width", budget.width);
  app.add_option("--ahead", budget.ahead);
  app.add_option("--late", budget.late);
  app.add_option("--modelled", modelled);
  app.add_flag("--seeded", seeded);
  app.add_option("--wrong", wrong);
  CLI11_PARSE(app, argc, argv);
  try {
    std::vector<Expression> cases;
    for (const std::string& text : wrong) cases.push_back(Expression::parse(text));
    return compare(sweeps, split(strategies, ','), budget, runs, modelled, seeded, cases);
  } catch (const Error& error) {
    fmt::print(stderr, "evo_bench_landscapes: {}\n", error.what());
    return 2;
  }
}
