#pragma once

#include <exception>
#include <future>
#include <mutex>
#include <vector>

#include "engine/task/candidate.h"
#include "evaluator/timing/interleaved_timing.h"

namespace evo {

/// An interleaved timing that several devices may work on at once. Each round is of one device, so the candidates that
/// it compares ran on one and the same. Methods may be called from any thread.
class SharedTiming {
 public:
  /// It ends after `rounds` on all devices together, or earlier when `enough` says so.
  SharedTiming(std::vector<Candidate> candidates, int rounds, EnoughRounds enough)
      : candidates_(std::move(candidates)), rounds_(rounds), enough_(std::move(enough)) {}

  const std::vector<Candidate>& candidates() const { return candidates_; }
  int rounds() const { return rounds_; }
  /// The rounds of all devices, once it has ended. Called once.
  std::future<InterleavedTimings> result() { return result_.get_future(); }

  /// For time_interleaved() on one more device: takes over each round, and says when no more are wanted.
  EnoughRounds taker();
  /// No more rounds come. Without effect when it has ended.
  void end();
  /// As end(), with an error as the result.
  void fail(const std::exception_ptr& why);
  bool ended() const;

 private:
  void take(const InterleavedTimings& of_device);

  const std::vector<Candidate> candidates_;
  const int rounds_;
  const EnoughRounds enough_;
  std::promise<InterleavedTimings> result_;
  mutable std::mutex mutex_;
  InterleavedTimings timings_;
  int taken_ = 0;  ///< Rounds.
  bool ended_ = false;
};

}  // namespace evo
