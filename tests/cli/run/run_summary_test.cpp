#include "cli/run/run_summary.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <future>
#include <utility>

#include "engine/base/hash.h"
#include "population/store/archive.h"

using namespace evo;
using Catch::Matchers::ContainsSubstring;

namespace {

/// Compares every challenger, with this result.
EliteComparer comparing(EliteComparison result) {
  EliteComparer comparer;
  comparer.plainly_faster = [](const Evaluation&, const Evaluation&, bool) { return false; };
  comparer.may_start = [](EliteComparer::When) { return true; };
  comparer.start = [result](CandidateId, CandidateId incumbent) mutable {
    result.elite = incumbent;
    std::promise<std::optional<EliteComparison>> promise;
    promise.set_value(result);
    return promise.get_future();
  };
  return comparer;
}

/// Records valid candidates of these latencies in one run, and sums it up.
cli::RunSummary summary_of(Store& store, const std::vector<double>& latencies_us, EliteComparer compare) {
  RunInfo info;
  info.task = "toy";
  info.task_hash = "hash";
  info.device = {"cuda:0", "cuda", "A GPU", "sm_90a", "GPU-1", "580.1", {}};
  info.target.timed = {{"mission", {{"S", std::int64_t{512}}}}};
  info.objective = objective_of(info.target);
  info.strategy = "random";
  const RunId run = store.begin_run(info);
  const std::unique_ptr<Archive> archive = store.archive(run, std::move(compare));
  std::uint64_t ticket = 0;
  for (const double latency_us : latencies_us) {
    const std::string name = std::to_string(ticket);
    const Proposal proposal{ticket, {"plain", {{"tile", static_cast<std::int64_t>(ticket)}}}, "random", {}};
    Program program;
    program.source = name;
    program.source_hash = hash_of_source(name, program.max_registers);
    Evaluation evaluation;
    evaluation.verdict = Verdict::valid;
    evaluation.latency_us = latency_us;
    evaluation.builds = {{"", "sm_90a", name, 1}};
    archive->record(proposal, {proposal.genome, {program}}, evaluation);
    ++ticket;
  }
  archive->settle();
  return cli::summarise(store, run, SearchResult{ticket, ticket}, [](const std::string& text) { return text; });
}

}  // namespace

TEST_CASE("a best candidate that is no elite is shown with the comparison that kept it out") {
  Store store = Store::open(":memory:", Store::Mode::write);
  const cli::RunSummary summary =
      summary_of(store, {10, 11, 12, 9}, comparing({0, Standing::same, 0.99, 0.98, 1.0, 15}));
  CHECK(summary.best->candidate == 4);
  CHECK_THAT(
      run_text(summary, "evo.db", {}),
      ContainsSubstring("best of this run: candidate 4, 9.000 us") &&
          ContainsSubstring("\n  no elite: SAME as elite 3: 0.9900 [0.9800, 1.0000] of its latency over 15 rounds"));
}

TEST_CASE("a best candidate that is an elite needs no explanation") {
  Store store = Store::open(":memory:", Store::Mode::write);
  const cli::RunSummary summary =
      summary_of(store, {10, 11, 12, 9}, comparing({0, Standing::faster, 0.9, 0.89, 0.91, 15}));
  CHECK(summary.why_no_elite.empty());
  CHECK_THAT(run_text(summary, "evo.db", {}), !ContainsSubstring("no elite"));
}

TEST_CASE("a challenger that loses or fails keeps its reason, however it lost") {
  for (const auto& [standing, words] :
       {std::pair(Standing::slower, "no elite: SLOWER than elite 3: 1.1000 "),
        {Standing::challenger_failed, "it failed in the comparison with elite 3: trap"}}) {
    Store store = Store::open(":memory:", Store::Mode::write);
    const cli::RunSummary summary =
        summary_of(store, {10, 11, 12, 9},
                   comparing({0, standing, 1.1, 1.09, 1.11, 3, standing == Standing::slower ? "" : "trap"}));
    CHECK_THAT(run_text(summary, "evo.db", {}), ContainsSubstring(words));
  }
}
