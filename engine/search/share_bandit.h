#pragma once

namespace evo {

/// How much of the evaluations may be a proposer's, from 0 to 1. Where the ends differ, what its proposals bring
/// decides (engine/search/share_bandit.h).
struct ProposerShare {
  double most = 0;
  double least = most;
};

/// Decides how much of a search's evaluations a second source of genomes gets. Each answer is a draw of its source,
/// which brought something or did not. The share lies between the two ends by the probability that the second source
/// brings something more often (probability matching, Thompson 1933). Older answers weigh less, because it becomes
/// harder to bring something.
class ShareBandit {
 public:
  explicit ShareBandit(ProposerShare share) : share_(share) {}

  enum class Source { strategy, proposer };
  void tell(Source source, bool brought);

  /// From share.least to share.most. In the middle while nothing is known.
  double share() const;

 private:
  struct Draws {
    double brought = 0;
    double all = 0;
  };

  ProposerShare share_;
  Draws strategy_;
  Draws proposer_;
};

}  // namespace evo
