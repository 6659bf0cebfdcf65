#include "evaluator/pipeline/candidate_worker.h"

#include <fmt/format.h>

#include <numeric>

#include "evaluator/compile/compiler.h"

namespace evo {
namespace {

/// Requests on their way: while the answer to one is read here, the next ones run in the worker. A candidate that has
/// failed waits for all of them, so few are sent whose outputs are large.
constexpr std::size_t kFewestInFlight = 2, kMostInFlight = 8;
constexpr std::uint64_t kBytesInFlight = 64 << 20;

Failure in_templates(const Candidate& candidate, const Shape& shape, Failure failure) {
  const auto program = program_for(candidate, shape.name);
  return program ? translated(std::move(failure), candidate.programs[*program]) : std::move(failure);
}

std::string why_lost(const Lost& lost) {
  switch (lost.how) {
    case Lost::How::timed_out:
      return lost.reason;
    case Lost::How::crashed:
      return (lost.reason.starts_with("killed") ? "the worker was " : "the worker ") + lost.reason;
    default:
      return "the worker broke the protocol: " + lost.reason;
  }
}

}  // namespace

const Plan& plan_of(const Candidate& candidate, const Case& one) {
  return candidate.programs[*program_for(candidate, one.shape.name)].plans.at(one.shape.name);
}

std::string name_of_case(const Case& one) {
  return fmt::format("shape {}, regime {}, seed {}", one.shape.name, one.regime.name, one.seed);
}

Failure failure_at(const Candidate& candidate, const Case& one, Failure failure) {
  failure = in_templates(candidate, one.shape, std::move(failure));
  failure.reason = fmt::format("{}: {}", name_of_case(one), failure.reason);
  return failure;
}

Failure failure_at_timing(const Candidate& candidate, const Shape& shape, Failure failure) {
  failure = in_templates(candidate, shape, std::move(failure));
  failure.reason = fmt::format("while timing {}: {}", shape.name, failure.reason);
  return failure;
}

Failure missing_program(const std::string& shape) {
  return {Verdict::harness_failed, "the candidate has no program for shape " + shape};
}

std::optional<Failure> CandidateWorker::load(const std::vector<Binary>& binaries) {
  for (std::size_t i = 0; i < binaries.size(); ++i) {
    send(protocol::Load{first_module_ + i, binaries[i], candidate_.programs[i].plans}, 0);
    if (auto failure = expect<protocol::Done>().failure) return translated(*std::move(failure), candidate_.programs[i]);
  }
  return std::nullopt;
}

void CandidateWorker::settle() {
  while (!payloads_.empty()) expect<protocol::Ran>();
  for (std::size_t i = 0; device_.running() && i < candidate_.programs.size(); ++i) {
    send(protocol::Unload{first_module_ + i}, 0);
    expect<protocol::Done>();
  }
}

bool CandidateWorker::has_room() const {
  if (payloads_.size() < kFewestInFlight) return true;
  return payloads_.size() < kMostInFlight &&
         std::reduce(payloads_.begin(), payloads_.end(), std::uint64_t{0}) < kBytesInFlight;
}

std::optional<Failure> CandidateWorker::send_case(const Case& one, std::uint32_t repeats, Watch watch) {
  protocol::Run request;
  request.repeats = repeats;
  request.sanitised = watch == Watch::sanitiser;
  request.as_before = watch == Watch::last_run;
  return send_run(one, std::move(request));
}

std::optional<Failure> CandidateWorker::send_case(const Case& one, std::uint32_t repeats,
                                                  std::vector<ComparedFor> compared) {
  protocol::Run request;
  request.repeats = repeats;
  request.compared = std::move(compared);
  return send_run(one, std::move(request));
}

std::optional<Failure> CandidateWorker::send_run(const Case& one, protocol::Run request) {
  const auto program = program_for(candidate_, one.shape.name);
  if (!program) return missing_program(one.shape.name);
  const Plan& plan = candidate_.programs[*program].plans.at(one.shape.name);
  request.module = first_module_ + *program;
  request.shape = one.shape.name;
  request.recipe = one.recipe;
  const std::uint64_t payload = request.compared.empty() ? protocol::output_bytes(plan) : 0;
  send(std::move(request), payload);
  return std::nullopt;
}

std::optional<Failure> CandidateWorker::forget_requests() {
  std::optional<Failure> failure;
  while (!payloads_.empty()) {
    auto answer = expect<protocol::Ran>();
    if (!failure) failure = std::move(answer.failure);
  }
  return device_.running() ? std::nullopt : failure;
}

void CandidateWorker::send_timing(std::size_t program, protocol::Time request, std::uint64_t payload) {
  request.module = first_module_ + program;
  send(std::move(request), payload);
}

void CandidateWorker::send(protocol::Request request, std::uint64_t payload) {
  device_.send(std::move(request));
  payloads_.push_back(payload);
}

Failure CandidateWorker::after_loss(const Lost& lost) {
  payloads_.clear();
  lost_without_blame_ = lost.blameless && lost.how == Lost::How::crashed;
  return {verdict_of(lost), why_lost(lost)};
}

void CandidateWorker::abandon() {
  device_.stop();
  payloads_.clear();
}

}  // namespace evo
