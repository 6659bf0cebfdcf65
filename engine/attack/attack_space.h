#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "engine/base/rng.h"
#include "engine/task/task.h"

namespace evo {

/// Inputs that a kernel may be attacked with.
struct AttackSpace {
  std::vector<std::string> floats;  ///< Inputs that regimes draw as floats, codes with scales among them.
  bool scaled = false;              ///< Some have scales.
  bool unit_scales = false;         ///< Their scales may be 1 (Regime::unit_scales).
  bool integers = false;            ///< Integers are drawn, too.
  double rounded_to = 1;            ///< The gain of the regime `ties`; 1: no output is rounded.
  /// How often each shape is tried, relative to the others; at least one shape.
  std::vector<double> shapes;
  /// The same for attacks on long sums; at least one is not 0.
  std::vector<double> long_sums;
};

/// One attack: a shape by its number, and how the inputs are drawn.
struct Attack {
  std::size_t shape = 0;
  Regime regime;
  bool operator==(const Attack&) const = default;
};

/// What the inputs of a task under these options leave open, for so many shapes of these weights.
AttackSpace attack_space(const Task& task, const Bindings& options, std::vector<double> shapes,
                         std::vector<double> long_sums);

/// What is tried before anything evolves, block after block: what distributions make of integers and of ties; one step
/// of each kind on all inputs, and what single steps do not lead to; ordinary inputs at each shape, since an index may
/// be too narrow for one; large values of one input, and inputs like others; single rows that stand out of products;
/// other amounts, and all on single inputs. What makes sums grow is tried where these are longest.
std::vector<Attack> opening_attacks(const AttackSpace& space, Rng& rng);
/// One or two steps on normal values, or another distribution.
Attack random_attack(const AttackSpace& space, Rng& rng);
/// With one thing changed: a step added, dropped, moved in its amount or turned into another, its inputs, the
/// distribution, the shape.
Attack mutated(const AttackSpace& space, const Attack& parent, Rng& rng);
/// Steps of both, the rest of one.
Attack crossed(const Attack& one, const Attack& other, Rng& rng);

/// The attacks that are one thing simpler, the simplest first: without a step, with the plain distribution, with
/// rounder numbers, with all inputs instead of some.
std::vector<Attack> simpler(const Attack& attack);

}  // namespace evo
