#pragma once

#include <cstddef>
#include <string_view>

namespace evo {

/// The parameters of the strategy `evolve`. The defaults serve all spaces; other values are for ablation studies
/// (docs/studies/search.md).
struct EvolveTuning {
  std::size_t founders = 10;     ///< Random genomes that open the search; more of them until the first answer.
  std::size_t spread = 256;      ///< Random draws for each founder; the one farthest from the others is taken.
  double good_share = 0.5;       ///< Part of the valid answers that is distinguished; the rest counts as equally slow.
  double failure = 2;            ///< The log latency of a failure, in units of the slowest that is distinguished.
  double exploration = 1.1;      ///< Spreads of the trees subtracted from their mean: the weight of exploration.
  double fit_every = 0.05;       ///< Answers between two fits, as a part of those that the forest learns from.
  std::size_t memory = 512;      ///< Answers that the forest learns from at most: half of them the best.
  std::size_t turns = 6;         ///< One ask in this many goes to a family that does not lead; 0: none does.
  std::size_t bred = 4;          ///< Best genomes of each family whose neighbours enter the pool.
  std::size_t immigrants = 300;  ///< Random genomes in the pool.
  double even = 0.5;             ///< Part of these whose alleles are drawn evenly, not the genomes.
  std::size_t beside = 50;       ///< Answers without progress after which neighbours of the best go first; 0: never.
  double steer = 0;              ///< Weight of the time that an offspring takes from what bounds its parent; 0: none.
  double patience = 3.5;         ///< Answers without progress, for each bit of the number of genomes, after which
                                 ///< another climb begins; 0: never.
  std::size_t trees = 16;        ///< Trees of the forest.
  std::size_t tries = 8;         ///< Random splits compared at each of its nodes.
  double pairs = 0.4;            ///< Part of the tries that split by a product or quotient of two genes.
};

/// "founders=6:spread=1": the defaults with these changed. Throws usage_error listing the names.
EvolveTuning parse_evolve_tuning(std::string_view text);

}  // namespace evo
