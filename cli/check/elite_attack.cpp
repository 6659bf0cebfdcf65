#include "cli/check/elite_attack.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "cli/check/further_trials.h"
#include "cli/subject/held_out_shapes.h"
#include "cli/subject/known_attacks.h"
#include "cli/subject/long_shapes.h"
#include "cli/subject/restore.h"
#include "cli/text/result_text.h"
#include "engine/base/error.h"
#include "engine/device/device_kind.h"
#include "engine/task/floor.h"
#include "evaluator/worker/worker_client.h"

namespace evo::cli {
namespace {

/// A device that measures makes hundreds of tries in this time.
constexpr double kShortAttackSeconds = 10;
/// On one that computes on the CPU there are so many, at shapes whose cases cost at most this part of a held-out
/// shape's: a search has few minutes.
constexpr std::uint64_t kShortAttackTries = 28;
constexpr double kShortAttackPart = 0.01;

double affordable_work(const DeviceKind& kind) {
  return kind.on_host ? kShortAttackPart * kind.held_out_work : kind.held_out_work;
}

/// The claim's target with what is attacked: the validated shapes that are cheap enough, or else the cheapest, random
/// ones and long ones. The most expensive of them that is listed stands for ordinary inputs.
Target attacked_target(const Claim& claim, const DeviceKind& kind, std::uint64_t salt) {
  Target target = claim.target;
  std::vector<Shape> listed = claim.target.timed;
  listed.insert(listed.end(), claim.target.validated.begin(), claim.target.validated.end());
  const auto work = [&](const Shape& shape) { return work_of(claim.task, target.options, shape, kind); };
  std::ranges::stable_sort(listed, {}, work);
  const auto cheap =
      std::ranges::find_if(listed, [&](const Shape& shape) { return work(shape) > affordable_work(kind); });
  listed.erase(std::max(cheap, listed.begin() + 1), listed.end());
  target.timed = {listed.back()};
  target.validated = listed;
  for (std::vector<Shape> further : {held_out_shapes(claim.task, claim.target, kind.name, salt),
                                     long_shapes(claim.task, claim.target, kind.name, affordable_work(kind))})
    for (Shape& shape : further)
      if (work(shape) <= affordable_work(kind)) target.validated.push_back(std::move(shape));
  return target;
}

std::string attack_note(const AttackReport& report, bool repeats) {
  const AttackProgress& progress = report.progress;
  std::string note = fmt::format("{} tries", progress.tries);
  if (!repeats) note += fmt::format(" in {:.0f} s", progress.seconds);
  return note + fmt::format(", the largest error {:.2g} times its limit", progress.worst);
}

}  // namespace

/// Kernels of one task under one objective and options.
struct EliteAttack::Group {
  Target target;
  KernelAttack attack;
};

EliteAttack::EliteAttack(Options options) : options_(std::move(options)) {}

EliteAttack::~EliteAttack() = default;

EliteAttack::Group& EliteAttack::group(const Claim& claim) {
  std::string key = fmt::format("{} {}", claim.task.hash, claim.target.objective);
  for (const Shape& shape : claim.target.timed) key += " " + shape.name;
  for (const auto& [option, value] : claim.target.options) key += fmt::format(" {}={}", option, expr::to_string(value));
  std::unique_ptr<Group>& found = groups_[key];
  if (found) return *found;
  const DeviceKind& kind = kind_named(options_.device.kind);
  PipelineOptions options;
  options.task = claim.task;
  options.tree = claim.tree;
  options.target = attacked_target(claim, kind, options_.salt);
  options.device = options_.device;
  options.salt = options_.salt;
  options.device_threads = options_.device_threads;
  options.binaries = options_.binaries;
  options.stop = options_.stop;
  Target target = options.target;
  found.reset(new Group{std::move(target), KernelAttack(options)});
  return *found;
}

EliteAttack::Result EliteAttack::attack(const Claim& claim, std::vector<KnownAttack> known) {
  Result result{.check = {"attack", EliteCheck::Outcome::impossible, {}}, .finding = {}, .kept = {}};
  const DeviceKind& kind = kind_named(options_.device.kind);
  AttackReport report;
  AttackBudget budget{.seconds = kShortAttackSeconds, .seed = options_.salt, .known = std::move(known)};
  if (kind.on_host) {
    budget.seconds = std::numeric_limits<double>::infinity();
    budget.tries = kShortAttackTries;
  }
  try {
    Group& one = group(claim);
    report = one.attack.attack(candidate_of(claim, one.target), budget,
                               [&](const AttackProgress&) { return !(options_.stop && options_.stop->load()); });
  } catch (const Error& error) {
    if (error.fault() != Fault::usage) throw;
    result.check.note = error.what();
    return result;
  }
  if (options_.stop && options_.stop->load()) throw Stopped();
  if (report.not_built) {
    result.check.note = fault_text(report.not_built->reason, report.not_built->mismatch, {});
    return result;
  }
  result.check.outcome = EliteCheck::Outcome::passed;
  result.check.note = attack_note(report, kind.on_host);
  if (!report.find || !is_wrong(report.find->failure.verdict)) return result;
  const AttackFind& find = *report.find;
  const AttackRecord record =
      attack_record(find, claim.task, claim.target, options_.device, task_hash_in_database(claim), claim.origin);
  result.finding = EliteFinding{find.failure.verdict,
                                fmt::format("on inputs that an attack found, {}{}{}", pasted(record),
                                            find.failure.reason.empty() ? "" : ": ", find.failure.reason),
                                find.failure.mismatch};
  if (!find.known) result.kept = record;
  return result;
}

}  // namespace evo::cli
