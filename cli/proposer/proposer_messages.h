#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "cli/proposer/line_share.h"
#include "engine/result/evaluation.h"
#include "engine/search/proposer.h"
#include "engine/task/candidate.h"
#include "engine/task/task.h"
#include "evaluator/device/device.h"
#include "population/store/records.h"

namespace evo::cli {

/// What a proposer knows of a candidate beside its evaluation.
struct ProposedBy {
  std::string model = {};  ///< A language model; empty: none.
  std::string patch = {};  ///< The edits that made it, as JSON; empty: none.
};

/// The state of a run that a proposer is told, beyond its task.
struct ProposerBriefing {
  std::optional<DeviceInfo> rates = {};   ///< Peak rates of the device, for the floors; empty: they are unknown.
  std::vector<std::string> lessons = {};  ///< Of earlier runs, a sentence each.
  std::function<Candidate(const Genome&)> build = {};  ///< For the sources of elites; may be empty.
  LineShareOf line_shares = {};                        ///< Where the best one spends its time; may be empty.
};

/// The lines that a proposer reads (docs/proposer.md).
class ProposerMessages {
 public:
  /// `files`: the task's.
  ProposerMessages(const Task& task, const Target& target, const Space& space, const DeviceInfo& device,
                   const SourceTree& files, ProposerBriefing briefing);
  ~ProposerMessages();
  ProposerMessages(ProposerMessages&&) noexcept;

  /// The first line.
  const std::string& greeting() const { return greeting_; }

  /// Adds an evaluation to what the next question reports.
  void observe(const Proposal& proposal, const Evaluation& evaluation, const ProposedBy& by = {});
  /// Adds a refusal: why a proposal was not taken.
  void refused(nlohmann::ordered_json refusal);

  /// Those since the last question.
  const std::vector<nlohmann::ordered_json>& refusals() const;

  /// The line that asks for proposals. Each refusal is in one only. `spent`: by the exchanges so far.
  std::string question(const ExchangeSums& spent);

  /// Of a valid candidate. Throws usage_error for another ticket.
  const Genome& genome_of(std::uint64_t ticket) const;
  /// What its templates become. Throws usage_error where that differs between shapes.
  std::string rendered_source(const Genome& genome) const;

 private:
  struct Known;  // the evaluations so far

  std::string greeting_;
  std::unique_ptr<Known> known_;
};

}  // namespace evo::cli
