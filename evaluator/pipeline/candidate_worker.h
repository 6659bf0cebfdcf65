#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "engine/task/candidate.h"
#include "evaluator/judge/cases.h"
#include "evaluator/worker/worker_client.h"

namespace evo {

/// The plan of a case's shape. The candidate has one.
const Plan& plan_of(const Candidate& candidate, const Case& one);

/// "shape s, regime r, seed 1".
std::string name_of_case(const Case& one);
/// A failure of this case: names it, and the places in templates instead of those in the source.
Failure failure_at(const Candidate& candidate, const Case& one, Failure failure);
/// A failure while the shape was timed. Otherwise as failure_at.
Failure failure_at_timing(const Candidate& candidate, const Shape& shape, Failure failure);
/// No program has a plan for the shape.
Failure missing_program(const std::string& shape);

/// The conversation with the worker that runs one candidate: requests are sent in advance, answers come in their order.
class CandidateWorker {
 public:
  /// A request that is not answered by then has timed out. `first_module`: of the candidate's programs, which the
  /// worker knows by consecutive numbers.
  CandidateWorker(WorkerClient& device, const Candidate& candidate, std::uint64_t first_module, double deadline_s)
      : device_(device), candidate_(candidate), first_module_(first_module), deadline_s_(deadline_s) {}

  std::optional<Failure> load(const std::vector<Binary>& binaries);
  /// Leaves the worker with nothing on its way and nothing loaded.
  void settle();

  /// Whether one more request keeps the worker busy without too much to wait for.
  bool has_room() const;
  enum class Watch : std::uint8_t { none, sanitiser, last_run };
  /// Asks for `repeats` runs of a case, under the sanitiser or beside the case's last run, which they must equal.
  std::optional<Failure> send_case(const Case& one, std::uint32_t repeats, Watch watch = Watch::none);
  /// The same; the worker compares the outputs and keeps them.
  std::optional<Failure> send_case(const Case& one, std::uint32_t repeats, std::vector<ComparedFor> compared);
  /// `request` gets the module of this program. `payload`: the bytes that the answer may bring.
  void send_timing(std::size_t program, protocol::Time request, std::uint64_t payload);

  template <typename T>
  struct Received {
    T reply;
    std::optional<Failure> failure;
  };
  /// The answer to the oldest request, which is good only if it is a T. `extra_s`: beyond the deadline.
  template <typename T>
  Received<T> expect(double extra_s = 0) {
    const std::uint64_t payload = payloads_.front();
    payloads_.pop_front();
    auto answer = answer_as<T>(device_.receive(deadline_s_ + extra_s, payload));
    if (auto* good = std::get_if<T>(&answer)) return {std::move(*good), std::nullopt};
    if (const auto* lost = std::get_if<Lost>(&answer)) return {{}, after_loss(*lost)};
    if (auto* failure = std::get_if<Failure>(&answer)) {
      if (failure->device_lost) abandon();
      return {{}, std::move(*failure)};
    }
    abandon();
    return {{}, Failure{Verdict::harness_failed, std::get<protocol::Broken>(answer).message}};
  }

  /// Answers to what is on its way are not needed: what comes instead of an answer where the worker is lost.
  std::optional<Failure> forget_requests();

  /// The worker was lost in a way that says nothing about the candidate.
  bool was_lost_without_blame() const { return lost_without_blame_; }

 private:
  std::optional<Failure> send_run(const Case& one, protocol::Run request);
  void send(protocol::Request request, std::uint64_t payload);
  Failure after_loss(const Lost& lost);
  void abandon();

  WorkerClient& device_;
  const Candidate& candidate_;
  const std::uint64_t first_module_;
  const double deadline_s_;
  std::deque<std::uint64_t> payloads_;  ///< Of the requests on their way: the bytes that an answer may bring.
  bool lost_without_blame_ = false;
};

}  // namespace evo
