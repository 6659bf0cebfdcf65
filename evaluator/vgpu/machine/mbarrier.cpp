#include "evaluator/vgpu/machine/mbarrier.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>

namespace evo::vgpu {
namespace {

// The word: 2 bits that neither zeros nor the pattern of fresh memory have, 20 expected, 20 pending, 21 of the
// transaction count, 1 parity. Only this file knows the order.
constexpr std::uint64_t kMark = 1;
constexpr std::int64_t kByteBias = kMaxMbarrierCount;

auto position(auto& barriers, std::uint32_t address) {
  return std::lower_bound(barriers.begin(), barriers.end(), address,
                          [](const Mbarrier& barrier, std::uint32_t at) { return barrier.address < at; });
}

std::string too_many(std::string_view what, std::int64_t value) {
  return fmt::format("{} would be {}, beyond the limit of {}", what, value, kMaxMbarrierCount);
}

}  // namespace

std::uint64_t MbarrierState::encoded() const {
  return kMark | std::uint64_t{expected} << 2 | std::uint64_t{pending} << 22 |
         static_cast<std::uint64_t>(bytes + kByteBias) << 42 | std::uint64_t{parity} << 63;
}

MbarrierState MbarrierState::decoded(std::uint64_t word) {
  MbarrierState state;
  state.expected = static_cast<std::uint32_t>(word >> 2) & kMaxMbarrierCount;
  state.pending = static_cast<std::uint32_t>(word >> 22) & kMaxMbarrierCount;
  state.bytes = static_cast<std::int32_t>(static_cast<std::int64_t>(word >> 42 & 0x1f'ffffu) - kByteBias);
  state.parity = static_cast<std::uint32_t>(word >> 63);
  return state;
}

std::string MbarrierState::apply(const MbarrierChange& change, bool& ends) {
  ends = false;
  const std::int64_t bytes_then = bytes + change.bytes;
  if (std::abs(bytes_then) > std::int64_t{kMaxMbarrierCount}) return too_many("the transaction count", bytes_then);
  const std::uint32_t most_pending = pending + change.more_pending;
  if (most_pending > kMaxMbarrierCount) return too_many("the pending count", most_pending);
  if (change.arrivals > most_pending)
    return fmt::format("{} arrive, but the phase awaits only {} of its {}", change.arrivals, most_pending, expected);
  if (change.drop > expected) return fmt::format("{} drop out of {}", change.drop, expected);
  bytes = static_cast<std::int32_t>(bytes_then);
  expected -= change.drop;
  pending = most_pending - change.arrivals;
  if (pending != 0 || bytes != 0) return {};
  if (!change.may_complete) return "an arrival with .noComplete ends the phase";
  parity ^= 1u;
  pending = expected;
  ends = true;
  return {};
}

Mbarrier* MbarrierTable::find(std::uint32_t address) {
  const auto at = position(barriers_, address);
  return at != barriers_.end() && at->address == address ? &*at : nullptr;
}

Mbarrier& MbarrierTable::put(std::uint32_t address) {
  const auto at = position(barriers_, address);
  if (at != barriers_.end() && at->address == address) return *at;
  Mbarrier fresh;
  fresh.address = address;
  return *barriers_.insert(at, fresh);
}

void MbarrierTable::erase(std::uint32_t address) {
  const auto at = position(barriers_, address);
  if (at != barriers_.end() && at->address == address) barriers_.erase(at);
}

std::string MbarrierTable::describe_wait(std::uint32_t address) const {
  if (address == kSeveralBarriers) return "for several mbarriers";
  const auto barrier = position(barriers_, address);
  if (barrier == barriers_.end() || barrier->address != address)
    return fmt::format("for an mbarrier at byte {} that is gone", address);
  const MbarrierState state = MbarrierState::decoded(barrier->word);
  std::string text = fmt::format("for the mbarrier at byte {} of shared memory", address);
  if (barrier->line != 0) text += fmt::format(" (initialised in line {})", barrier->line);
  return text + fmt::format(", whose phase of parity {} lacks {} of {} arrivals and {} bytes", state.parity,
                            state.pending, state.expected, state.bytes);
}

}  // namespace evo::vgpu
