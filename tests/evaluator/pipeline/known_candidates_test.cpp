#include "evaluator/pipeline/known_candidates.h"

#include <catch2/catch_test_macros.hpp>
#include <string>

using namespace evo;

namespace {

CandidateJob job_of(std::uint64_t ticket, const std::string& source, const std::string& binary) {
  CandidateJob job{ticket, {}, source};
  job.binary_key = binary;
  return job;
}

Evaluation result_that_is(Verdict verdict, double latency_us = 0) {
  Evaluation evaluation;
  evaluation.verdict = verdict;
  evaluation.latency_us = latency_us;
  return evaluation;
}

bool follows(KnownCandidates& known, Shared shared, CandidateJob job) {
  const KnownCandidates::Match match = known.match(shared, job);
  return match.found && !match.result;
}

}  // namespace

TEST_CASE("a copy of a submitted candidate is not compiled, except where duplicates are evaluated") {
  KnownCandidates known(true);
  CHECK(known.submit("a"));
  CHECK(known.submit("b"));
  CHECK_FALSE(known.submit("a"));
  KnownCandidates all(false);
  CHECK(all.submit("a"));
  CHECK(all.submit("a"));
}

TEST_CASE("a candidate that equals one under way follows it and gets its result, with its own builds") {
  KnownCandidates known(true);
  const CandidateJob first = job_of(0, "a", "x");
  known.begin(first);
  CHECK(follows(known, Shared::source, job_of(1, "a", "")));
  CandidateJob built = job_of(2, "b", "x");
  built.built.builds.emplace_back().arch = "sm_90a";
  CHECK_FALSE(known.match(Shared::source, built).found);
  CHECK(follows(known, Shared::cubin, built));

  const auto [duplicates, own] = known.finish(first, result_that_is(Verdict::valid, 7));
  CHECK(own.empty());
  REQUIRE(duplicates.size() == 2);
  CHECK(duplicates[0].ticket == 1);
  CHECK(duplicates[0].evaluation.verdict == Verdict::duplicate);
  CHECK(duplicates[0].evaluation.latency_us == 7);
  CHECK(duplicates[0].evaluation.original == Original{0, Shared::source, Verdict::valid});
  CHECK(duplicates[1].ticket == 2);
  CHECK(duplicates[1].evaluation.original == Original{0, Shared::cubin, Verdict::valid});
  CHECK(duplicates[1].evaluation.builds.at(0).arch == "sm_90a");
}

TEST_CASE("after a failure of the machine the followers are candidates of their own, and nothing is known") {
  KnownCandidates known(true);
  const CandidateJob first = job_of(0, "a", "x");
  known.begin(first);
  CHECK(follows(known, Shared::source, job_of(1, "a", "")));
  CHECK(follows(known, Shared::cubin, job_of(2, "b", "x")));
  CHECK(follows(known, Shared::source, job_of(3, "a", "")));

  const auto [duplicates, own] = known.finish(first, result_that_is(Verdict::harness_failed));
  CHECK(duplicates.empty());
  REQUIRE(own.size() == 3);
  CHECK(own[0].ticket == 2);
  CHECK(own[1].ticket == 1);
  CHECK(own[2].ticket == 3);
  CandidateJob again = job_of(4, "a", "x");
  CHECK_FALSE(known.match(Shared::source, again).found);
  CHECK_FALSE(known.match(Shared::cubin, again).found);
}

TEST_CASE("a later copy gets the known result at once") {
  KnownCandidates known(true);
  const CandidateJob ran = job_of(0, "a", "x");
  known.begin(ran);
  known.finish(ran, result_that_is(Verdict::crashed));
  CandidateJob copy = job_of(1, "a", "");
  const KnownCandidates::Match match = known.match(Shared::source, copy);
  REQUIRE(match.result);
  CHECK(match.result->ticket == 1);
  CHECK(match.result->evaluation.original == Original{0, Shared::source, Verdict::crashed});
}

TEST_CASE("what did not run is known by its source, unless the machine failed it") {
  KnownCandidates known(true);
  known.settle(job_of(0, "a", ""), result_that_is(Verdict::illegal));
  known.settle(job_of(1, "b", ""), result_that_is(Verdict::harness_failed));
  CandidateJob a = job_of(2, "a", ""), b = job_of(3, "b", "");
  CHECK(known.match(Shared::source, a).result);
  CHECK_FALSE(known.match(Shared::source, b).found);
}

TEST_CASE("candidates of an earlier pipeline are known, by what was machine code also by that") {
  KnownCandidates known(true);
  Candidate earlier;
  earlier.programs.resize(1);
  const std::string source = earlier.source_hash();
  known.recall({5, earlier, result_that_is(Verdict::valid, 3)});
  CHECK_FALSE(known.submit(source));
  CandidateJob copy = job_of(9, source, ""), same_code = job_of(10, "other", earlier.plans_hash());
  CHECK(known.match(Shared::source, copy).result->evaluation.original == Original{5, Shared::source, Verdict::valid});
  CHECK(known.match(Shared::cubin, same_code).result->evaluation.original ==
        Original{5, Shared::cubin, Verdict::valid});
}
