#include "cli/run/opening.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <iterator>

#include "cli/text/streams.h"
#include "cli/text/terminal.h"
#include "engine/base/error.h"
#include "engine/search/presearch.h"

namespace evo::cli {
namespace {

std::vector<Seed> warm_start_seeds(const PreparedRun& run, const Space& space, LatencyPredictor* predictor) {
  std::vector<Seed> seeds = seeds_in(space, run.warm_start);
  if (seeds.empty() && !run.warm_start.empty())
    throw usage_error("--seed-from: no genome there belongs to a family of this run");
  return predictor ? seeds_in(space, run.warm_start, *predictor) : seeds;
}

/// The genomes that a pre-search finds. It takes at most a fifth of the run's time.
std::vector<Seed> presearched_seeds(const PreparedRun& run, const Space& space, LatencyPredictor& predictor,
                                    bool quiet) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point start = Clock::now();
  const Presearch presearch{.genomes = run.presearch};
  const bool live = !quiet && terminal_of(stderr).interactive;
  if (!quiet && !live) write_to_stderr(fmt::format("pre-search: {} genomes are modelled first\n", presearch.genomes));
  std::size_t batches = 0;
  std::vector<Seed> seeds = run_presearch(space, run.info.strategy, run.info.seed, predictor, presearch, [&] {
    if (live)
      write_to_stderr(
          fmt::format("\rpre-search: {} of {} genomes modelled", batches * presearch.together, presearch.genomes));
    ++batches;
    return run.time_limit && Clock::now() - start > *run.time_limit / 5;
  });
  if (live) write_to_terminal("\r\x1b[K");
  return seeds;
}

}  // namespace

std::vector<Seed> opening_seeds(const PreparedRun& run, const Space& space, LatencyPredictor* predictor, bool quiet) {
  std::vector<Seed> seeds = warm_start_seeds(run, space, predictor);
  if (run.presearch > 0) std::ranges::move(presearched_seeds(run, space, *predictor, quiet), std::back_inserter(seeds));
  return seeds;
}

}  // namespace evo::cli
