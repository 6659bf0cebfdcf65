#include "engine/attack/attack_space.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <set>
#include <utility>

#include "engine/base/rounding.h"
#include "engine/record/enumerators.h"
#include "engine/task/task.h"

namespace evo {
namespace {

constexpr std::size_t kMostSteps = 5;
/// Inputs that are shifted so far apart have products whose sums are far from 0, also where they are short.
constexpr double kFarProducts = 150;
/// What one row of ones is larger by: the exponential of its sum of 16, 32, ... 256 products with ones, over the root
/// of their number, is then e^12.8 times that of the others. Many of these are as much together.
constexpr std::array<double, 5> kOutstanding = {4.2, 3.26, 2.6, 2.13, 1.8};
constexpr double kOneRow = 1e-5;
constexpr double kLargeInput = 1000;
constexpr std::size_t kMostPaired = 2;  ///< Pairs of so many inputs are tried.
/// Scales of codes take up any size. Beyond this a product of two inputs, a score of attention, is so large that no
/// arithmetic in f32 resolves differences of its exponentials.
constexpr double kMostScaled = 30;
constexpr double kLongSums = 0.25;  ///< Of attacks that could have any shape.

template <class T>
const T& any_of(const std::vector<T>& values, Rng& rng) {
  return values[rng.below(values.size())];
}

bool by_chance(double chance, Rng& rng) {
  return rng.unit() < chance;
}

/// Evenly in its logarithm.
double between(double low, double high, Rng& rng) {
  return low * std::pow(high / low, rng.unit());
}

double with_any_sign(double value, Rng& rng) {
  return by_chance(0.5, rng) ? -value : value;
}

/// What is found is read and pasted by people. The nearest double, which prints as few digits.
double rounded_to_digits(double value, int digits) {
  if (value == 0) return 0;
  const double place = std::floor(std::log10(std::fabs(value))) - (digits - 1);
  const double unit = std::pow(10.0, std::fabs(place));
  return place < 0 ? std::round(value * unit) / unit : std::round(value / unit) * unit;
}

double random_amount(StepKind kind, Rng& rng) {
  switch (kind) {
    case StepKind::scale:
      return between(1.0 / 64, 64, rng);
    case StepKind::shift:
      return with_any_sign(between(0.25, kLargestStepped / 4, rng), rng);
    case StepKind::heavy_tail:
      return between(1, 6, rng);
    case StepKind::scale_rows:
    case StepKind::scale_columns:
    case StepKind::scale_matrices:
      return between(0.5, 6, rng);
    case StepKind::shift_rows:
    case StepKind::shift_columns:
      return between(0.25, 1024, rng);
    case StepKind::rounded:
      return between(1.0 / 16, 4, rng);
    case StepKind::outliers:
    case StepKind::few_rows:
    case StepKind::first_rows:
    case StepKind::last_rows:
      return with_any_sign(between(2, 256, rng), rng);
    default:
      return between(1.0 / 64, 256, rng);
  }
}

/// Amounts at which faults show that show in one step at all, the most telling one first.
std::vector<double> telling_amounts(StepKind kind) {
  switch (kind) {
    case StepKind::scale:
      return {30, 1000, 8, 0.02};
    case StepKind::shift:
      return {-100'000, 1000, -1000, 100'000, 30, -30};
    case StepKind::heavy_tail:
      return {1, 2};
    case StepKind::scale_rows:
    case StepKind::scale_columns:
    case StepKind::scale_matrices:
      return {3};
    case StepKind::shift_rows:
      return {100'000, 30};
    case StepKind::shift_columns:
      return {30};
    case StepKind::rounded:
      return {1};
    case StepKind::growing_rows:
    case StepKind::growing_columns:
      return {30, 0.02};
    default:
      return {-30, 8};
  }
}

/// Of one sign, alike or growing: what is added grows. Signs that alternate are not among these: whether the parts of
/// a long sum grow then depends on the order, and honest orders differ.
bool makes_sums_grow(StepKind kind) {
  switch (kind) {
    case StepKind::positive:
    case StepKind::negative:
    case StepKind::constant_rows:
    case StepKind::constant_columns:
    case StepKind::growing_rows:
    case StepKind::growing_columns:
      return true;
    default:
      return false;
  }
}

std::vector<double> amounts_of(StepKind kind) {
  return members_of(kind).amount ? telling_amounts(kind) : std::vector<double>{1};
}

DrawStep step_of(StepKind kind, double amount, std::vector<std::string> tensors = {}) {
  return {.step = kind, .amount = amount, .share = 0.01, .tensors = std::move(tensors)};
}

template <class T>
void shuffle(std::vector<T>& values, Rng& rng) {
  for (std::size_t i = values.size(); i > 1; --i) std::swap(values[i - 1], values[rng.below(i)]);
}

std::vector<std::string> some_inputs(const AttackSpace& space, Rng& rng) {
  if (space.floats.size() < 2 || by_chance(0.3, rng)) return {};
  std::vector<std::string> some = {any_of(space.floats, rng)};
  if (const std::string& second = any_of(space.floats, rng); second != some.front() && by_chance(0.3, rng))
    some.push_back(second);
  return some;
}

DrawStep random_step(const AttackSpace& space, Rng& rng) {
  DrawStep step;
  do step.step = static_cast<StepKind>(rng.below(kEnumerators<StepKind>));
  while (step.step == StepKind::like && space.floats.size() < 2);
  const StepMembers members = members_of(step.step);
  if (members.amount) step.amount = rounded_to_digits(random_amount(step.step, rng), 3);
  if (members.share) step.share = rounded_to_digits(between(1.0 / 2048, 0.75, rng), 3);
  step.tensors = some_inputs(space, rng);
  if (members.like) {
    step.like = any_of(space.floats, rng);
    step.tensors.clear();
    for (const std::string& other : space.floats)
      if (other != step.like && (step.tensors.empty() || by_chance(0.5, rng))) step.tensors = {other};
  }
  return step;
}

/// Distributions that change integers, and that of ties where outputs are rounded: no step makes these.
std::vector<Regime> telling_distributions(const AttackSpace& space) {
  std::vector<Regime> regimes;
  const auto add = [&](Distribution distribution, double gain) {
    Regime& regime = regimes.emplace_back();
    regime.distribution = distribution;
    regime.gain = gain;
  };
  if (space.integers)
    for (const Distribution each :
         {Distribution::extremes, Distribution::max_magnitude, Distribution::all_equal, Distribution::sorted})
      add(each, 1);
  if (space.integers || space.rounded_to > 1) add(Distribution::ties, space.rounded_to);
  return regimes;
}

Distribution random_distribution(const AttackSpace& space, Rng& rng) {
  if (!space.integers && by_chance(0.7, rng)) return Distribution::normal;
  return static_cast<Distribution>(rng.below(kEnumerators<Distribution>));
}

std::size_t one_by_weight(const std::vector<double>& weights, Rng& rng) {
  double all = 0;
  for (const double weight : weights) all += weight;
  double left = rng.unit() * all;
  for (std::size_t i = 0; i < weights.size(); ++i)
    if ((left -= weights[i]) < 0) return i;
  return weights.size() - 1;
}

std::size_t random_shape(const AttackSpace& space, Rng& rng) {
  return one_by_weight(by_chance(kLongSums, rng) ? space.long_sums : space.shapes, rng);
}

void set_distribution(const AttackSpace& space, Regime& regime, Rng& rng) {
  regime.distribution = random_distribution(space, rng);
  regime.gain = regime.distribution == Distribution::normal || by_chance(0.3, rng)
                    ? 1
                    : rounded_to_digits(between(1.0 / 8, 64, rng), 3);
  if (regime.distribution == Distribution::ties) regime.gain = space.rounded_to;
  regime.tensors.clear();
  if (regime.distribution != Distribution::normal && !space.integers) regime.tensors = some_inputs(space, rng);
}

/// A step with another amount, share or inputs.
void change_step(const AttackSpace& space, DrawStep& step, Rng& rng) {
  const StepMembers members = members_of(step.step);
  const double factor = std::exp2(4 * rng.unit() - 2);
  if (members.share && (by_chance(0.4, rng) || !members.amount)) {
    step.share = std::clamp(rounded_to_digits(step.share * factor, 3), 1e-5, 1.0);
  } else if (members.amount && by_chance(0.75, rng)) {
    step.amount = std::clamp<double>(rounded_to_digits(step.amount * factor, 3), -kLargestStepped, kLargestStepped);
    if (step.step != StepKind::heavy_tail && step.step != StepKind::rounded && by_chance(0.1, rng))
      step.amount = -step.amount;
  } else if (!members.like) {
    step.tensors = some_inputs(space, rng);
  }
}

void mutate_steps(const AttackSpace& space, std::vector<DrawStep>& steps, Rng& rng) {
  const double choice = rng.unit();
  if (steps.empty() || (choice < 0.3 && steps.size() < kMostSteps)) {
    const auto place = static_cast<std::ptrdiff_t>(rng.below(steps.size() + 1));
    steps.insert(steps.begin() + place, random_step(space, rng));
  } else if (choice < 0.4) {
    steps.erase(steps.begin() + static_cast<std::ptrdiff_t>(rng.below(steps.size())));
  } else if (choice < 0.5) {
    steps[rng.below(steps.size())] = random_step(space, rng);
  } else if (choice < 0.55 && steps.size() > 1) {
    std::swap(steps[rng.below(steps.size())], steps[rng.below(steps.size())]);
  } else {
    change_step(space, steps[rng.below(steps.size())], rng);
  }
}

/// An amount that changes values less, or the same where it changes them little.
double milder(const DrawStep& step) {
  const double most = std::fabs(step.amount);
  switch (step.step) {
    case StepKind::heavy_tail:
      return most < 8 ? 2 * most : most;
    case StepKind::rounded:
      return step.amount;
    case StepKind::shift:
    case StepKind::shift_rows:
    case StepKind::shift_columns:
    case StepKind::scale_rows:
    case StepKind::scale_columns:
    case StepKind::scale_matrices:
      return most > 0.5 ? step.amount / 2 : step.amount;
    default: {
      const double one = std::copysign(1, step.amount);
      return most > 2 ? std::max(most / 4, std::sqrt(most)) * one
                      : (most < 0.5 ? std::min(most * 4, std::sqrt(most)) * one : step.amount);
    }
  }
}

/// With all inputs, rounder numbers, milder amounts.
std::vector<DrawStep> simpler_steps(const DrawStep& step) {
  std::vector<DrawStep> all;
  if (!step.tensors.empty() && step.step != StepKind::like) {
    all.push_back(step);
    all.back().tensors.clear();
  }
  const StepMembers members = members_of(step.step);
  for (const int digits : {1, 2}) {
    if (members.amount && rounded_to_digits(step.amount, digits) != step.amount) {
      all.push_back(step);
      all.back().amount = rounded_to_digits(step.amount, digits);
    }
    if (members.share && rounded_to_digits(step.share, digits) != step.share) {
      all.push_back(step);
      all.back().share = std::min(rounded_to_digits(step.share, digits), 1.0);
    }
  }
  if (const double amount = rounded_to_digits(milder(step), 2); members.amount && amount != step.amount) {
    all.push_back(step);
    all.back().amount = amount;
  }
  return all;
}

void keep_resolvable(const AttackSpace& space, Regime& regime) {
  if (!space.scaled) return;
  for (DrawStep& step : regime.steps) step.amount = std::clamp(step.amount, -kMostScaled, kMostScaled);
}

/// What evolution begins with.
struct Opening {
  Regime regime = {};
  bool long_sums = false;  ///< Tried where sums are longest.
};

Opening with_steps(std::vector<DrawStep> steps, bool long_sums = false) {
  Opening one;
  one.long_sums = long_sums;
  one.regime.steps = std::move(steps);
  return one;
}

/// All values are `size` with any sign.
Opening with_equal_sizes(double size, std::vector<std::string> tensors, std::vector<DrawStep> steps, bool long_sums) {
  Opening one = with_steps(std::move(steps), long_sums);
  one.regime.distribution = Distribution::max_magnitude;
  one.regime.gain = size;
  one.regime.tensors = std::move(tensors);
  return one;
}

/// Large numbers whose sums are exact, but for a bit less than half of the last bit of a sum, which is lost each time:
/// rows that begin with a few large numbers, as many of 2,048 as a warp has threads, and whole numbers everywhere.
std::vector<Opening> sums_that_lose_bits() {
  const DrawStep small = step_of(StepKind::shift, 0.03);
  return {with_equal_sizes(0.508, {},
                           {step_of(StepKind::positive, 1), step_of(StepKind::growing_columns, 0),
                            step_of(StepKind::rounded, 1), step_of(StepKind::scale, 1e6), small},
                           false),
          with_steps({step_of(StepKind::rounded, 1), step_of(StepKind::scale, 20'000), small})};
}

/// What a step makes of all inputs, for each kind of step, and rows of zeros; what single steps do not lead to: sums
/// that lose bits, inputs far away on one side or two on opposite ones, whose products are large and of one sign.
std::vector<Opening> first_steps(const AttackSpace& space) {
  std::vector<Opening> block = sums_that_lose_bits();
  for (std::size_t i = 0; i < kEnumerators<StepKind>; ++i)
    if (const auto kind = static_cast<StepKind>(i); !members_of(kind).like)
      block.push_back(with_steps({step_of(kind, amounts_of(kind).front())}, makes_sums_grow(kind)));
  const std::size_t inputs = space.floats.size();
  block.push_back(with_steps({step_of(StepKind::few_rows, 0)}));
  if (inputs > 1) block.push_back(with_steps({step_of(StepKind::shift, kFarProducts)}));
  for (std::size_t i = 0; i + (inputs > 2 ? 0 : 1) < inputs; ++i)
    block.push_back(with_steps({step_of(StepKind::shift, kFarProducts, {space.floats[i]}),
                                step_of(StepKind::shift, -kFarProducts, {space.floats[(i + 1) % inputs]})}));
  return block;
}

/// Large values of one input, and one like another.
std::vector<Opening> on_one_input(const AttackSpace& space) {
  std::vector<Opening> block;
  for (const std::string& input : space.floats) {
    if (space.floats.size() > 1)
      for (const StepKind kind : {StepKind::scale, StepKind::shift})
        block.push_back(with_steps({step_of(kind, kLargeInput, {input})}));
    for (const std::string& other : space.floats)
      if (other != input) block.push_back(with_steps({{.step = StepKind::like, .tensors = {input}, .like = other}}));
  }
  return block;
}

/// One row of an input stands out of products with another, by so much that all others together still count.
std::vector<Opening> outstanding_rows(const AttackSpace& space) {
  std::vector<Opening> block;
  const std::size_t inputs = std::min(space.floats.size(), kMostPaired);
  for (std::size_t i = 0; i < inputs; ++i)
    for (std::size_t j = 0; j < inputs; ++j)
      for (const double amount : kOutstanding) {
        if (i == j) break;
        const std::vector<std::string> both = {space.floats[i], space.floats[j]};
        DrawStep one_row = step_of(StepKind::few_rows, amount, {both.front()});
        one_row.share = kOneRow;
        block.push_back(with_equal_sizes(1, both, {step_of(StepKind::positive, 1, both), one_row}, true));
      }
  return block;
}

std::vector<Opening> other_amounts(const AttackSpace& space) {
  std::vector<Opening> block;
  std::vector<std::vector<std::string>> some = {{}};
  for (const std::string& input : space.floats)
    if (space.floats.size() > 1) some.push_back({input});
  for (const std::vector<std::string>& inputs : some)
    for (std::size_t i = 0; i < kEnumerators<StepKind>; ++i) {
      const auto kind = static_cast<StepKind>(i);
      if (members_of(kind).like) continue;
      for (const double amount : amounts_of(kind))
        if (!inputs.empty() || amount != amounts_of(kind).front())
          block.push_back(with_steps({step_of(kind, amount, inputs)}));
    }
  return block;
}

}  // namespace

AttackSpace attack_space(const Task& task, const Bindings& options, std::vector<double> shapes,
                         std::vector<double> long_sums) {
  AttackSpace space;
  space.shapes = std::move(shapes);
  space.long_sums = std::move(long_sums);
  std::set<std::string> computed;
  bool zero_points = false;
  for (const Tensor& tensor : task.inputs) {
    computed.insert({tensor.scale, tensor.zero_point});
    zero_points = zero_points || !tensor.zero_point.empty();
  }
  for (const Tensor& tensor : drawn_tensors(task)) {
    if (!is_present(tensor, options) || computed.contains(tensor.name)) continue;
    const DType dtype = dtype_of(tensor, options);
    if (draws_whole_numbers(tensor, dtype)) {
      space.integers = true;
    } else if (tensor.draw.kind == DrawKind::automatic) {
      space.floats.push_back(tensor.name);
      space.scaled = space.scaled || !tensor.scale.empty();
    }
  }
  space.unit_scales = space.scaled && !zero_points;
  for (const Tensor& output : task.outputs)
    if (is_present(output, options))
      space.rounded_to = std::max(space.rounded_to, greatest_rounded_to(dtype_of(output, options)));
  return space;
}

std::vector<Attack> opening_attacks(const AttackSpace& space, Rng& rng) {
  std::vector<Attack> attacks;
  const auto add = [&](std::vector<Opening> block) {
    shuffle(block, rng);
    for (Opening& one : block) {
      keep_resolvable(space, one.regime);
      attacks.push_back({one_by_weight(one.long_sums ? space.long_sums : space.shapes, rng), std::move(one.regime)});
    }
  };
  for (const Regime& regime : telling_distributions(space))
    attacks.push_back({.shape = one_by_weight(space.shapes, rng), .regime = regime});
  if (!space.floats.empty()) add(first_steps(space));
  for (std::size_t shape = 0; shape < space.shapes.size(); ++shape) attacks.push_back({shape, {}});
  if (space.floats.empty()) return attacks;
  for (std::vector<Opening> block : {on_one_input(space), outstanding_rows(space), other_amounts(space)})
    add(std::move(block));
  return attacks;
}

Attack random_attack(const AttackSpace& space, Rng& rng) {
  Attack attack;
  attack.shape = random_shape(space, rng);
  set_distribution(space, attack.regime, rng);
  if (!space.floats.empty()) {
    attack.regime.steps.push_back(random_step(space, rng));
    if (by_chance(0.5, rng)) attack.regime.steps.push_back(random_step(space, rng));
  }
  attack.regime.unit_scales = space.unit_scales && by_chance(0.2, rng);
  keep_resolvable(space, attack.regime);
  return attack;
}

Attack mutated(const AttackSpace& space, const Attack& parent, Rng& rng) {
  Attack child = parent;
  while (child == parent) {
    const double choice = rng.unit();
    if (choice < 0.15) {
      child.shape = random_shape(space, rng);
    } else if (choice < 0.25 || space.floats.empty()) {
      set_distribution(space, child.regime, rng);
      if (space.floats.empty() && space.shapes.size() < 2) break;
    } else if (choice < 0.3 && space.unit_scales) {
      child.regime.unit_scales = !child.regime.unit_scales;
    } else {
      mutate_steps(space, child.regime.steps, rng);
    }
    keep_resolvable(space, child.regime);
  }
  return child;
}

Attack crossed(const Attack& one, const Attack& other, Rng& rng) {
  Attack child = one;
  std::vector<DrawStep>& steps = child.regime.steps;
  for (const DrawStep& step : other.regime.steps)
    if (steps.size() < kMostSteps && by_chance(0.6, rng)) steps.push_back(step);
  return child;
}

std::vector<Attack> simpler(const Attack& attack) {
  std::vector<Attack> all;
  const auto with = [&](auto change) {
    Attack one = attack;
    change(one.regime);
    if (one != attack) all.push_back(std::move(one));
  };
  for (std::size_t i = 0; i < attack.regime.steps.size(); ++i)
    with([&](Regime& regime) { regime.steps.erase(regime.steps.begin() + static_cast<std::ptrdiff_t>(i)); });
  with([](Regime& regime) { regime.unit_scales = false; });
  with([](Regime& regime) {
    regime.distribution = Distribution::normal;
    regime.gain = 1;
    regime.tensors.clear();
  });
  with([](Regime& regime) { regime.gain = 1; });
  with([](Regime& regime) { regime.tensors.clear(); });
  with([](Regime& regime) { regime.gain = rounded_to_digits(regime.gain, 1); });
  for (std::size_t i = 0; i < attack.regime.steps.size(); ++i)
    for (const DrawStep& step : simpler_steps(attack.regime.steps[i]))
      with([&](Regime& regime) { regime.steps[i] = step; });
  return all;
}

}  // namespace evo
