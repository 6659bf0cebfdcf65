#include "cli/check/further_trials.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <deque>
#include <iterator>
#include <limits>
#include <ranges>
#include <set>
#include <utility>

#include "cli/check/sanitised_program.h"
#include "cli/subject/restore.h"
#include "cli/text/result_text.h"
#include "engine/base/error.h"
#include "engine/device/device_kind.h"
#include "engine/space/space.h"
#include "engine/task/floor.h"
#include "engine/task/plan_resolution.h"
#include "engine/task/scope.h"
#include "evaluator/base/random.h"
#include "evaluator/pipeline/gates.h"
#include "evaluator/pipeline/pipeline.h"
#include "evaluator/worker/worker_client.h"

namespace evo::cli {
namespace {

/// Programs of other specialisations are compiled, which takes a second each.
constexpr std::size_t kMostSpecialisations = 4;
/// Shapes that are left out after each other because the device or the reference refuses them.
constexpr int kMostRefusals = 16;
constexpr std::size_t kListed = 3;
/// Kinds of inputs at each shape: what sizes and orders of accesses break seldom depends on them.
constexpr std::size_t kRegimes = 2;
/// Of a size that nobody listed there are so many draws of each, where they are cheap: fewer than four tell nothing of
/// an average (honest_average.h). A watched shape had its draws in the search.
constexpr int kSeeds = 2, kWatchedSeeds = 1;
/// On a device that computes on the CPU a case of a size that nobody listed costs this part of a held-out shape's, and
/// one that is watched another: many are tried, and a plain reference takes longer than its arithmetic says.
constexpr double kTriedPart = 0.1, kWatchedPart = 0.2;

/// The shape that a message is about: "..., shape N=33, regime normal: ...".
const TriedShape* named_in(const std::string& message, const std::vector<TriedShape>& shapes) {
  for (const TriedShape& one : shapes) {
    const std::size_t at = message.find("shape " + one.shape.name);
    if (at == std::string::npos) continue;
    const std::size_t end = at + 6 + one.shape.name.size();
    if (end == message.size() || message[end] == ':' || message.compare(end, 2, ", ") == 0) return &one;
  }
  return nullptr;
}

std::string advice(const TriedShape& tried) {
  if (tried.exclude.empty()) return {};
  return fmt::format(" (if there are no kernels for it, the task says so: \"requires\": \"{}\")", tried.exclude);
}

bool has_values(const Shape& shape, const Bindings& specialisation) {
  return std::ranges::all_of(specialisation, [&](const auto& constant) {
    const auto found = shape.parameters.find(constant.first);
    return found != shape.parameters.end() && found->second == constant.second;
  });
}

std::string more_text(const std::vector<std::string>& all) {
  if (all.empty()) return {};
  std::string text = fmt::format(
      "{}", fmt::join(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(std::min(kListed, all.size())), "; "));
  if (all.size() > kListed) text += fmt::format("; and {} more", all.size() - kListed);
  return text;
}

/// The most that one case may cost (work_of).
double work_of_tried(const DeviceInfo& device) {
  const DeviceKind& kind = kind_named(device.kind);
  return kind.on_host ? kTriedPart * kind.held_out_work : kind.held_out_work;
}

/// Kernels of the device itself are watched at every shape that they were validated at.
double work_of_watched(const Claim& claim, const DeviceInfo& device) {
  if (claim.device.kind == device.kind) return std::numeric_limits<double>::infinity();
  return (claim.by_edits ? 1 : kWatchedPart) * kind_named(device.kind).held_out_work;
}

std::vector<TriedShape> as_tried(std::vector<Shape> shapes) {
  std::vector<TriedShape> tried;
  for (Shape& shape : shapes) tried.push_back({std::move(shape), {}});
  return tried;
}

}  // namespace

/// Shapes at which kernels of a task are judged, by one pipeline.
class FurtherTrials::Group {
 public:
  Group(const Options& options, const Claim& claim, std::vector<TriedShape> shapes, Draws draws)
      : task_(claim.task), shapes_(std::move(shapes)) {
    options_.task = claim.task;
    options_.task.seeds = draws == Draws::tried ? kSeeds : kWatchedSeeds;
    options_.watches_all_regimes = draws == Draws::watched_in_all_regimes;
    if (!options_.watches_all_regimes && options_.task.regimes.size() > kRegimes)
      options_.task.regimes.resize(kRegimes);
    options_.tree = claim.tree;
    options_.target = claim.target;
    options_.device = options.device;
    options_.salt = fresh_salt();
    options_.compile_workers = 1;
    options_.device_threads = options.device_threads;
    options_.binaries = options.binaries;
    options_.dedup = false;
    options_.stop = options.stop;
    options_.worker_command = options.worker_command;
    options_.only_judging = true;
    progress_ = options.progress;
    std::ranges::stable_sort(shapes_, {}, [&](const TriedShape& one) {
      return work_of(task_, options_.target.options, one.shape, kind_named(options_.device.kind));
    });
  }

  /// One shape after the other, the cheapest first.
  Judged judge(const Claim& claim, const std::vector<Program>& programs) {
    Judged judged;
    judged.left_out = left_out_;
    std::deque<Planned> waiting = planned(claim, programs, judged);
    const std::size_t all = waiting.size();
    for (int refusals = 0; !waiting.empty() && refusals < kMostRefusals;) {
      if (options_.stop != nullptr && options_.stop->load()) throw Stopped();
      if (progress_) progress_(all - waiting.size(), all);
      const std::size_t answerable = shapes_.size();
      const std::optional<Evaluation> evaluation = evaluate(waiting.front().alone, judged);
      if (!evaluation) {
        if (shapes_.size() == answerable) return judged;  // The reference fails at all of them.
        std::erase_if(waiting, [this](const Planned& one) { return !is_left(one.tried.shape); });
        ++refusals;
        continue;
      }
      const TriedShape tried = std::move(waiting.front().tried);
      waiting.pop_front();
      if (evaluation->verdict == Verdict::valid) {
        judged.shapes.push_back(tried.shape.name);
        continue;
      }
      if (is_wrong(evaluation->verdict)) {
        judged.finding = finding_of(*evaluation, tried);
        return judged;
      }
      std::string fault = fault_text(evaluation->reason, evaluation->mismatch, evaluation->original);
      if (evaluation->verdict == Verdict::harness_failed) throw machine_error(fault);
      if (named_in(fault, shapes_) == nullptr) fault = fmt::format("shape {}: {}", tried.shape.name, fault);
      judged.left_out.push_back(fault + advice(tried));
      ++refusals;
    }
    return judged;
  }

 private:
  /// The kernel at one shape.
  struct Planned {
    TriedShape tried;
    Candidate alone;
  };

  /// For the shapes that the device can be asked to launch.
  std::deque<Planned> planned(const Claim& claim, const std::vector<Program>& programs, Judged& judged) const {
    Target nowhere = claim.target;
    nowhere.timed.clear();
    nowhere.validated.clear();
    const Candidate candidate =
        with_plans(claim.tree, claim.task, claim.family, claim.genome, programs, nowhere, claim.device.facts);
    std::deque<Planned> planned;
    for (const TriedShape& one : shapes_) {
      for (Program program : candidate.programs) {
        if (!has_values(one.shape, program.specialisation)) continue;
        if (const std::string refused = add_plan(claim, one.shape, program); !refused.empty())
          judged.left_out.push_back(fmt::format("{}{}", refused, advice(one)));
        else
          planned.push_back({one, {candidate.genome, {std::move(program)}, candidate.files}});
      }
    }
    return planned;
  }

  bool is_left(const Shape& shape) const {
    return std::ranges::any_of(shapes_, [&](const TriedShape& one) { return one.shape.name == shape.name; });
  }

  /// Why the shape has no plan; empty: it has.
  std::string add_plan(const Claim& claim, const Shape& shape, Program& program) const {
    try {
      Program alone = program;
      alone.plans = {{shape.name, resolve_plan(claim.task, claim.family, claim.genome, claim.target.options, shape,
                                               claim.device.facts)}};
      const auto illegal = check_legality({claim.genome, {alone}}, options_.device);
      if (illegal) return illegal->reason;
      program.plans.merge(alone.plans);
      return {};
    } catch (const Error& error) {
      return fmt::format("shape {}: {}", shape.name, error.what());
    }
  }

  /// Empty: the reference gives no answer at a shape, and the group goes on without it.
  std::optional<Evaluation> evaluate(const Candidate& candidate, Judged& judged) {
    try {
      if (!pipeline_) open();
      pipeline_->submit(0, candidate);
      return pipeline_->wait().evaluation;
    } catch (const Error& error) {
      pipeline_.reset();
      if (error.fault() != Fault::usage) throw;
      const TriedShape* where = named_in(error.what(), shapes_);
      left_out_.push_back(where == nullptr ? error.what() : fmt::format("{}{}", error.what(), advice(*where)));
      judged.left_out.push_back(left_out_.back());
      if (where != nullptr)
        std::erase_if(shapes_, [name = where->shape.name](const TriedShape& one) { return one.shape.name == name; });
      return std::nullopt;
    }
  }

  /// The largest shape of each specialisation stands for those that are timed, though none is: what is usual is told by
  /// answers of many elements.
  void open() {
    Target& target = options_.target;
    target.timed.clear();
    target.validated.clear();
    for (const TriedShape& one : shapes_) target.validated.push_back(one.shape);
    for (const Shape& shape : std::views::reverse(target.validated)) {
      Bindings specialisation;
      for (const std::string& parameter : task_.specialised) specialisation[parameter] = shape.parameters.at(parameter);
      if (std::ranges::none_of(target.timed, [&](const Shape& timed) { return has_values(timed, specialisation); }))
        target.timed.push_back(shape);
    }
    pipeline_ = make_pipeline(options_);
  }

  static EliteFinding finding_of(const Evaluation& evaluation, const TriedShape& tried) {
    std::string reason = evaluation.reason;
    if (!tried.exclude.empty())
      reason = fmt::format("{}{}at a size that it was not validated at{}", reason, reason.empty() ? "" : ", ",
                           advice(tried));
    return {evaluation.verdict, std::move(reason), evaluation.mismatch};
  }

  const Task task_;
  std::vector<TriedShape> shapes_;  ///< The cheapest first.
  PipelineOptions options_;
  std::function<void(std::size_t, std::size_t)> progress_;
  std::vector<std::string> left_out_;  ///< Where the reference gives no answer.
  std::unique_ptr<Evaluator> pipeline_;
};

bool is_wrong(Verdict verdict) {
  return verdict == Verdict::crashed || verdict == Verdict::wrong_answer || verdict == Verdict::unrepeatable;
}

std::optional<DeviceInfo> watching_device(const DeviceRecord& device) {
  return virtual_device_for(device);
}

FurtherTrials::FurtherTrials(Options options) : options_(std::move(options)) {}

FurtherTrials::~FurtherTrials() = default;

FurtherTrials::Group& FurtherTrials::group(Draws draws, const Claim& claim, std::vector<TriedShape> shapes) {
  std::string key =
      fmt::format("{} {} {} {}", static_cast<int>(draws), claim.task.hash, claim.target.objective, claim.family.name);
  for (const TriedShape& one : shapes) key += " " + one.shape.name;
  for (const auto& [option, value] : claim.target.options) key += fmt::format(" {}={}", option, expr::to_string(value));
  std::unique_ptr<Group>& found = groups_[key];
  if (!found) found = std::make_unique<Group>(options_, claim, std::move(shapes), draws);
  return *found;
}

FurtherTrials::Judged FurtherTrials::judge_at(Draws draws, const Claim& claim, std::vector<Program> programs,
                                              std::vector<TriedShape> shapes) {
  if (shapes.empty()) return {};
  return group(draws, claim, std::move(shapes)).judge(claim, programs);
}

/// Listed shapes that no program of the kernel is for: its genome is rendered for them where it is legal.
FurtherTrials::Judged FurtherTrials::judge_other_specialisations(const Claim& claim) {
  Judged all;
  std::set<std::string> seen;
  for (const Program& program : claim.programs) seen.insert(to_text({"", program.specialisation}));
  std::size_t rendered = 0;
  for (const Shape& listed : claim.task.shapes) {
    Bindings specialisation;
    for (const std::string& parameter : claim.task.specialised)
      specialisation[parameter] = listed.parameters.at(parameter);
    if (!is_legal(claim.task, claim.target.options, listed) || !seen.insert(to_text({"", specialisation})).second)
      continue;
    const Bindings facts = joined(claim.device.facts, claim.target.options);
    if (why_illegal(claim.family, claim.genome, facts, {specialisation})) continue;
    if (rendered++ == kMostSpecialisations) break;
    Target target = claim.target;
    target.timed.clear();
    target.validated.clear();
    for (const Shape& shape : claim.task.shapes)
      if (has_values(shape, specialisation) && is_legal(claim.task, claim.target.options, shape))
        target.validated.push_back(shape);
    std::vector<std::string> too_large;
    std::vector<TriedShape> shapes =
        as_tried(small_shapes(claim.task, target, options_.device.kind, work_of_tried(options_.device), too_large));
    if (shapes.empty()) continue;
    std::vector<std::string> others;
    for (const auto& [parameter, size] : specialisation)
      others.push_back(fmt::format("{} != {}", parameter, expr::to_string(size)));
    for (TriedShape& one : shapes) one.exclude = fmt::format("{}", fmt::join(others, " || "));
    Judged judged;
    try {
      target.timed = target.validated;
      std::vector<Program> programs =
          make_candidate(claim.tree, claim.task, claim.family, claim.genome, target, claim.device.facts).programs;
      judged = judge_at(Draws::tried, claim, std::move(programs), std::move(shapes));
    } catch (const Error& error) {
      if (error.fault() != Fault::usage) throw;
      judged.left_out.push_back(error.what());
    }
    std::ranges::move(judged.shapes, std::back_inserter(all.shapes));
    std::ranges::move(judged.left_out, std::back_inserter(all.left_out));
    all.finding = std::move(judged.finding);
    if (all.finding) break;
  }
  return all;
}

EliteCheck FurtherTrials::watch(const Claim& claim, std::optional<EliteFinding>& finding) {
  std::vector<std::string> too_large;
  std::vector<TriedShape> shapes = as_tried(
      small_shapes(claim.task, claim.target, options_.device.kind, work_of_watched(claim, options_.device), too_large));
  const Draws draws = claim.by_edits ? Draws::watched_in_all_regimes : Draws::watched;
  Judged judged = judge_at(draws, claim, claim.programs, std::move(shapes));
  finding = std::move(judged.finding);
  for (const std::string& shape : too_large) judged.left_out.push_back(fmt::format("{} is too large", shape));
  EliteCheck check{"sanitiser", EliteCheck::Outcome::passed, {}};
  if (judged.shapes.empty() || (claim.by_edits && !judged.left_out.empty()))
    check.outcome = EliteCheck::Outcome::impossible;
  const std::string left_out = more_text(judged.left_out);
  if (!judged.shapes.empty())
    check.note = fmt::format("{} shapes{}", judged.shapes.size(), left_out.empty() ? "" : "; not: ");
  check.note += left_out;
  return check;
}

EliteCheck FurtherTrials::try_sizes(const Claim& claim, std::optional<EliteFinding>& finding) {
  std::vector<TriedShape> shapes =
      tried_shapes(claim.task, claim.target, claim.family, options_.device.kind, work_of_tried(options_.device));
  Judged judged = judge_at(Draws::tried, claim, claim.programs, std::move(shapes));
  if (!judged.finding && !claim.edited) {
    Judged others = judge_other_specialisations(claim);
    std::ranges::move(others.shapes, std::back_inserter(judged.shapes));
    std::ranges::move(others.left_out, std::back_inserter(judged.left_out));
    judged.finding = std::move(others.finding);
  }
  finding = std::move(judged.finding);
  const std::string left_out = more_text(judged.left_out);
  if (judged.shapes.empty() && !left_out.empty()) return {"sizes", EliteCheck::Outcome::impossible, left_out};
  EliteCheck check{"sizes", EliteCheck::Outcome::passed, fmt::format("{} shapes", judged.shapes.size())};
  if (!judged.shapes.empty()) check.note += fmt::format(": {}", fmt::join(judged.shapes, " "));
  if (!left_out.empty()) check.note += "; not: " + left_out;
  return check;
}

CheckedElite FurtherTrials::judge(const Claim& claim) {
  CheckedElite checked;
  if (kind_named(options_.device.kind).sanitises) {
    checked.checks.push_back(watch(claim, checked.finding));
    if (checked.finding) checked.checks.pop_back();
  }
  if (checked.finding) return checked;
  checked.checks.push_back(try_sizes(claim, checked.finding));
  if (checked.finding) checked.checks.pop_back();
  return checked;
}

}  // namespace evo::cli
