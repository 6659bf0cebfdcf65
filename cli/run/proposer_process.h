#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "engine/search/proposer.h"
#include "engine/task/evaluation.h"
#include "engine/task/task.h"
#include "evaluator/device/device.h"
#include "evaluator/worker/process.h"

namespace evo::cli {

struct ProposerOptions {
  std::string command;              ///< For /bin/sh.
  double deadline_s = 10;           ///< For each answer.
  std::function<bool()> ends = {};  ///< Whether the search is to end: waiting for an answer then stops. May be empty.
};

/// A process that proposes genomes, alleles and kernels. It speaks JSON lines on its standard input and output
/// (docs/proposer.md). When it ends, misses a deadline or answers something else, a line on standard error says it and
/// the process is started again; after kMaxFailures failures it is not asked any more. The process and its children end
/// with this one.
class ProposerProcess : public Proposer {
 public:
  /// `files`: the task's, which the process receives.
  ProposerProcess(ProposerOptions options, const Task& task, const Target& target, const Space& space,
                  const DeviceInfo& device, const SourceTree& files);
  ~ProposerProcess() override;

  /// Adds an evaluation to what the next question reports.
  void observe(const Proposal& proposal, const Evaluation& evaluation);

  std::optional<Proposed> next() override;
  bool interrupted() const override { return interrupted_; }
  void refused(const Proposed& proposed, const std::string& why) override;

  static constexpr int kMaxFailures = 3;

 private:
  struct Known;  // the evaluations so far

  void start();
  void stop() noexcept;
  void send(const std::string& line);
  /// Waits until the socket is ready for `events`, at most a tenth of a second.
  void wait_a_little(short events) const;
  std::string receive();
  std::vector<Proposed> ask();
  std::vector<Proposed> read_proposals(const std::string& line);

  ProposerOptions options_;
  std::string task_;
  std::string greeting_;
  std::unique_ptr<Known> known_;
  std::unique_ptr<Process> process_;
  UniqueFd socket_;
  std::string received_;
  std::deque<Proposed> waiting_;
  int failures_ = 0;
  bool interrupted_ = false;
};

}  // namespace evo::cli
