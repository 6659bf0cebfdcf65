#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/task/plan.h"
#include "evaluator/device/device.h"
#include "evaluator/device/input_recipe.h"

/// Shows kernels that skip work when a launch brings again what an earlier one brought.
///
/// Two sequences of calls do the same writes at the same places and read inputs of the same two cases equally often.
/// Between the calls of one everything stays: inputs are written again as they are, outputs likewise. Between those of
/// the other the inputs become those of the other case, a few elements on top, and outputs are poisoned. So an honest
/// kernel has the same work and the same caches in both. One that recognises its inputs, its outputs or something that
/// it noted in a workspace is faster in the first. One that looks at samples only leaves poison in the second.
namespace evo {

/// As many elements on a device. Where they come from, they have one source for each of the two cases.
struct Elements {
  DeviceAddress at = 0;
  std::uint64_t count = 0;
  std::uint64_t bytes = 0;  ///< Of one.
  std::array<DeviceAddress, 2> from = {};
};

/// One set of buffers.
struct ProbedSet {
  std::array<std::vector<DeviceWrite>, 2> inputs;  ///< Each places all inputs of one case.
  std::vector<Elements> changing;                  ///< Inputs of which single elements may come from the other case.
  std::vector<Elements> outputs;
};

/// The sequences of a probe.
struct SkipProbe {
  enum : std::size_t { as_timed, changed, unchanged, few_changed, few_writes, kSequences };
  std::vector<CallSequence> sequences;  ///< In that order.
  std::size_t calls = 0;                ///< Of each.
};

/// Whether elements of an input may be exchanged one by one for those of another draw: not scales, which belong to
/// their codes, nor what is drawn as a whole, such as offsets or a permutation.
bool changes_by_element(const InputRecipe& input);

/// The elements of a tensor that lie together at its beginning: all of a dense one.
Elements elements_of(const PlanTensor& tensor, DeviceAddress at);

/// `call_us`: what a call takes; sequences of a device that measures are made long enough to resolve it. On a modelled
/// one there are single calls on the other case: the first in fresh buffers, the second in what it left.
SkipProbe make_skip_probe(std::span<const ProbedSet> sets, double call_us, bool modelled, std::uint64_t seed);

/// In how many rounds a device that measures takes the sequences.
inline constexpr int kProbeRounds = 9;

/// What the calls of measured sequences took, for the log.
std::string to_text(const SkipProbe& probe, std::span<const std::vector<SequenceCost>> rounds);

/// How work was skipped; nothing where none was. By round and sequence, as Device::time_sequences gives them. A
/// measured time must differ beyond 2 % and 0.1 us of a call in Student's 95 % interval over the rounds; modelled times
/// and counted instructions, which are exact for equal inputs, by more than 0.5 %.
std::optional<std::string> skipped_work(const SkipProbe& probe, std::span<const std::vector<SequenceCost>> rounds,
                                        bool modelled);

}  // namespace evo
