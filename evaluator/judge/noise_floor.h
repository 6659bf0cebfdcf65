#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/task/calibration.h"
#include "evaluator/judge/comparison.h"
#include "evaluator/judge/oracle.h"

namespace evo {

/// A relative error that is never put down to an ill-conditioned draw.
inline constexpr double kHopelessError = 0.5;

/// The honest kernel's answers to cases that were examined once: all devices of a run share them.
struct KnownHonest {
  std::shared_ptr<KnownOracles> edited = std::make_shared<KnownOracles>();  ///< The emulation's or the own code's.
  std::shared_ptr<KnownOracles> perturbed = std::make_shared<KnownOracles>();
};

/// An honest kernel's error on single cases, and how ill-conditioned these are. Some draws have sums that nearly
/// cancel, or a few values on which every output depends. On these any kernel of the admitted precision has a large
/// error. It is measured on the same inputs, with one of these as the honest kernel:
/// - the task's emulation (engine/task/calibration.h);
/// - else, for an imported problem that is computed in double precision, the problem's own code in the types of its
///   tensors;
/// - else, and where that code fails, the reference of inputs whose last bits are random; and the reference in single
///   precision, if that is the emulation.
/// Several threads may ask.
class NoiseFloor {
 public:
  /// Everything referred to but `known` must outlive it. `stop` may be null.
  NoiseFloor(const PipelineOptions& options, const std::optional<Calibration>& calibration, const CasePlan& plan,
             OracleStore& oracles, const StopSignal* stop, const KnownHonest& known = {});

  /// The emulation's error on this case in an output; `output` counts those that are present. Nothing where the
  /// reference does not compute in single precision. Throws like compute_oracles.
  EmulationError emulation_error(const Case& one, const Expected& exact, std::size_t output);
  /// Whether rounding alone explains a difference that breaks the limits of an output: the draw then says nothing of
  /// the kernel. Throws as compute_oracles does.
  bool explains(const Difference& difference, const Limits& limits, const Case& one, const Expected& exact,
                std::size_t output);
  /// As ExtraOracles::rest.
  void rest();

 private:
  enum class StandIn : std::uint8_t { emulation, own_code, single_precision, perturbed };
  using Errors = std::vector<EmulationError>;  ///< By output. Those of integers are 0.

  // To be called with the lock held.
  /// The first of the stand-ins that computes this case and the ordinary one.
  StandIn stand_in_for(const Case& one, const Expected& exact);
  /// The error on this case over the error on the first timed case, which is an ordinary draw of many values; at least
  /// 1.
  double ill_conditioning(StandIn stand_in, const Case& one, const Expected& exact);
  bool explained_by_last_bits(const Difference& difference, const Limits& limits, const Case& one,
                              const Expected& exact, std::size_t output);
  bool explained_by_single_precision(const Difference& difference, const Limits& limits, const Case& one,
                                     const Expected& exact, std::size_t output);
  /// The limits of a draw, widened so that no solution is held to a smaller error than `factor` times the stand-in's.
  Limits admitting_it(StandIn stand_in, double factor, const Limits& limits, const Case& one, const Expected& exact,
                      std::size_t output);
  /// The stand-in's largest error in an element.
  double largest_error(StandIn stand_in, const Case& one, const Expected& exact, std::size_t output);
  /// Null where the problem's own code fails, or does not compute in single precision.
  const Errors* errors(StandIn stand_in, const Case& one, const Expected& exact);
  const Errors* ordinary(StandIn stand_in);
  Errors measured(StandIn stand_in, const Case& one, const Expected& exact);
  std::shared_ptr<const Expected> answer(StandIn stand_in, const Case& one);

  std::mutex mutex_;
  const CasePlan& plan_;
  OracleStore& oracles_;
  std::vector<StandIn> stand_ins_;  ///< Those that there are, the best first.
  bool has_single_precision_;
  PipelineOptions options_;  ///< With the emulation or the problem's own code in place of the reference.
  PipelineOptions plain_;
  ExtraOracles edited_, perturbed_;
  std::map<std::pair<StandIn, std::string>, std::optional<Errors>> known_;  ///< By the case's recipe.
};

}  // namespace evo
