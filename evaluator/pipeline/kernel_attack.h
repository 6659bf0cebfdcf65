#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "engine/attack/attack_space.h"
#include "engine/result/evaluation.h"
#include "engine/task/candidate.h"
#include "evaluator/hosts/pipeline_options.h"

namespace evo {

/// What an earlier attack found.
struct KnownAttack {
  Regime regime;
  Bindings shape;  ///< Its parameters.
};

/// How long a kernel is attacked, and with which random numbers.
struct AttackBudget {
  double seconds = 30;
  std::uint64_t seed = 1;               ///< Of the search. The draws have the options' salt.
  std::uint64_t tries = UINT64_MAX;     ///< Beside those of `known`, and to minimise a find at most as many again.
  std::vector<KnownAttack> known = {};  ///< Tried first, at their shapes and at the smallest listed one.
};

/// Inputs on which a kernel is wrong although honest arithmetic is not.
struct AttackFind {
  Shape shape;
  Regime regime;       ///< Minimised. It has no name.
  bool known = false;  ///< One of AttackBudget::known.
  Failure failure;     ///< On one of its draws.
  double error = 0;    ///< Over its limit; 0 where there is no answer.
};

struct AttackProgress {
  std::uint64_t tries = 0;
  std::uint64_t set_aside = 0;  ///< Of them: inputs that say nothing of the kernel.
  double seconds = 0;
  double worst = 0;  ///< The largest error over its limit, of inputs that do say something.
};

struct AttackReport {
  std::optional<Failure> not_built;  ///< The kernel could not be attacked.
  std::optional<AttackFind> find;
  AttackProgress progress;
  Attack worst;               ///< The inputs of progress.worst.
  std::vector<Shape> shapes;  ///< Those that were tried.
};

/// Looks for inputs on which one kernel breaks the limits of its task: an evolution strategy over regimes
/// (engine/attack) whose fitness is the error over its limit. Each try is a case of the judge's: with the reference,
/// the emulation where the limits follow it, and the rule of ill-conditioned draws (noise_floor.h). Inputs are set
/// aside, too,
/// - where arithmetic in single precision errs as much (honest_arithmetic.h);
/// - where the reference is not finite, or the type of an output cannot hold it: rounding it there alone takes most of
/// a
///   limit;
/// - where whole numbers that are rounded floats are off by one, but in the regime of ties, which are exact;
/// - where the device refuses to launch the kernel.
/// A find is wrong at three draws; then every ingredient that is not needed is dropped.
class KernelAttack {
 public:
  /// `options.target`: its shapes are tried, those that are too much work left out. Opens workers of its own. Throws
  /// usage_error for a reference that fails, machine_error when no worker can be started.
  explicit KernelAttack(const PipelineOptions& options);
  ~KernelAttack();

  /// `candidate` has plans for the target's shapes. `progress` may be empty; false from it ends the attack.
  AttackReport attack(const Candidate& candidate, const AttackBudget& budget,
                      const std::function<bool(const AttackProgress&)>& progress = {});

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace evo
