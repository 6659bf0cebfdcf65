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
  std::function<bool()> ends = {};  ///< Whether the search is to end: then nobody is waited for. May be empty.
};

/// A process that proposes genomes, alleles and kernels: JSON lines on its standard input and output
/// (docs/proposer.md). When it ends, is late or answers something else, that is told in one line on standard
/// error and it is started again; after kMaxFailures of these nobody is asked any more. Only waiting for an
/// answer takes time: at most the deadline. The process, and what it has started, dies with this one.
class ProposerProcess : public Proposer {
 public:
  /// `files`: of the task, which it is told.
  ProposerProcess(ProposerOptions options, const Task& task, const Target& target, const Space& space,
                  const DeviceInfo& device, const SourceTree& files);
  ~ProposerProcess() override;

  /// What the next question tells of.
  void observe(const Proposal& proposal, const Evaluation& evaluation);

  std::optional<Proposed> next() override;
  bool interrupted() const override { return interrupted_; }
  void refused(const Proposed& proposed, const std::string& why) override;

  static constexpr int kMaxFailures = 3;

 private:
  struct Known;  // what was observed

  void start();
  void stop() noexcept;
  void send(const std::string& line);
  /// For the socket to be ready for `events`; at most a tenth of a second.
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
