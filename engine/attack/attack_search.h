#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/attack/attack_space.h"

namespace evo {

/// An attack with what came of it.
struct Attacked {
  Attack attack;
  /// The error over its limit; 0 for inputs that say nothing: those on which honest arithmetic errs as much.
  double error = 0;
};

/// A (mu + lambda) evolution strategy that looks for the attack of the largest error over its limit. Deterministic: the
/// same seed, space and answers give the same attacks.
class AttackSearch {
 public:
  AttackSearch(AttackSpace space, std::uint64_t seed);

  /// The next generation. The first are single steps.
  std::vector<Attack> ask();
  void tell(const std::vector<Attacked>& generation);

 private:
  Attack next();
  Attack opening();
  const Attack& parent();

  AttackSpace space_;
  Rng rng_;
  std::vector<Attack> opening_;
  std::size_t asked_ = 0;       ///< Of all.
  std::size_t opened_ = 0;      ///< Of the opening.
  std::vector<Attacked> best_;  ///< At most mu, the largest error first.
};

}  // namespace evo
