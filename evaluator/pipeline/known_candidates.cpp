#include "evaluator/pipeline/known_candidates.h"

#include <utility>

#include "evaluator/pipeline/program_building.h"

namespace evo {
namespace {

/// The result that a duplicate gets: the figures, without the lists behind them. Those are stored with the original,
/// and a run of many thousand candidates would hold them all in memory.
Evaluation abridged(Evaluation evaluation) {
  evaluation.errors = {};
  for (Timing& timing : evaluation.timings) timing.samples_us = {};
  for (Build& build : evaluation.builds) build.log.clear();
  return evaluation;
}

}  // namespace

void KnownCandidates::recall(const Finished& finished) {
  const Verdict verdict = finished.evaluation.verdict;
  if (verdict == Verdict::duplicate || verdict == Verdict::harness_failed) return;
  const Known remembered{finished.ticket, abridged(finished.evaluation)};
  const std::string source_key = finished.candidate.source_hash();
  submitted_.insert(source_key);
  by_source_[source_key] = remembered;
  if (was_built(verdict)) by_binary_[key_of_builds(finished.candidate, finished.evaluation.builds)] = remembered;
}

bool KnownCandidates::submit(const std::string& source_key) {
  return !dedup_ || submitted_.insert(source_key).second;
}

KnownCandidates::Match KnownCandidates::match(Shared shared, CandidateJob& job) {
  if (!dedup_) return {};
  Table& table = shared == Shared::source ? by_source_ : by_binary_;
  const auto found = table.find(shared == Shared::source ? job.source_key : job.binary_key);
  if (found == table.end()) return {};
  Known& known = found->second;
  if (known.evaluation) return {true, duplicate_of(known, {std::move(job), shared})};
  known.followers.push_back({std::move(job), shared});
  return {true};
}

void KnownCandidates::begin(const CandidateJob& job) {
  if (dedup_) by_source_[job.source_key] = by_binary_[job.binary_key] = Known{job.ticket};
}

void KnownCandidates::settle(const CandidateJob& job, const Evaluation& evaluation) {
  if (!dedup_ || evaluation.verdict == Verdict::harness_failed) return;
  by_source_.insert_or_assign(job.source_key, Known{job.ticket, abridged(evaluation)});
}

KnownCandidates::Followers KnownCandidates::finish(const CandidateJob& job, const Evaluation& evaluation) {
  if (!dedup_) return {};
  std::optional<Evaluation> result;
  if (evaluation.verdict != Verdict::harness_failed) result = abridged(evaluation);
  std::vector<Follower> of_source = take_followers(by_source_, job.source_key, result);
  std::vector<Follower> of_binary = take_followers(by_binary_, job.binary_key, result);
  Followers followers;
  if (result) {
    const Known known{job.ticket, result};
    for (auto* group : {&of_source, &of_binary})
      for (Follower& one : *group) followers.duplicates.push_back(duplicate_of(known, std::move(one)));
  } else {
    for (auto* group : {&of_binary, &of_source})
      for (Follower& one : *group) followers.of_their_own.push_back(std::move(one.job));
  }
  return followers;
}

/// Leaves the result in the table, or nothing where there is none.
std::vector<KnownCandidates::Follower> KnownCandidates::take_followers(Table& table, const std::string& key,
                                                                       const std::optional<Evaluation>& result) {
  const auto entry = table.find(key);
  std::vector<Follower> followers = std::exchange(entry->second.followers, {});
  if (result) {
    entry->second.evaluation = result;
  } else {
    table.erase(entry);
  }
  return followers;
}

Evaluator::Done KnownCandidates::duplicate_of(const Known& known, Follower follower) {
  Evaluation evaluation = *known.evaluation;
  evaluation.phases = {};
  evaluation.verdict = Verdict::duplicate;
  evaluation.original = Original{known.ticket, follower.shared, known.evaluation->verdict};
  // One that was not compiled has no builds of its own.
  if (!follower.job.built.builds.empty()) evaluation.builds = std::move(follower.job.built.builds);
  return {follower.job.ticket, std::move(evaluation)};
}

}  // namespace evo
