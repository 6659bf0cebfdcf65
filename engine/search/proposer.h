#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/search/proposed_templates.h"
#include "engine/strategy/strategy.h"

namespace evo {

/// What somebody outside of the search proposes.
struct Proposed {
  Genome genome;
  std::vector<std::uint64_t> parents;  ///< Tickets of valid answers.
  SourceTree files = {};               ///< Templates that it brings: a new allele of a slot, or a kernel with its plan.
};

/// Somebody who proposes genomes beside a strategy. Implementations: a process that speaks JSON, fakes.
class Proposer {
 public:
  virtual ~Proposer() = default;
  /// Empty when there is nothing to propose now. Never throws for what is wrong outside.
  virtual std::optional<Proposed> next() = 0;
  /// Whether it proposed nothing because the search is to end: then nobody is asked any more.
  virtual bool interrupted() const { return false; }
  /// Told why a proposal was not taken. It cost no evaluation.
  virtual void refused(const Proposed& proposed, const std::string& why) = 0;
};

/// The proposals that a run had from a proposer before it was resumed: they are taken again, and nobody is
/// asked.
struct RecordedProposals {
  std::uint64_t tickets = 0;                ///< Those below were told.
  std::map<std::uint64_t, Genome> genomes;  ///< By ticket.
};

/// `strategy`, with up to `share` of the proposals from `proposer` (null: none but recorded ones): operator
/// "proposer". The strategy learns from those of its space as from its own; of others, which have templates
/// that a proposer brought (`templates`), it is not told. Illegal genomes, those asked before, and templates
/// that are not admitted are refused.
std::unique_ptr<Strategy> make_proposed(std::unique_ptr<Strategy> strategy, const Space& space, Proposer* proposer,
                                        double share, ProposedTemplates& templates, RecordedProposals recorded);

}  // namespace evo
