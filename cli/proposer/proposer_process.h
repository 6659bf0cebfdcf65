#pragma once

#include <deque>
#include <functional>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "cli/proposer/line_process.h"
#include "cli/proposer/proposer_messages.h"
#include "engine/search/proposer.h"
#include "population/store/records.h"

namespace evo::cli {

struct ProposerOptions {
  std::string command = {};                   ///< For /bin/sh.
  std::vector<std::string> evo = {};          ///< Instead: the arguments of this program.
  std::string answer = {};                    ///< Instead of a process: all that it proposes, as it would answer it.
  std::vector<std::string> environment = {};  ///< "NAME=value", for its process alone.
  double deadline_s = 10;                     ///< For each answer.
  std::function<bool()> ends = {};  ///< Whether the search is to end: waiting for an answer then stops. May be empty.
  ExchangeSums spent = {};          ///< Of the run that is resumed.
};

/// A process that proposes genomes, alleles and kernels. It speaks JSON lines on its standard input and output
/// (docs/proposer.md). When it ends, misses a deadline or answers something else, a line on standard error says it and
/// the process is started again; after kMaxFailures failures, or when it says that it is done, it is not asked any
/// more. The process and its children end with this one.
class ProposerProcess : public Proposer {
 public:
  /// `space` and `templates` must outlive it.
  ProposerProcess(ProposerOptions options, std::string task, const Space& space, const ProposedTemplates& templates,
                  ProposerMessages messages);

  /// Keeps an exchange with a language model, and gives its number. Without it none is kept.
  void keep_exchanges(std::function<std::int64_t(const ExchangeRecord&)> keep) { keep_exchange_ = std::move(keep); }

  /// Adds an evaluation to what the next question reports.
  void observe(const Proposal& proposal, const Evaluation& evaluation);

  std::optional<Proposed> next() override;
  bool interrupted() const override { return interrupted_; }
  bool alone() const override { return given_; }
  void refused(const Proposed& proposed, const std::string& why) override;

  /// Of a line that the process answers. A proposal that cannot be read is refused in the next question. Throws
  /// LineFailure, and exceptions of JSON, for what is no answer.
  std::vector<Proposed> read_proposals(const std::string& line);

  /// What was refused since the last question, each as JSON.
  std::vector<std::string> refusals() const;

  static constexpr int kMaxFailures = 3;

 private:
  std::vector<Proposed> ask();
  /// Throws when it cannot be read.
  Proposed read_proposal(const nlohmann::ordered_json& item);
  /// The kernel that a patch makes.
  ProposedFiles patched(const Genome& genome, const nlohmann::ordered_json& patch) const;
  std::string model_of(std::int64_t exchange) const;
  /// The numbers of an answer's exchanges, by those that the process gave them.
  std::map<std::int64_t, std::int64_t> keep_exchanges_of(const nlohmann::ordered_json& answer);

  std::string task_;
  const Space& space_;
  const ProposedTemplates& templates_;
  ProposerMessages messages_;
  ExchangeSums spent_;
  std::function<std::int64_t(const ExchangeRecord&)> keep_exchange_;
  LineProcess process_;
  std::deque<Proposed> waiting_;
  std::map<std::int64_t, std::string> models_;  // of exchanges, by the archive's numbers
  std::map<std::string, std::string> patches_;  // as JSON, by the genomes that they made
  int failures_ = 0;
  std::string answer_;  // that was given; empty once it was read
  bool given_ = false;
  bool done_ = false;  // it has said that it will propose nothing more
  bool interrupted_ = false;
};

}  // namespace evo::cli
