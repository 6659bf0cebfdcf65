#include "evaluator/pipeline/kernel_attack.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "engine/attack/attack_search.h"
#include "engine/attack/attacked_shapes.h"
#include "engine/base/error.h"
#include "engine/device/device_kind.h"
#include "evaluator/base/random.h"
#include "evaluator/base/stopwatch.h"
#include "evaluator/compile/compiler.h"
#include "evaluator/device/regime_values.h"
#include "evaluator/hosts/binary_cache.h"
#include "evaluator/hosts/compile_worker.h"
#include "evaluator/judge/made_inputs.h"
#include "evaluator/numbers/elements.h"
#include "evaluator/pipeline/candidate_worker.h"
#include "evaluator/pipeline/case_judge.h"
#include "evaluator/pipeline/honest_arithmetic.h"

namespace evo {
namespace {

/// A find is wrong at so many draws.
constexpr int kDrawsOfFind = 3;
/// Further draws where single ones do not tell.
constexpr int kMostDrawsOfFind = 8;
/// Rounding the reference to an output's type takes more of a limit than this: the type is too narrow for the inputs.
constexpr double kMostOfRounding = 0.75;
/// An f32 of this size has steps of 2^-8.
constexpr double kLargestProduct = 0x1p16;
/// Values of each end of an input whose magnitude is looked at.
constexpr std::uint64_t kLookedAtEachEnd = 2048;
/// Honest errors differ from draw to draw; below this share of a limit nothing is looked at twice.
constexpr double kWorthALook = 0.5;
/// What is found is read by people: worth so many tries to minimise, however few there were to find it.
constexpr std::uint64_t kTriesToMinimise = 64;
/// Two honest kernels round near ties differently as often as the last bits of inputs do, but by chance.
constexpr std::uint64_t kOftenerThanBits = 4;

/// A task's own emulation knows how honest errors grow with the sizes; else limits do as at any size that is not
/// listed.
PipelineOptions attack_options(PipelineOptions options) {
  if (options.run_deadline_s <= 0) options.run_deadline_s = kind_named(options.device.kind).run_deadline_s;
  const std::optional<Calibration> calibration = load_calibration(options.tree, options.task);
  options.only_judging = !calibration || calibration->single_precision;
  return options;
}

/// Of a kernel: what its device, or the machine, does not allow is no fault.
bool is_fault(Verdict verdict) {
  return verdict == Verdict::crashed || verdict == Verdict::wrong_answer || verdict == Verdict::unrepeatable ||
         verdict == Verdict::timed_out;
}

/// Whether an output's own type holds what the reference gives, to well within the limits.
bool holds(const ComparedOutput& output, const ExpectedOutput& want, std::uint64_t row) {
  if (!is_floating(output.got_dtype) || !is_floating(want.dtype)) return true;
  std::vector<std::byte> rounded(bytes_for(output.got_dtype, output.elements));
  for (std::uint64_t i = 0; i < output.elements; ++i)
    store_at(output.got_dtype, rounded.data(), i, load_at(want.dtype, want.bytes.data(), i));
  const Difference difference = compare(output.got_dtype, rounded, want, output.limits, row);
  return difference.not_finite == 0 && closeness(difference, output.limits) <= kMostOfRounding;
}

/// The largest magnitude among the first and the last values that a regime draws of an input; 0 of other inputs.
double magnitude(const InputRecipe& input, std::uint64_t seed) {
  const bool drawn = input.draw == DrawKind::automatic && !input.is_computed &&
                     (input.scale || is_floating(input.dtype)) && input.elements > 0;
  if (!drawn) return 0;
  const std::uint64_t count = std::min(input.elements, kLookedAtEachEnd);
  float most = 0;
  std::vector<float> values(count);
  for (const std::uint64_t begin : {std::uint64_t{0}, (input.elements - count) / 4 * 4}) {
    draw_values(input, seed, begin, begin + count, values.data());
    for (const float value : values) most = std::max(most, std::fabs(value));
  }
  return most;
}

/// Whether products of two inputs are such as f32 sums of them resolve: an emulation in double precision would not show
/// that honest kernels err.
bool has_usual_products(const CaseRecipe& recipe) {
  double first = 0, second = 0;
  for (const InputRecipe& input : recipe.inputs) {
    const double most = magnitude(input, recipe.seed);
    second = std::max(second, std::min(first, most));
    first = std::max(first, most);
  }
  return first * second <= kLargestProduct;
}

}  // namespace

struct KernelAttack::Impl {
  /// What came of one try.
  struct Outcome {
    double error = 0;        ///< Over its limit.
    bool set_aside = false;  ///< The inputs say nothing of the kernel.
    int further_draws = 0;   ///< So many are to tell whether it is wrong.
    std::optional<Failure> failure = std::nullopt;
    bool is_suspect() const { return !set_aside && (failure || further_draws > 0); }
  };

  explicit Impl(const PipelineOptions& given)
      : options(attack_options(given)),
        calibration(load_calibration(options.tree, options.task)),
        plan(plan_cases(options.task, options.target, options.device.kind, options.salt)),
        extra(options, plan, nullptr),
        oracles(plan.cases.size(), [this](std::size_t number) { return extra.get(plan.cases[number]); }),
        perturbed(options, plan, nullptr),
        floor(options, calibration, plan, oracles, nullptr),
        honest(options, plan, extra),
        compiler(options, nullptr),
        device(worker_options(options, {"device", options.device.id}, nullptr)),
        setup{options, calibration, plan, oracles, extra, floor, device} {
    oracles.get(plan.timed.front().rotation.front());  // Throws for a reference that fails.
  }

  AttackReport attack(const Candidate& given, const AttackBudget& budget,
                      const std::function<bool(const AttackProgress&)>& told) {
    AttackReport report;
    candidate = &given;
    if ((report.not_built = build())) return report;
    attacked = attacked_shapes(options.task, options.target, given, kind_named(options.device.kind));
    report.shapes = attacked.shapes;
    AttackSearch search(attack_space(options.task, options.target.options, attacked.weights, attacked.long_sums),
                        budget.seed);
    Stopwatch watch;
    AttackProgress& progress = report.progress;
    bool stopped = false;
    const auto goes_on = [&] {
      progress.seconds += watch.lap_s();
      stopped = stopped || progress.seconds >= budget.seconds || (told && !told(progress));
      return !stopped;
    };
    report.find = known_find(budget.known);
    while (goes_on() && progress.tries < budget.tries && !report.find) {
      std::vector<Attacked> generation;
      for (Attack& attack : search.ask()) generation.push_back({std::move(attack), 0});
      const std::vector<Outcome> outcomes = run(generation, progress.tries, goes_on);
      generation.resize(outcomes.size());
      for (std::size_t i = 0; i < outcomes.size() && !report.find; ++i) {
        Attacked& one = generation[i];
        ++progress.tries;
        progress.set_aside += outcomes[i].set_aside ? 1 : 0;
        one.error = outcomes[i].set_aside ? 0 : outcomes[i].error;
        if (outcomes[i].is_suspect()) {
          report.find = confirmed(one.attack, progress.tries);
          // One of several draws: chance.
          if (!report.find) one.error = std::min(one.error, kWorthALook);
        }
        if (one.error > progress.worst) {
          progress.worst = one.error;
          report.worst = one.attack;
        }
      }
      search.tell(generation);
    }
    if (report.find && !report.find->known) minimise(report, budget);
    progress.seconds += watch.lap_s();
    settle();
    return report;
  }

  // ---- The kernel

  std::optional<Failure> build() {
    binaries.clear();
    for (const Program& program : candidate->programs) {
      auto compiled = compiler.compile(program, options.device.arch);
      if (auto* failure = std::get_if<Failure>(&compiled)) return std::move(*failure);
      binaries.push_back(std::move(std::get<Binary>(compiled)));
    }
    compiler.stop();
    return load();
  }

  std::optional<Failure> load() {
    device.start();
    worker.emplace(device, *candidate, next_module, options.run_deadline_s);
    next_module += candidate->programs.size();
    return worker->load(binaries);
  }

  /// After a loss there is another worker. Throws when the kernel no longer loads: it did before.
  void reload() {
    if (auto failure = load()) throw machine_error(failure->reason);
  }

  void settle() {
    worker->settle();
    worker.reset();
  }

  // ---- Tries

  Case case_of(const Attack& attack, std::uint64_t seed) const {
    const Shape& shape = attacked.shapes[attack.shape];
    Case one{shape, attack.regime, seed, {}};
    one.regime.name = "attack";
    one.recipe = recipe_of_case(options.task, options.target.options, shape, one.regime, seed, options.salt);
    return one;
  }

  /// Of the first ones: all, or those that had begun before `goes_on` was false.
  std::vector<Outcome> run(const std::vector<Attacked>& generation, std::uint64_t seed,
                           const std::function<bool()>& goes_on) {
    std::vector<Outcome> outcomes(generation.size(), Outcome{.set_aside = true});
    std::vector<Case> cases;
    std::vector<std::size_t> places;
    for (std::size_t i = 0; i < generation.size(); ++i) {
      Case one = case_of(generation[i].attack, seed + i);
      if (!has_usual_products(one.recipe)) continue;
      cases.push_back(std::move(one));
      places.push_back(i);
    }
    std::size_t done = 0;
    const auto judge = [&](const Case& one, std::optional<Failure> failure, std::vector<std::byte> outputs) {
      outcomes[places[done++]] = judged(one, std::move(failure), std::move(outputs), nullptr);
    };
    for_each_answer(cases, judge, goes_on);
    if (done < places.size()) outcomes.resize(places[done]);
    return outcomes;
  }

  /// visit(case, failure, outputs) in the order of the cases. While one is judged, the next ones run. None begins once
  /// `goes_on` is false.
  template <typename Visit>
  void for_each_answer(const std::vector<Case>& cases, Visit visit, const std::function<bool()>& goes_on = {}) {
    std::size_t sent = 0, end = cases.size();
    for (std::size_t done = 0; done < end; ++done) {
      const bool stops = goes_on && !goes_on();
      if (stops) end = sent;
      if (done == end) break;
      while (sent < end && worker->has_room()) {
        if (auto failure = worker->send_case(cases[sent++], 1)) throw machine_error(failure->reason);
      }
      auto ran = worker->expect<protocol::Ran>();
      if (ran.failure && ran.failure->verdict == Verdict::harness_failed) throw machine_error(ran.failure->reason);
      if (!device.running()) {
        if (worker->was_lost_without_blame()) throw machine_error(ran.failure->reason);
        reload();
        if (stops) end = done + 1;
        sent = done + 1;
      }
      visit(cases[done], std::move(ran.failure), std::move(ran.reply.outputs));
    }
  }

  /// `pool`: takes what is left open; may be null.
  Outcome judged(const Case& one, std::optional<Failure> failure, std::vector<std::byte> outputs, CaseJudge* pool) {
    const std::shared_ptr<const Expected> expected = reference_of(one, extra);
    if (!expected) return {.set_aside = true};
    if (failure && !is_fault(failure->verdict)) return {.set_aside = true};
    if (failure) return {.error = kIncomparable, .failure = failure_at(*candidate, one, *std::move(failure))};
    Evaluation evaluation;
    CaseJudge own(setup, *candidate, evaluation);
    CaseJudge& judge = pool != nullptr ? *pool : own;
    const ComparedCase compared = judge.compare(one, expected, std::move(outputs));
    Outcome outcome;
    for (const ComparedOutput& output : compared.outputs)
      outcome.error =
          std::max(outcome.error,
                   output.difference.not_finite > 0 ? kIncomparable : closeness(output.difference, output.limits));
    if (outcome.error > kWorthALook && !says_something(one, compared)) return {.set_aside = true};
    CaseJudge::Check check = judge.judge(one, compared, pool != nullptr);
    outcome.failure = std::move(check.failure);
    outcome.further_draws = check.further_draws;
    if (outcome.failure && outcome.failure->verdict == Verdict::harness_failed)
      throw machine_error(outcome.failure->reason);
    // Rounding explains it.
    outcome.set_aside = outcome.error > 1 && (!outcome.is_suspect() || honest.explains(one, compared));
    return outcome;
  }

  /// Null where the reference's answer is not finite.
  static std::shared_ptr<const Expected> reference_of(const Case& one, ExtraOracles& of) {
    try {
      std::shared_ptr<const Expected> expected = of.get(one);
      return std::ranges::all_of(*expected, is_finite) ? expected : nullptr;
    } catch (const Error& error) {
      if (error.fault() != Fault::usage) throw;
      return nullptr;
    }
  }

  bool says_something(const Case& one, const ComparedCase& compared) {
    for (std::size_t i = 0; i < compared.outputs.size(); ++i) {
      const ComparedOutput& output = compared.outputs[i];
      const std::uint64_t row = row_of(options.task, options.target.options, one.shape, i);
      if (output.difference.want_rms == 0 && output.difference.not_finite == 0 && is_floating(output.got_dtype))
        return false;
      if (are_near_ties(one, output, i)) return false;
      if (!holds(output, compared.expected->at(i), row)) return false;
    }
    return true;
  }

  /// Whether whole numbers are off by one at most, and hardly oftener than the last bits of the inputs make them:
  /// floats that are rounded may be, where many are equal and lie close to a tie. The ties of the regime of that name
  /// are exact.
  bool are_near_ties(const Case& one, const ComparedOutput& output, std::size_t number) {
    const Difference& difference = output.difference;
    const bool exact_ties = one.regime.distribution == Distribution::ties && one.regime.steps.empty();
    if (difference.off_by_one == 0 || difference.further_off > 0 || exact_ties) return false;
    Case like_it = one;
    like_it.recipe.perturbed = true;
    const std::shared_ptr<const Expected> other = reference_of(like_it, perturbed);
    if (!other) return true;
    const ExpectedOutput& want = *output.want;
    const Difference moved = compare(want.dtype, other->at(number).bytes, want, output.limits, 0);
    return difference.off_by_one <= kOftenerThanBits * (moved.off_by_one + moved.further_off);
  }

  // ---- A find

  /// The first of these that makes the kernel err at its shape, or at the smallest listed one. Tries have numbers from
  /// the other end.
  std::optional<AttackFind> known_find(const std::vector<KnownAttack>& known) {
    std::uint64_t number = UINT64_MAX;
    for (const KnownAttack& one : known) {
      std::vector<std::size_t> places =
          shapes_if([&](std::size_t i) { return attacked.shapes[i].parameters == one.shape; });
      if (const auto listed = listed_shapes(); !listed.empty()) places.push_back(listed.front());
      for (const std::size_t place : places) {
        auto find = confirmed({place, one.regime}, number--);
        if (!find) continue;
        find->known = true;
        return find;
      }
    }
    return std::nullopt;
  }

  /// Empty when other draws are right.
  std::optional<AttackFind> confirmed(const Attack& attack, std::uint64_t number) {
    Evaluation evaluation;
    CaseJudge pool(setup, *candidate, evaluation);
    AttackFind find{.shape = attacked.shapes[attack.shape], .regime = attack.regime, .failure = {}};
    int wrong = 0, draws = kDrawsOfFind;
    for (int i = 0; i < draws; ++i) {
      const std::vector<Case> cases = {case_of(attack, mix(number, static_cast<std::uint64_t>(i)))};
      if (!has_usual_products(cases.front().recipe)) return std::nullopt;
      Outcome outcome;
      for_each_answer(cases, [&](const Case& one, std::optional<Failure> failure, std::vector<std::byte> outputs) {
        outcome = judged(one, std::move(failure), std::move(outputs), &pool);
      });
      if (!outcome.is_suspect()) return std::nullopt;
      draws = std::max(draws, std::min(outcome.further_draws, kMostDrawsOfFind));
      if (outcome.error < kIncomparable) find.error = std::max(find.error, outcome.error);
      if (!outcome.failure) continue;
      ++wrong;
      find.failure = *std::move(outcome.failure);
    }
    if (wrong == draws) return find;
    auto failure = pool.check_pools();
    if (!failure) return std::nullopt;
    find.failure = *std::move(failure);
    return find;
  }

  /// Takes, in at most as long again, a listed shape or else the smallest one, and every simplification, that leave the
  /// kernel wrong.
  void minimise(AttackReport& report, const AttackBudget& budget) {
    Attack attack{static_cast<std::size_t>(std::ranges::find(attacked.shapes, report.find->shape.name, &Shape::name) -
                                           attacked.shapes.begin()),
                  report.find->regime};
    Stopwatch watch;
    double seconds = 0;
    std::uint64_t left = std::max(budget.tries, kTriesToMinimise);
    const auto take = [&](const Attack& simple) {
      seconds += watch.lap_s();
      if (left == 0 || seconds > budget.seconds) return false;
      --left;
      auto find = confirmed(simple, ++report.progress.tries);
      if (!find) return false;
      report.find = std::move(find);
      attack = simple;
      return true;
    };
    const auto move = [&](std::size_t shape) { return take({shape, attack.regime}); };
    if (!std::ranges::any_of(listed_shapes(), move)) std::ranges::any_of(smaller_shapes(attack.shape), move);
    while (std::ranges::any_of(simpler(attack), take)) {
    }
  }

  /// A regime that fails at one of the task's own is of use in every search.
  std::vector<std::size_t> listed_shapes() const {
    return shapes_if([&](std::size_t i) { return is_among(options.task.shapes, attacked.shapes[i].name); });
  }

  std::vector<std::size_t> smaller_shapes(std::size_t than) const {
    return shapes_if([&](std::size_t i) { return attacked.weights[i] > attacked.weights[than]; });
  }

  static bool is_among(const std::vector<Shape>& listed, const std::string& name) {
    return std::ranges::find(listed, name, &Shape::name) != listed.end();
  }

  /// The smallest first.
  template <typename Is>
  std::vector<std::size_t> shapes_if(Is is) const {
    std::vector<std::size_t> chosen;
    for (std::size_t i = 0; i < attacked.shapes.size(); ++i)
      if (is(i)) chosen.push_back(i);
    std::ranges::stable_sort(chosen, std::ranges::greater{}, [&](std::size_t i) { return attacked.weights[i]; });
    return chosen;
  }

  const PipelineOptions options;
  const std::optional<Calibration> calibration;
  const CasePlan plan;     ///< Its first timed case is the ordinary one.
  ExtraOracles extra;      ///< Answers to inputs as they are.
  OracleStore oracles;     ///< The same, of the plan's cases.
  ExtraOracles perturbed;  ///< Of inputs with random last bits.
  NoiseFloor floor;
  HonestArithmetic honest;
  CompileWorker compiler;
  WorkerClient device;
  const ValidationSetup setup;
  const Candidate* candidate = nullptr;
  std::vector<Binary> binaries;
  std::optional<CandidateWorker> worker;
  std::uint64_t next_module = 1;
  AttackedShapes attacked;
};

KernelAttack::KernelAttack(const PipelineOptions& options) : impl_(std::make_unique<Impl>(options)) {}
KernelAttack::~KernelAttack() = default;

AttackReport KernelAttack::attack(const Candidate& candidate, const AttackBudget& budget,
                                  const std::function<bool(const AttackProgress&)>& progress) {
  return impl_->attack(candidate, budget, progress);
}

}  // namespace evo
