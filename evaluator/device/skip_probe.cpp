#include "evaluator/device/skip_probe.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "engine/base/rng.h"
#include "evaluator/base/statistics.h"
#include "evaluator/device/draws.h"

namespace evo {
namespace {

/// A sequence takes about so long. Events resolve half a microsecond, and a round is over before clocks swing.
constexpr double kSequenceUs = 250;
constexpr double kFewestCalls = 4, kMostCalls = 128;
/// Elements that change between two calls, of inputs and of outputs each.
constexpr std::size_t kFewElements = 32;
/// Tensors that are far apart in size get equally many; elements beyond this many bytes are changed in parts.
constexpr std::uint64_t kWidestElement = 8;

constexpr double kMargin = 0.02, kLeastUs = 0.1;
constexpr double kExactMargin = 0.005;
/// Between calls that follow at once and calls with a small kernel between, whose time is taken off: what both gain
/// from the caches and from starting early differs by less.
constexpr double kGapMargin = 0.25, kGapUs = 1.5;

DeviceWrite poisoned(DeviceAddress at, std::uint64_t bytes) {
  return {at, bytes, at, std::byte{0xff}};
}

DeviceWrite as_it_is(DeviceAddress at, std::uint64_t bytes) {
  return {at, bytes, at};
}

/// Single elements, drawn anew for each call.
class FewElements {
 public:
  FewElements(std::span<const Elements> of, Rng& rng) {
    for (std::size_t i = 0; !of.empty() && i < kFewElements; ++i) {
      const Elements& elements = of[i % of.size()];
      chosen_.push_back({&elements, rng.below(elements.count) * elements.bytes});
    }
  }

  std::vector<DeviceWrite> from_case(std::size_t number) const {
    std::vector<DeviceWrite> writes;
    for (const auto& [elements, offset] : chosen_)
      writes.push_back({elements->at + offset, elements->bytes, elements->from.at(number) + offset});
    return writes;
  }

  std::vector<DeviceWrite> poisoned() const {
    std::vector<DeviceWrite> writes;
    for (const auto& [elements, offset] : chosen_)
      writes.push_back(evo::poisoned(elements->at + offset, elements->bytes));
    return writes;
  }

 private:
  struct Chosen {
    const Elements* elements;
    std::uint64_t offset;
  };
  std::vector<Chosen> chosen_;
};

/// Both cases' inputs one after the other, so that the caches hold the same whichever is last.
CallStep whole_step(std::size_t set, const ProbedSet& buffers, std::size_t number, bool changes, Rng& rng) {
  CallStep step{set, {buffers.inputs[1 - number], buffers.inputs[number]}};
  for (const Elements& output : buffers.outputs) {
    const std::uint64_t bytes = output.count * output.bytes;
    step.writes.back().push_back(changes ? poisoned(output.at, bytes) : as_it_is(output.at, bytes));
  }
  step.writes.push_back(FewElements(buffers.changing, rng).from_case(changes ? 1 - number : number));
  return step;
}

template <typename T>
void append(std::vector<T>& to, const std::vector<T>& more) {
  to.insert(to.end(), more.begin(), more.end());
}

std::size_t calls_of(double call_us, std::size_t sets) {
  const double wanted = call_us > 0 ? std::ceil(kSequenceUs / call_us) : kMostCalls;
  const auto calls = static_cast<std::size_t>(std::clamp(wanted, kFewestCalls, kMostCalls));
  // Each half uses each set equally often.
  return (calls + 2 * sets - 1) / (2 * sets) * 2 * sets;
}

SkipProbe measured_probe(std::span<const ProbedSet> sets, double call_us, Rng rng) {
  SkipProbe probe;
  probe.calls = calls_of(call_us, sets.size());
  probe.sequences.resize(SkipProbe::kSequences);
  const std::size_t half = probe.calls / 2;
  std::vector<FewElements> first_half;
  for (std::size_t i = 0; i < probe.calls; ++i) {
    const std::size_t number = i % sets.size();
    const ProbedSet& set = sets[number];
    probe.sequences[SkipProbe::as_timed].push_back({number, {}});
    // The second half undoes what the first one has changed. Every sequence ends with the first case.
    const std::size_t of_half = i < half ? 1 : 0;
    probe.sequences[SkipProbe::unchanged].push_back(whole_step(number, set, of_half, false, rng));
    probe.sequences[SkipProbe::changed].push_back(whole_step(number, set, 1 - i / sets.size() % 2, true, rng));
    if (i < half) first_half.emplace_back(set.changing, rng);
    std::vector<DeviceWrite> few = first_half[i % half].from_case(of_half);
    append(few, FewElements(set.outputs, rng).poisoned());
    probe.sequences[SkipProbe::few_changed].push_back({number, {few}});
    probe.sequences[SkipProbe::few_writes].push_back({number, {std::move(few)}, false});
  }
  return probe;
}

/// Both calls meet inputs that no call has met before, and so the same work.
SkipProbe modelled_probe(std::span<const ProbedSet> sets) {
  SkipProbe probe;
  probe.calls = 1;
  probe.sequences.resize(SkipProbe::unchanged + 1);
  for (const std::size_t sequence : {SkipProbe::changed, SkipProbe::unchanged})
    probe.sequences[sequence].push_back({0, {sets.front().inputs[1]}});
  return probe;
}

/// Of each round.
std::vector<double> us_of(std::span<const std::vector<SequenceCost>> rounds, std::size_t sequence) {
  std::vector<double> us;
  for (const std::vector<SequenceCost>& round : rounds) us.push_back(round.at(sequence).us);
  return us;
}

std::vector<double> less(std::vector<double> from, const std::vector<double>& taken_off) {
  for (std::size_t i = 0; i < from.size(); ++i) from[i] -= taken_off[i];
  return from;
}

/// Whether the first takes longer by more than noise: the microseconds of a call.
std::optional<double> excess_us(const std::vector<double>& longer, const std::vector<double>& shorter, double margin,
                                double least_us, std::size_t calls) {
  const double us = (median_interval(longer).median - median_interval(shorter).median) / static_cast<double>(calls);
  if (us <= least_us || paired_ratio(longer, shorter, false).low <= 1 + margin) return std::nullopt;
  return us;
}

}  // namespace

bool changes_by_element(const InputRecipe& input) {
  if (input.is_computed || input.elements < 2) return false;
  switch (input.draw) {
    case DrawKind::automatic:
      return input.distribution != Distribution::sorted || !draws_integers(input.draw, input.dtype);
    case DrawKind::uniform:
    case DrawKind::normal:
    case DrawKind::non_negative:
    case DrawKind::integers:
    case DrawKind::indices:
    case DrawKind::bits:
      return input.distribution != Distribution::sorted;
    default:
      return false;
  }
}

Elements elements_of(const PlanTensor& tensor, DeviceAddress at) {
  std::uint64_t bytes = tensor.bytes;
  const std::uint64_t element = size_of(tensor.dtype);
  if (!tensor.strides.empty()) bytes = (tensor.strides.back() == 1 ? tensor.dims.back() : 1) * element;
  const std::uint64_t part = std::clamp<std::uint64_t>(element, 1, kWidestElement);
  return {at, bytes / part, part};
}

SkipProbe make_skip_probe(std::span<const ProbedSet> sets, double call_us, bool modelled, std::uint64_t seed) {
  return modelled ? modelled_probe(sets) : measured_probe(sets, call_us, Rng(seed));
}

std::string to_text(const SkipProbe& probe, std::span<const std::vector<SequenceCost>> rounds) {
  constexpr std::array<const char*, SkipProbe::kSequences> kNames = {"as timed", "changed", "unchanged", "few changed",
                                                                     "few writes"};
  std::string text = fmt::format("probe of {} calls:", probe.calls);
  for (std::size_t i = 0; i < std::min(probe.sequences.size(), kNames.size()); ++i)
    text += fmt::format(" {} {:.4g} us,", kNames[i],
                        median_interval(us_of(rounds, i)).median / static_cast<double>(probe.calls));
  const PairedRatio ratio = paired_ratio(us_of(rounds, SkipProbe::changed), us_of(rounds, SkipProbe::unchanged), false);
  return text + fmt::format(" changed over unchanged {:.4f} ({:.4f} to {:.4f})", ratio.ratio, ratio.low, ratio.high);
}

std::optional<std::string> skipped_work(const SkipProbe& probe, std::span<const std::vector<SequenceCost>> rounds,
                                        bool modelled) {
  if (rounds.empty()) return std::nullopt;
  if (modelled) {
    const SequenceCost& first = rounds.front().at(SkipProbe::changed);
    const SequenceCost& again = rounds.front().at(SkipProbe::unchanged);
    const auto exceeds = [](double a, double b) { return a > (1 + kExactMargin) * b; };
    if (!exceeds(first.us, again.us) &&
        !exceeds(static_cast<double>(first.instructions), static_cast<double>(again.instructions)))
      return std::nullopt;
    return fmt::format(
        "a second call on the same inputs takes {:.4g} us and {} instructions of warps, the first {:.4g} "
        "us and {}",
        again.us, again.instructions, first.us, first.instructions);
  }
  const std::vector<double> unchanged = us_of(rounds, SkipProbe::unchanged);
  const std::vector<double> changed = us_of(rounds, SkipProbe::changed);
  if (const auto us = excess_us(changed, unchanged, kMargin, kLeastUs, probe.calls))
    return fmt::format("a call takes {:.3g} us longer after its inputs changed and its outputs were poisoned", *us);
  const std::vector<double> as_timed = us_of(rounds, SkipProbe::as_timed);
  const std::vector<double> few = less(us_of(rounds, SkipProbe::few_changed), us_of(rounds, SkipProbe::few_writes));
  if (const auto us = excess_us(few, as_timed, kGapMargin, kGapUs, probe.calls))
    return fmt::format("a call takes {:.3g} us longer if a few inputs change before it, their writing taken off", *us);
  return std::nullopt;
}

}  // namespace evo
