#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "engine/search/latency_predictor.h"
#include "engine/search/seeds.h"

namespace evo {

/// Where a seed that a rehearsal found is from.
inline constexpr std::string_view kRehearsed = "a rehearsal";

/// A search by foresight alone, before anything is measured.
struct Rehearsal {
  std::size_t genomes = 512;  ///< That are foretold, over all climbs.
  std::size_t climbs = 2;     ///< Searches from random genomes of their own.
  std::size_t together = 32;  ///< Foretold at once: foresight has work for every core.
  std::size_t kept = 4;
};

/// What searches by `strategy` find that are told foretold latencies for measured ones: those that are foretold the
/// least latencies, best first, no two of which make the same program or differ in one gene alone. `out_of_time` is
/// asked between batches and may be empty. It ends a rehearsal early, as does a foresight that was told to stop: what
/// was foretold until then counts. Throws as make_strategy.
std::vector<Seed> rehearse(const Space& space, std::string_view strategy, std::uint64_t seed, Foresight& foresight,
                           const Rehearsal& rehearsal, const std::function<bool()>& out_of_time = {});

}  // namespace evo
