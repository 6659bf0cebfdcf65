#pragma once

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <condition_variable>
#include <filesystem>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "engine/base/error.h"
#include "engine/task/candidate.h"
#include "engine/task/task.h"
#include "evaluator/pipeline/pipeline.h"
#include "evaluator/worker/worker_client.h"

namespace evo::testing {

/// A small task: c = a + b over N f32, with several regimes, seeds and shapes. `reference` is the
/// text of reference.cu.
SourceTree toy_tree(const std::string& reference);

/// Device worker and compilers are fakes (tests/evaluator/worker/fake_tools.h).
PipelineOptions toy_options();

/// A candidate whose only program has this source, with a plan for each shape of the toy target.
Candidate toy_candidate(const PipelineOptions& options, const std::string& source);

/// Evaluates the candidates, `width` at once, and returns the results in the order of submission.
std::vector<Evaluation> evaluate_all(Evaluator& evaluator, const std::vector<Candidate>& candidates);
Evaluation evaluate_one(Evaluator& evaluator, const Candidate& candidate);

/// The reason of a failure and, of a wrong answer, each fact as "name=value ".
std::string why(const Evaluation& evaluation);

/// What a pipeline says, from any of its threads.
class Notices {
 public:
  std::function<void(const std::string&)> listener() {
    return [this](const std::string& line) {
      const std::lock_guard lock(mutex_);
      said_ += line + "\n";
      changed_.notify_all();
    };
  }
  std::string said() {
    const std::lock_guard lock(mutex_);
    return said_;
  }
  bool has(const std::string& text) { return said().find(text) != std::string::npos; }
  /// For ever, if it must.
  void wait_for(const std::string& text) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return said_.find(text) != std::string::npos; });
  }
  void forget() {
    const std::lock_guard lock(mutex_);
    said_.clear();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::string said_;
};

/// True when no child of this process is left, running or dead.
bool no_children_left();

/// Kills the children of this process, as the system's memory watch would, and waits until they have ended. They are
/// not reaped.
void kill_children();

/// Checks that everything which a worker with `request` has started ends when its parent is killed.
void check_ends_with_parent(const WorkerOptions& options, const protocol::Request& request);

}  // namespace evo::testing
