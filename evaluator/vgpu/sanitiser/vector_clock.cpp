#include "evaluator/vgpu/sanitiser/vector_clock.h"

#include <algorithm>

namespace evo::vgpu {
namespace {

bool covers_times(const Times& a, const Times& b) {
  if (&a == &b) return true;
  bool every = true;
  const std::size_t both = std::min(a.size(), b.size());
  for (std::size_t i = 0; i < both; ++i) every &= a[i] >= b[i];
  for (std::size_t i = both; i < b.size(); ++i) every &= b[i] == 0;
  return every;
}

}  // namespace

std::vector<VectorClock::Part>::iterator VectorClock::place_of(std::uint32_t block) {
  return std::lower_bound(blocks_.begin(), blocks_.end(), block,
                          [](const Part& part, std::uint32_t wanted) { return part.block < wanted; });
}

Times& VectorClock::own_times(std::uint32_t block) {
  const auto at = place_of(block);
  if (at == blocks_.end() || at->block != block) return *blocks_.insert(at, {block, std::make_shared<Times>()})->times;
  if (at->times.use_count() > 1) at->times = std::make_shared<Times>(*at->times);
  return *at->times;
}

void VectorClock::raise(std::uint32_t block, std::uint32_t thread, std::uint32_t time) {
  if (time_of(block, thread) >= time) return;
  Times& times = own_times(block);
  if (thread >= times.size()) times.resize(thread + 1);
  times[thread] = time;
}

void VectorClock::join(const VectorClock& other) {
  for (const Part& theirs : other.blocks_) {
    const auto at = place_of(theirs.block);
    if (at == blocks_.end() || at->block != theirs.block) {
      blocks_.insert(at, theirs);
      continue;
    }
    if (covers_times(*at->times, *theirs.times)) continue;
    if (covers_times(*theirs.times, *at->times)) {
      at->times = theirs.times;
      continue;
    }
    Times& times = own_times(theirs.block);
    if (times.size() < theirs.times->size()) times.resize(theirs.times->size());
    for (std::size_t i = 0; i < theirs.times->size(); ++i) times[i] = std::max(times[i], (*theirs.times)[i]);
  }
}

bool VectorClock::covers(const VectorClock& other) const {
  return std::all_of(other.blocks_.begin(), other.blocks_.end(), [&](const Part& theirs) {
    const Times* times = times_of(theirs.block);
    return times != nullptr && covers_times(*times, *theirs.times);
  });
}

VectorClockPtr joined(const VectorClockPtr& a, const VectorClockPtr& b) {
  if (a == b || b == nullptr) return a;
  if (a == nullptr || b->covers(*a)) return b;
  if (a->covers(*b)) return a;
  auto both = std::make_shared<VectorClock>(*a);
  both->join(*b);
  return both;
}

void ThreadClocks::join(const ThreadClocks& other) {
  known = joined(known, other.known);
  released = joined(released, other.released);
  released_to_block = joined(released_to_block, other.released_to_block);
  proxied = joined(proxied, other.proxied);
}

}  // namespace evo::vgpu
