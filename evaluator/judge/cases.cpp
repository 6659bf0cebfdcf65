#include "evaluator/judge/cases.h"

#include <algorithm>
#include <utility>

#include "engine/base/rng.h"
#include "engine/device/device_kind.h"
#include "engine/task/floor.h"
#include "evaluator/base/random.h"
#include "evaluator/device/constants.h"
#include "evaluator/judge/made_inputs.h"

namespace evo {
namespace {

/// No cache holds inputs of this size from one call to the next, so a second set of buffers is of no use.
constexpr std::uint64_t kRotatedBytes = 128 << 20;

/// Regime and seed of one case of a shape.
struct Draw {
  std::size_t regime = 0;
  std::uint64_t seed = 0;
  friend bool operator==(const Draw&, const Draw&) = default;
};

/// The regime in which wrong or skipped work shows most: the largest gain among scaled normals and spikes.
std::size_t most_telling(const std::vector<Regime>& regimes) {
  std::size_t best = 0;
  double best_gain = 1.0;
  for (std::size_t i = 0; i < regimes.size(); ++i) {
    const bool scaled =
        regimes[i].distribution == Distribution::normal || regimes[i].distribution == Distribution::spikes;
    // A scaled normal is preferred: it peaks everywhere, spikes only in one row.
    const double gain = regimes[i].gain + (regimes[i].distribution == Distribution::normal ? 100.0 : 0.0);
    if (scaled && regimes[i].gain > 1.0 && gain > best_gain) {
      best = i;
      best_gain = gain;
    }
  }
  return best;
}

std::vector<std::size_t> regime_order(const std::vector<Regime>& regimes, std::size_t shape_number) {
  std::vector<std::size_t> order = {0};
  if (const std::size_t telling = most_telling(regimes); telling != 0) order.push_back(telling);
  std::vector<std::size_t> others;
  for (std::size_t i = 1; i < regimes.size(); ++i) {
    if (i != order.back()) others.push_back(i);
  }
  // Shapes that cannot pay for all of them see different ones.
  if (!others.empty()) {
    std::rotate(others.begin(), others.begin() + static_cast<std::ptrdiff_t>(shape_number * 2 % others.size()),
                others.end());
  }
  order.insert(order.end(), others.begin(), others.end());
  return order;
}

/// Seeds x regimes, every regime once before any comes again; the first draw is the first regime with seed 0.
std::vector<Draw> covering_order(const std::vector<Regime>& all, std::uint64_t seeds, std::size_t shape_number) {
  const std::vector<std::size_t> regimes = regime_order(all, shape_number);
  std::vector<Draw> order;
  for (std::uint64_t pass = 0; pass < seeds; ++pass) {
    for (std::size_t i = 0; i < regimes.size(); ++i) order.push_back({regimes[i], (pass + i) % seeds});
  }
  return order;
}

std::size_t affordable(double work, double part, std::size_t all) {
  const double count = part / std::max(work, 1.0);
  return count >= static_cast<double>(all) ? all : static_cast<std::size_t>(std::max(count, 2.0));
}

/// The timed shapes come first so that a shape named twice is counted once.
std::vector<Shape> shapes_of(const Target& target) {
  std::vector<Shape> shapes = target.timed;
  for (const Shape& shape : target.validated) {
    if (std::ranges::none_of(shapes, [&](const Shape& known) { return known.name == shape.name; }))
      shapes.push_back(shape);
  }
  return shapes;
}

void shuffle(std::vector<Case>& cases, std::uint64_t salt) {
  Rng rng(mix(salt, "case order"));
  for (std::size_t i = cases.size(); i > 1; --i) std::swap(cases[i - 1], cases[rng.below(i)]);
}

std::size_t index_of(const std::vector<Case>& cases, const Shape& shape, const Regime& regime, std::uint64_t seed) {
  const auto found = std::ranges::find_if(cases, [&](const Case& one) {
    return one.shape.name == shape.name && one.regime.name == regime.name && one.seed == seed;
  });
  return static_cast<std::size_t>(found - cases.begin());
}

/// A case with other inputs than those that are timed first: one of the rotation where it has several.
std::optional<std::size_t> other_case(const std::vector<Case>& cases, const TimedShape& timed) {
  if (timed.rotation.size() > 1) return timed.rotation.back();
  for (std::size_t i = 0; i < cases.size(); ++i) {
    if (cases[i].shape.name == timed.shape.name && i != timed.rotation.front()) return i;
  }
  return std::nullopt;
}

class Planner {
 public:
  Planner(const Task& task, const Target& target, std::string_view kind, std::uint64_t salt)
      : task_(task),
        target_(target),
        regimes_(task.regimes_of(target.objective)),
        kind_(kind_named(kind)),
        salt_(salt),
        shapes_(shapes_of(target)) {
    for (const Shape& shape : shapes_) work_.push_back(work_of(task, target.options, shape, kind_));
    cheapest_ = static_cast<std::size_t>(std::ranges::min_element(work_) - work_.begin());
  }

  CasePlan plan() {
    CasePlan plan;
    for (std::size_t i = 0; i < shapes_.size(); ++i) add_shape(plan.cases, i);
    shuffle(plan.cases, salt_);
    plan.smoke = index_of(plan.cases, shapes_[cheapest_], regimes_.front(), 0);
    for (const Shape& shape : target_.timed) {
      TimedShape timed;
      timed.shape = shape;
      for (std::uint64_t seed = 0; seed < sets(shape); ++seed) {
        timed.rotation.push_back(index_of(plan.cases, shape, regimes_.front(), seed));
      }
      // On a repeatable device only what a kernel reads from earlier runs can differ, and the cheapest case shows that.
      // A GPU schedules blocks anew each time, and the size that is timed shows that best.
      plan.repeated.push_back(kind_.repeatable ? plan.smoke : timed.rotation.front());
      timed.afterwards = other_case(plan.cases, timed);
      plan.timed.push_back(std::move(timed));
    }
    plan.repeated.push_back(plan.smoke);
    std::ranges::sort(plan.repeated);
    plan.repeated.erase(std::ranges::unique(plan.repeated).begin(), plan.repeated.end());
    return plan;
  }

 private:
  /// How many sets of buffers timing alternates between. Modelled times do not depend on them.
  std::uint64_t sets(const Shape& shape) const {
    const CaseRecipe one = make_recipe(task_, target_.options, shape, regimes_.front(), 0, salt_);
    if (kind_.modelled || input_bytes(one) > kRotatedBytes) return 1;
    return std::min<std::uint64_t>(2, static_cast<std::uint64_t>(task_.seeds));
  }

  void add_shape(std::vector<Case>& cases, std::size_t number) {
    std::vector<Draw> order = covering_order(regimes_, static_cast<std::uint64_t>(task_.seeds), number);
    const double part = kind_.grid_work / static_cast<double>(shapes_.size());
    std::size_t count = affordable(work_[number], part, order.size());
    const std::size_t covering = std::max(regimes_.size(), static_cast<std::size_t>(task_.seeds));
    if (number == cheapest_) count = std::max(count, std::min(covering, order.size()));
    order.resize(std::min(count, order.size()));
    if (is_timed(shapes_[number])) {
      for (std::uint64_t seed = 0; seed < sets(shapes_[number]); ++seed) {
        if (std::ranges::find(order, Draw{0, seed}) == order.end()) order.push_back({0, seed});
      }
    }
    for (const Draw& draw : order) {
      const Regime& regime = regimes_[draw.regime];
      cases.push_back({shapes_[number], regime, draw.seed,
                       recipe_of_case(task_, target_.options, shapes_[number], regime, draw.seed, salt_)});
    }
  }

  bool is_timed(const Shape& shape) const {
    return std::ranges::any_of(target_.timed, [&](const Shape& timed) { return timed.name == shape.name; });
  }

  const Task& task_;
  const Target& target_;
  std::vector<Regime> regimes_;  ///< Of the target's objective.
  const DeviceKind& kind_;
  std::uint64_t salt_;
  std::vector<Shape> shapes_;
  std::vector<double> work_;
  std::size_t cheapest_ = 0;
};

}  // namespace

std::span<const std::size_t> rotation_of(const TimedShape& timed, const Plan& plan) {
  const std::span all(timed.rotation);
  return constants_hold_inputs(plan) ? all.first(std::min<std::size_t>(all.size(), 1)) : all;
}

bool has_large_inputs(const CasePlan& plan, std::uint64_t bytes) {
  return bytes > 0 &&
         std::ranges::any_of(plan.cases, [&](const Case& one) { return input_bytes(one.recipe) >= bytes; });
}

CasePlan plan_cases(const Task& task, const Target& target, std::string_view device_kind, std::uint64_t salt) {
  return Planner(task, target, device_kind, salt).plan();
}

std::vector<Case> more_cases(const Task& task, const Target& target, const Case& one, std::uint64_t salt, int count) {
  std::vector<Case> cases;
  for (int i = 0; i < count; ++i) {
    const auto seed = static_cast<std::uint64_t>(task.seeds + i);
    cases.push_back(
        {one.shape, one.regime, seed, recipe_of_case(task, target.options, one.shape, one.regime, seed, salt)});
  }
  return cases;
}

}  // namespace evo
