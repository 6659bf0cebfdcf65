#pragma once

#include <cstddef>
#include <string_view>

namespace evo {

/// The figures of the strategy `evolve`. One set serves all spaces; others exist for ablation:
/// docs/results/search.md says what each bought.
struct EvolveTuning {
  std::size_t founders = 10;     ///< Random genomes that open the search.
  std::size_t spread = 16;       ///< Draws for each founder, of which the one farthest from the others is asked.
  double good_share = 0.5;       ///< Of the valid answers; the rest counts as equally slow.
  double failure = 2;            ///< What a failure counts as, in terms of the slowest that is told apart.
  double exploration = 1.1;      ///< Spreads between the trees that an unknown genome is given as credit.
  double fit_every = 0.05;       ///< Of what the forest learns from: so many answers between two fits.
  std::size_t memory = 512;      ///< Answers that it learns from: the best half, and some of the others.
  std::size_t turns = 6;         ///< One ask of so many goes to a family that does not lead; 0: none does.
  std::size_t bred = 4;          ///< The best of a family, whose neighbours are all considered at each fit,
  std::size_t immigrants = 300;  ///< and so many random genomes.
  std::size_t beside = 50;       ///< Answers without progress after which neighbours of the best go first,
  std::size_t patience = 100;    ///< and after which another climb begins; 0: never.
  std::size_t trees = 16;        ///< Of the forest.
  std::size_t tries = 8;         ///< Random splits compared at each of its nodes.
  double pairs = 0.4;            ///< Of these: a product or quotient of two genes.
};

/// "founders=6:spread=1": the defaults with these changed. Throws usage_error listing the names.
EvolveTuning parse_evolve_tuning(std::string_view text);

}  // namespace evo
