#include "cli/selftest/mutation_score.h"

#include <fmt/format.h>

#include <cmath>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "cli/check/further_trials.h"
#include "cli/selftest/planted.h"
#include "cli/subject/claim.h"
#include "cli/subject/lookup.h"
#include "cli/text/result_text.h"
#include "engine/base/error.h"
#include "engine/base/hash.h"
#include "engine/base/rng.h"
#include "engine/base/text.h"
#include "engine/device/device_kind.h"
#include "engine/source/line_map.h"
#include "engine/source/source_mutation.h"
#include "engine/task/candidate.h"
#include "evaluator/compile/compiler.h"
#include "evaluator/compile/cubin.h"
#include "evaluator/compile/ptx_text.h"
#include "evaluator/hosts/binary_cache.h"
#include "evaluator/pipeline/pipeline.h"
#include "evaluator/worker/messages.h"

namespace evo::cli {
namespace {

using Kind = MutantOutcome::Kind;

constexpr std::size_t kGenomes = 6;        ///< Of a family.
constexpr std::size_t kTriesOfEach = 5;    ///< So many places are drawn at most for each mutant that is wanted.
constexpr std::size_t kGenomesDrawn = 30;  ///< For each of them, of which the most different one is taken.

/// What an operator changes, in whatever genome. Lines that a template repeats are counted.
struct MutationPlace {
  std::string operation;
  LineMap::Origin origin;
  std::size_t number = 0;

  bool operator<(const MutationPlace& other) const {
    return std::tie(operation, origin.file, origin.line, number) <
           std::tie(other.operation, other.origin.file, other.origin.line, other.number);
  }
};

using MutationPlaces = std::map<MutationPlace, SourceMutation>;

/// An honest kernel and what its mutants are compared with.
struct Original {
  std::uint64_t ticket = 0;
  Candidate candidate;
  Evaluation evaluation = {};
  std::vector<std::string> code = {};       ///< Of each program.
  std::vector<MutationPlaces> places = {};  ///< Of each program.
};

/// The kernels that the program launches and the functions that these call.
std::set<std::string> launched_routines(const Binary& binary) {
  std::set<std::string> kernels;
  for (const auto& [name, kernel] : binary.build.kernels)
    if (kernel.launched) kernels.insert(name);
  return ptx_text::reached_routines(binary.ptx, kernels);
}

std::string launched_code(const Binary& binary) {
  return cubin_hash(binary.cubin, launched_routines(binary));
}

MutationPlaces live_places(const Program& program, const Binary& binary) {
  const std::set<int> compiled =
      ptx_text::source_lines(binary.ptx, launched_routines(binary), SourceRequest{.source = ""}.name);
  MutationPlaces places;
  std::map<std::tuple<std::string, std::string, std::size_t>, std::size_t> numbers;
  for (SourceMutation& mutation : source_mutations(live_code(program.source, compiled))) {
    const auto line = static_cast<std::size_t>(mutation.line);
    const auto origin = program.lines.origin_of(line).value_or(LineMap::Origin{"", line});
    const std::size_t number = numbers[{mutation.operation, origin.file, origin.line}]++;
    places.emplace(MutationPlace{mutation.operation, origin, number}, std::move(mutation));
  }
  return places;
}

/// A few genomes of the family: the first one, and those whose alleles are rarest among the ones before.
std::vector<Genome> varied_genomes(const Space& space, const Family& family, Rng& rng) {
  std::vector<Genome> chosen = {space.complete({family.name, {}}, {}, rng).value()};
  std::map<std::pair<std::string, Value>, int> counts;
  const auto rarity = [&](const Genome& genome) {
    double sum = 0;
    for (const auto& gene : genome.genes) sum += counts.contains(gene) ? 1.0 / (1 + counts.at(gene)) : 2;
    return sum;
  };
  const std::size_t most = std::min<std::uint64_t>(kGenomes, space.size(family.name));
  while (chosen.size() < most) {
    for (const auto& gene : chosen.back().genes) ++counts[gene];
    std::optional<Genome> best;
    for (std::size_t i = 0; i < kGenomesDrawn; ++i) {
      Genome other = space.sample(rng, family.name);
      if (std::ranges::find(chosen, other) != chosen.end()) continue;
      if (!best || rarity(other) > rarity(*best)) best = std::move(other);
    }
    if (!best) break;
    chosen.push_back(*std::move(best));
  }
  return chosen;
}

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

/// What a few roundings err by in an output, also where an honest kernel happens to hit the reference.
double rounding_error(const Candidate& candidate, const std::string& output) {
  const std::vector<PlanTensor>& tensors = candidate.programs.front().plans.begin()->second.tensors;
  const auto tensor = std::ranges::find(tensors, output, &PlanTensor::name);
  if (tensor == tensors.end() || !is_floating(tensor->dtype)) return 0;
  return tensor->dtype == DType::f64 ? 0x1p-51 : 0x1p-22;
}

/// Another order of the same roundings: no case errs by a tenth more, and honest kernels differ by as much. The largest
/// error of single elements scatters more.
bool errs_alike(const Original& original, const Evaluation& mutant) {
  constexpr double kL2 = 1.1, kMaxAbs = 1.5;
  return in_each_case(original.evaluation, mutant, [&](const CaseError& honest, const CaseError& other) {
    if (other.relative_l2 <= rounding_error(original.candidate, other.output)) return true;
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
    options.binaries = binaries_;
    if (!kind_named(device_.kind).on_host) options.run_deadline_s = kMutantDeadlineS;
    pipeline_ = make_pipeline(std::move(options));
  }

  std::vector<MutantOutcome> run(std::size_t count) {
    find_originals();
    std::size_t ran = 0, drawn = 0;
    std::vector<MutantOutcome> outcomes;
    while (ran < count && drawn < kTriesOfEach * count) {
      std::vector<Mutant> mutants = draw(count - ran);
      if (mutants.empty()) break;
      drawn += mutants.size();
      judge(mutants);
      for (Mutant& mutant : mutants) {
        ran += has_run(mutant.outcome.kind);
        outcomes.push_back(std::move(mutant.outcome));
      }
    }
    return outcomes;
  }

 private:
  /// The originals in which a mutant can be made, by operation: operators are equally likely, whatever the number of
  /// their places.
  using Choice = std::map<std::string, std::map<MutationPlace, std::vector<std::size_t>>>;

  struct Mutant {
    MutationPlace place;
    std::vector<std::size_t> originals;  ///< In which it is still to be tried, the last one first.
    MutantOutcome outcome = {};
    bool tried = false;
    bool has_neighbours = false;  ///< They have been added to its originals.
  };

  static bool has_run(Kind kind) {
    return kind != Kind::no_change && kind != Kind::repeated && kind != Kind::not_built;
  }

  void find_originals() {
    for (const Family& family : space_.families())
      for (const Genome& genome : varied_genomes(space_, family, rng_)) add_original(family, genome);
    evaluate_originals(0);
    std::string why;
    std::map<std::string, Choice> by_family;
    for (std::size_t i = 0; i < originals_.size(); ++i) {
      const Original& original = originals_[i];
      if (original.places.empty() && !original.evaluation.original)
        why += fmt::format("{}{} is {}: {}", why.empty() ? "" : "; ", to_text(original.candidate.genome),
                           name_of(original.evaluation.verdict), reason_text(original.evaluation));
      for (const MutationPlaces& places : original.places)
        for (const auto& [place, mutation] : places) {
          auto& having = by_family[original.candidate.genome.family][place.operation][place];
          if (having.empty() || having.back() != i) having.push_back(i);
        }
    }
    if (std::ranges::all_of(originals_, [](const Original& each) { return each.places.empty(); }))
      throw usage_error(why);
    for (auto& [family, choice] : by_family) choices_.push_back(std::move(choice));
  }

  void add_original(const Family& family, const Genome& genome) {
    Original original;
    original.candidate = make_candidate(tree_, task_, family, genome, target_, facts_of(device_.limits));
    originals_.push_back(std::move(original));
  }

  /// Evaluates those from this one on, and finds the places of the valid ones.
  void evaluate_originals(std::size_t first) {
    for (std::size_t i = first; i < originals_.size(); ++i) originals_[i].ticket = tickets_++;
    run_all(
        originals_.size() - first, [&](std::size_t i) { return originals_[first + i].candidate; },
        [&](std::size_t i, Evaluation evaluation) { originals_[first + i].evaluation = std::move(evaluation); });
    for (std::size_t i = first; i < originals_.size(); ++i)
      if (originals_[i].evaluation.verdict == Verdict::valid) find_places(originals_[i]);
  }

  void find_places(Original& original) {
    for (const Program& program : original.candidate.programs) {
      const std::optional<Binary> binary = binaries_->find(compile_request(program, device_.arch));
      if (!binary) throw machine_error("the programs of one genome do not fit into the memory for compiled programs");
      original.code.push_back(launched_code(*binary));
      original.places.push_back(live_places(program, *binary));
    }
  }

  /// Gives candidates to the pipeline and takes their results.
  template <typename CandidateOf, typename Take>
  void run_all(std::size_t count, CandidateOf candidate_of, Take take) {
    const std::uint64_t first = tickets_ - count;
    std::size_t in_flight = 0;
    const auto finish = [&] {
      Evaluator::Done done = pipeline_->wait();
      take(static_cast<std::size_t>(done.ticket - first), std::move(done.evaluation));
      --in_flight;
    };
    for (std::size_t i = 0; i < count; ++i, ++in_flight) {
      if (in_flight == pipeline_->width()) finish();
      pipeline_->submit(first + i, candidate_of(i));
    }
    while (in_flight > 0) finish();
  }

  std::size_t drawn_below(std::size_t count) { return static_cast<std::size_t>(rng_.below(count)); }

  /// No place twice.
  std::vector<Mutant> draw(std::size_t count) {
    std::vector<Mutant> mutants;
    while (mutants.size() < count && !choices_.empty()) {
      const auto choice = choices_.begin() + static_cast<std::ptrdiff_t>(drawn_below(choices_.size()));
      const auto operation = std::next(choice->begin(), static_cast<std::ptrdiff_t>(drawn_below(choice->size())));
      auto& places = operation->second;
      const auto place = std::next(places.begin(), static_cast<std::ptrdiff_t>(drawn_below(places.size())));
      Mutant& mutant = mutants.emplace_back(Mutant{place->first, std::move(place->second)});
      for (std::size_t i = mutant.originals.size(); i > 1; --i)
        std::swap(mutant.originals[i - 1], mutant.originals[drawn_below(i)]);
      places.erase(place);
      if (places.empty()) choice->erase(operation);
      if (choice->empty()) choices_.erase(choice);
    }
    return mutants;
  }

  /// Tries each mutant in one genome after another, until it is rejected, or accepted though wrong.
  void judge(std::vector<Mutant>& mutants) {
    std::vector<Mutant*> undecided;
    for (Mutant& mutant : mutants) undecided.push_back(&mutant);
    while (!undecided.empty()) {
      tickets_ += undecided.size();
      std::vector<Candidate> candidates(undecided.size());
      run_all(
          undecided.size(), [&](std::size_t i) { return candidates[i] = mutated_candidate(*undecided[i]); },
          [&](std::size_t i, Evaluation evaluation) { take(*undecided[i], candidates[i], std::move(evaluation)); });
      std::erase_if(undecided, [](const Mutant* mutant) {
        return mutant->outcome.kind != Kind::equivalent && mutant->outcome.kind != Kind::as_accurate;
      });
      add_neighbours(undecided);
      std::erase_if(undecided, [](Mutant* mutant) {
        if (mutant->originals.empty()) conclude(mutant->outcome);
        return mutant->originals.empty();
      });
    }
  }

  /// For one that no genome shows. It is equivalent, unless it is known what would show it.
  static void conclude(MutantOutcome& outcome) {
    if (outcome.kind != Kind::equivalent || !shows_on_ties_alone(outcome.operation)) return;
    outcome.kind = Kind::survived;
    outcome.would_kill = "a draw in which a rounded value is a tie";
  }

  /// For mutants that are right in all genomes that have their place, if these are few.
  void add_neighbours(const std::vector<Mutant*>& undecided) {
    const std::size_t first = originals_.size();
    std::vector<std::pair<Mutant*, std::size_t>> pairs;
    for (Mutant* mutant : undecided) {
      if (!mutant->originals.empty() || std::exchange(mutant->has_neighbours, true)) continue;
      std::vector<Genome> neighbours = space_.neighbours(mutant->outcome.genome, Space::Step::any);
      for (std::size_t wanted = kGenomes - std::min(kGenomes, mutant->outcome.genomes);
           wanted > 0 && !neighbours.empty(); --wanted) {
        std::swap(neighbours[drawn_below(neighbours.size())], neighbours.back());
        const std::size_t number = number_of_original(neighbours.back());
        if (number == originals_.size()) add_original(space_.family(neighbours.back().family), neighbours.back());
        if (number >= first) pairs.emplace_back(mutant, number);
        neighbours.pop_back();
      }
    }
    evaluate_originals(first);
    for (const auto& [mutant, number] : pairs) {
      const bool has_place = std::ranges::any_of(
          originals_[number].places, [&](const MutationPlaces& places) { return places.contains(mutant->place); });
      if (has_place) mutant->originals.push_back(number);
    }
  }

  std::size_t number_of_original(const Genome& genome) const {
    const auto found =
        std::ranges::find(originals_, genome, [](const Original& each) { return each.candidate.genome; });
    return static_cast<std::size_t>(found - originals_.begin());
  }

  /// In the last of its originals.
  Candidate mutated_candidate(const Mutant& mutant) const {
    const Original& original = originals_[mutant.originals.back()];
    Candidate candidate = original.candidate;
    for (std::size_t i = 0; i < candidate.programs.size(); ++i) {
      const auto found = original.places[i].find(mutant.place);
      if (found == original.places[i].end()) continue;
      Program& program = candidate.programs[i];
      program.source = mutated(program.source, found->second);
      program.source_hash = hash_hex(program.source);
    }
    return candidate;
  }

  Kind kind_of(const Original& original, const Candidate& mutant, const Evaluation& evaluation) const {
    if (evaluation.original) return evaluation.original->ticket == original.ticket ? Kind::no_change : Kind::repeated;
    if (!was_built(evaluation.verdict) || evaluation.verdict == Verdict::harness_failed) return Kind::not_built;
    if (has_code_of(original, mutant)) return Kind::no_change;
    if (evaluation.verdict != Verdict::valid) return Kind::killed;
    if (same_errors(original.evaluation, evaluation)) return Kind::equivalent;
    return errs_alike(original, evaluation) ? Kind::as_accurate : Kind::survived;
  }

  bool has_code_of(const Original& original, const Candidate& mutant) const {
    for (std::size_t i = 0; i < mutant.programs.size(); ++i) {
      const std::optional<Binary> binary = binaries_->find(compile_request(mutant.programs[i], device_.arch));
      if (!binary || launched_code(*binary) != original.code[i]) return false;
    }
    return true;
  }

  /// What a search finds out about elites. A device that does not sanitise shows no race, so what seems to be
  /// equivalent is looked at there, too.
  std::optional<EliteFinding> find_further(const Candidate& candidate, Kind kind) {
    const bool seems_right = kind == Kind::equivalent || kind == Kind::as_accurate;
    if (kind != Kind::survived && !(seems_right && !kind_named(device_.kind).sanitises)) return std::nullopt;
    if (!trials_) {
      const std::optional<DeviceInfo> watching = watching_device(record_of(device_));
      if (!watching) return std::nullopt;
      trials_.emplace(FurtherTrials::Options{.device = *watching, .binaries = binaries_});
    }
    Claim claim;
    claim.edited = true;
    claim.tree = tree_;
    claim.task = task_;
    claim.family = space_.family(candidate.genome.family);
    claim.genome = candidate.genome;
    claim.target = target_;
    claim.programs = candidate.programs;
    claim.device = record_of(device_);
    return trials_->judge(claim).finding;
  }

  /// What came of it in the last of its originals.
  void take(Mutant& mutant, const Candidate& candidate, Evaluation evaluation) {
    const Original& original = originals_[mutant.originals.back()];
    mutant.originals.pop_back();
    Kind kind = kind_of(original, candidate, evaluation);
    if (const std::optional<EliteFinding> finding = find_further(candidate, kind)) {
      kind = Kind::killed;
      evaluation.verdict = finding->verdict;
      evaluation.reason = finding->reason;
      evaluation.mismatch = finding->mismatch;
    }
    MutantOutcome& outcome = mutant.outcome;
    if (mutant.tried && !has_run(kind)) return;
    if (mutant.tried) ++outcome.genomes;
    if (mutant.tried && (kind == Kind::equivalent || kind == Kind::as_accurate)) return;
    mutant.tried = true;
    outcome.kind = kind;
    outcome.operation = mutant.place.operation;
    outcome.file = mutant.place.origin.file;
    outcome.line = mutant.place.origin.line;
    outcome.genome = candidate.genome;
    outcome.verdict = evaluation.verdict;
    outcome.reason = reason_text(evaluation);
    outcome.before = outcome.after = "";
    if (kind == Kind::survived) outcome.would_kill = largest_difference(original.evaluation, evaluation);
    for (std::size_t i = 0; i < candidate.programs.size() && outcome.after == outcome.before; ++i) {
      const auto found = original.places[i].find(mutant.place);
      if (found == original.places[i].end()) continue;
      outcome.before = line_of(original.candidate.programs[i].source, found->second.line);
      outcome.after = line_of(candidate.programs[i].source, found->second.line);
    }
  }

  const SourceTree& tree_;
  const Task& task_;
  const DeviceInfo& device_;
  Target target_;
  Space space_;
  Rng rng_;
  const std::shared_ptr<BinaryCache> binaries_ = std::make_shared<BinaryCache>();
  std::unique_ptr<Evaluator> pipeline_;
  std::optional<FurtherTrials> trials_;
  std::vector<Original> originals_;
  std::vector<Choice> choices_;  ///< Of each family.
  std::uint64_t tickets_ = 0;
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
