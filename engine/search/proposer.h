#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/search/proposed_templates.h"
#include "engine/search/share_bandit.h"
#include "engine/strategy/strategy.h"

namespace evo {

/// The operators of proposals that are a proposer's: of kernels made by edits (engine/edits), and of all others.
inline constexpr const char* kProposerOperator = "proposer";
inline constexpr const char* kEditOperator = "edit";
inline bool is_proposers(std::string_view op) {
  return op == kProposerOperator || op == kEditOperator;
}

/// A proposal from outside the search.
struct Proposed {
  Genome genome;
  std::vector<std::uint64_t> parents;  ///< Tickets of valid answers.
  SourceTree files = {};               ///< New templates: an allele of a slot, or a kernel with its plan.
  std::string note = {};               ///< Why it was proposed, in the proposer's words.
  /// The exchange with a language model that it comes from, as the archive numbers them; 0: none.
  std::int64_t exchange = 0;
};

/// A second source of genomes besides the strategy. Implementations: a process that speaks JSON, fakes.
class Proposer {
 public:
  virtual ~Proposer() = default;
  /// Empty when there is no proposal now. Faults of the outside never throw.
  virtual std::optional<Proposed> next() = 0;
  /// Whether it returned nothing because the search is to end: the caller then stops asking.
  virtual bool interrupted() const { return false; }
  /// Whether the search ends with its proposals: the strategy is then not asked.
  virtual bool alone() const { return false; }
  /// Whether it goes on where the strategy has proposed all that it can, and may have more after each answer.
  virtual bool goes_on() const { return false; }
  /// A candidate of this ticket that was valid has turned out to be wrong.
  virtual void retracted(std::uint64_t /*ticket*/) {}
  /// Reports why a proposal was not taken. A refusal costs no evaluation.
  virtual void refused(const Proposed& proposed, const std::string& why) = 0;
};

/// The proposals that a resumed run had from a proposer before. They are taken again without asking the proposer.
struct RecordedProposals {
  std::uint64_t tickets = 0;                ///< Tickets below this one were answered.
  std::map<std::uint64_t, Genome> genomes;  ///< By ticket.
};

/// `strategy`, with up to a share of the proposals from `proposer`, under its operators. Without a proposer
/// (null) only recorded ones are taken. The strategy learns from proposals that are genomes of its space as
/// from its own. It does not see those with new templates, which `templates` keeps. Refused are illegal genomes,
/// genomes that were asked before, and templates that cannot be admitted. An answer has brought something when it is
/// one of the kEliteCount best so far.
std::unique_ptr<Strategy> make_proposed(std::unique_ptr<Strategy> strategy, const Space& space, Proposer* proposer,
                                        ProposerShare share, ProposedTemplates& templates, RecordedProposals recorded);

}  // namespace evo
