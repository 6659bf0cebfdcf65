#include "cli/selftest/mutation_score.h"

#include <fmt/format.h>

#include <cmath>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "cli/selftest/planted.h"
#include "cli/subject/lookup.h"
#include "cli/text/result_text.h"
#include "engine/base/error.h"
#include "engine/base/hash.h"
#include "engine/base/rng.h"
#include "engine/base/text.h"
#include "engine/device/device_kind.h"
#include "engine/task/candidate.h"
#include "evaluator/pipeline/pipeline.h"

namespace evo::cli {
namespace {

using Kind = MutantOutcome::Kind;

/// An honest kernel and what its mutants are compared with.
struct Original {
  Candidate candidate;
  Evaluation evaluation;
};

std::string line_of(const std::string& source, int line) {
  return std::string(trim(split(source, '\n').at(static_cast<std::size_t>(line - 1))));
}

/// Whether two candidates were judged by the same cases, and agree(error of a, error of b) holds in each.
template <typename Agree>
bool in_each_case(const Evaluation& a, const Evaluation& b, Agree agree) {
  return std::ranges::equal(a.errors, b.errors, [&](const CaseError& x, const CaseError& y) {
    return x.shape == y.shape && x.regime == y.regime && x.seed == y.seed && agree(x, y);
  });
}

bool same_errors(const Evaluation& a, const Evaluation& b) {
  return in_each_case(a, b, [](const CaseError& x, const CaseError& y) {
    return x.relative_l2 == y.relative_l2 && x.max_abs == y.max_abs && x.cosine == y.cosine;
  });
}

/// Another order of the same roundings: no case errs by a tenth more, and honest kernels differ by as much. The largest
/// error of single elements scatters more.
bool errs_alike(const Evaluation& original, const Evaluation& mutant) {
  constexpr double kL2 = 1.1, kMaxAbs = 1.5;
  return in_each_case(original, mutant, [](const CaseError& honest, const CaseError& other) {
    return other.relative_l2 <= kL2 * honest.relative_l2 && other.max_abs <= kMaxAbs * honest.max_abs;
  });
}

/// The case in which a survivor errs most beyond the kernel that it was made from.
std::string largest_difference(const Evaluation& original, const Evaluation& mutant) {
  double most = 0;
  std::string text = "no case errs more than the honest kernel";
  for (std::size_t i = 0; i < std::min(original.errors.size(), mutant.errors.size()); ++i) {
    const CaseError &honest = original.errors[i], &wrong = mutant.errors[i];
    const double ratio = wrong.relative_l2 / std::max(honest.relative_l2, 1e-12);
    if (ratio <= most || ratio <= 1) continue;
    most = ratio;
    text = fmt::format("a limit between {:.3g} (honest) and {:.3g} (mutant) in regime {}, shape {}, output {}",
                       honest.relative_l2, wrong.relative_l2, wrong.regime, wrong.shape, wrong.output);
  }
  return text;
}

class Scoring {
 public:
  Scoring(const SourceTree& tree, const Task& task, const DeviceInfo& device, std::uint64_t seed)
      : tree_(tree),
        task_(task),
        device_(device),
        target_(make_self_test_target(task, device.kind, task.default_options())),
        space_(make_space(tree, task, device, target_, "")),
        rng_(seed) {
    PipelineOptions options;
    options.task = task_;
    options.tree = tree_;
    options.target = target_;
    options.device = device_;
    options.salt = rng_.next();
    options.dedup = false;
    if (!kind_named(device_.kind).on_host) options.run_deadline_s = kMutantDeadlineS;
    pipeline_ = make_pipeline(std::move(options));
  }

  std::vector<MutantOutcome> run(std::size_t count) {
    std::string why;
    for (const Family& family : space_.families()) {
      if (auto original = original_of(family, why)) originals_.push_back(std::move(*original));
    }
    if (originals_.empty()) throw usage_error(why);
    std::vector<MutantOutcome> outcomes;
    std::vector<std::pair<std::size_t, SourceMutation>> places = chosen_places(count);
    std::size_t in_flight = 0;
    for (auto& [number, mutation] : places) {
      if (in_flight == pipeline_->width()) in_flight -= finish(outcomes);
      in_flight += submit(number, std::move(mutation), outcomes);
    }
    while (in_flight > 0) in_flight -= finish(outcomes);
    return outcomes;
  }

 private:
  /// Empty, with the reason appended, when the first genome of the family is not valid itself.
  std::optional<Original> original_of(const Family& family, std::string& why) {
    Rng rng(0);
    const auto genome = space_.complete({family.name, {}}, {}, rng);
    Original original;
    original.candidate = make_candidate(tree_, task_, family, genome.value(), target_, facts_of(device_.limits));
    pipeline_->submit(0, original.candidate);
    original.evaluation = pipeline_->wait().evaluation;
    if (original.evaluation.verdict != Verdict::valid) {
      why += fmt::format("{}the first genome of family {} is {}: {}", why.empty() ? "" : "; ", family.name,
                         name_of(original.evaluation.verdict), reason_text(original.evaluation));
      return std::nullopt;
    }
    return original;
  }

  /// Operators are equally likely, whatever the number of their places.
  std::vector<std::pair<std::size_t, SourceMutation>> chosen_places(std::size_t count) {
    std::vector<std::map<std::string, std::vector<SourceMutation>>> by_operation;
    for (const Original& original : originals_) {
      auto& places = by_operation.emplace_back();
      for (SourceMutation& mutation : source_mutations(original.candidate.programs.front().source))
        places[mutation.operation].push_back(std::move(mutation));
    }
    std::vector<std::pair<std::size_t, SourceMutation>> chosen;
    while (chosen.size() < count) {
      const std::size_t number = rng_.below(by_operation.size());
      auto& operations = by_operation[number];
      if (operations.empty()) {
        if (std::ranges::all_of(by_operation, [](const auto& each) { return each.empty(); })) break;
        continue;
      }
      const auto operation = std::next(operations.begin(), static_cast<std::ptrdiff_t>(rng_.below(operations.size())));
      std::vector<SourceMutation>& places = operation->second;
      const auto place = places.begin() + static_cast<std::ptrdiff_t>(rng_.below(places.size()));
      chosen.emplace_back(number, std::move(*place));
      places.erase(place);
      if (places.empty()) operations.erase(operation);
    }
    return chosen;
  }

  std::size_t submit(std::size_t number, SourceMutation mutation, std::vector<MutantOutcome>& outcomes) {
    Candidate candidate = originals_[number].candidate;
    Program& program = candidate.programs.front();
    MutantOutcome& outcome = outcomes.emplace_back();
    outcome.family = candidate.genome.family;
    outcome.before = line_of(program.source, mutation.line);
    program.source = mutated(program.source, mutation);
    outcome.after = line_of(program.source, mutation.line);
    program.source_hash = hash_hex(program.source);
    outcome.mutation = std::move(mutation);
    numbers_.push_back(number);
    pipeline_->submit(outcomes.size() - 1, candidate);
    return 1;
  }

  std::size_t finish(std::vector<MutantOutcome>& outcomes) {
    Evaluator::Done done = pipeline_->wait();
    MutantOutcome& outcome = outcomes.at(done.ticket);
    const Original& original = originals_.at(numbers_.at(done.ticket));
    outcome.verdict = done.evaluation.verdict;
    outcome.reason = reason_text(done.evaluation);
    if (!was_built(outcome.verdict)) {
      outcome.kind = Kind::stillborn;
    } else if (outcome.verdict != Verdict::valid) {
      outcome.kind = Kind::killed;
    } else if (same_errors(original.evaluation, done.evaluation)) {
      outcome.kind = Kind::equivalent;
    } else if (errs_alike(original.evaluation, done.evaluation)) {
      outcome.kind = Kind::as_accurate;
    } else {
      outcome.kind = Kind::survived;
      outcome.would_kill = largest_difference(original.evaluation, done.evaluation);
    }
    return 1;
  }

  const SourceTree& tree_;
  const Task& task_;
  const DeviceInfo& device_;
  Target target_;
  Space space_;
  Rng rng_;
  std::unique_ptr<Evaluator> pipeline_;
  std::vector<Original> originals_;
  std::vector<std::size_t> numbers_;  ///< The original of each mutant.
};

}  // namespace

double MutationScore::share_killed() const {
  const auto killed = static_cast<double>(count(Kind::killed)), survived = static_cast<double>(count(Kind::survived));
  return killed + survived > 0 ? killed / (killed + survived) : 0;
}

std::pair<double, double> MutationScore::interval() const {
  constexpr double kZ = 1.959964;
  const auto n = static_cast<double>(count(Kind::killed) + count(Kind::survived));
  if (n == 0) return {0, 1};
  const double p = share_killed(), z2 = kZ * kZ;
  const double middle = (p + z2 / (2 * n)) / (1 + z2 / n);
  const double half = kZ * std::sqrt(p * (1 - p) / n + z2 / (4 * n * n)) / (1 + z2 / n);
  return {std::max(0.0, middle - half), std::min(1.0, middle + half)};
}

MutationScore score_validation(const SourceTree& tree, const Task& task, const DeviceInfo& device, std::size_t count,
                               std::uint64_t seed) {
  return {.task = task.name, .device = device, .seed = seed, .mutants = Scoring(tree, task, device, seed).run(count)};
}

}  // namespace evo::cli
