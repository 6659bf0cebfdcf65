#include "population/store/checks_under_way.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <utility>

#include "engine/base/error.h"
#include "population/store/elite_checks.h"

namespace evo {
namespace {

/// Elites that are found wrong before the search goes on, where it waits for checks; and once it has ended.
constexpr std::size_t kMostFoundAtOnce = 4, kMostFoundAtEnd = 24;

constexpr std::uint64_t kAllAnswers = std::numeric_limits<std::uint64_t>::max();

bool is_ready(const std::future<CheckedElite>& result) {
  return result.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
}

}  // namespace

void ChecksUnderWay::after_answer(std::uint64_t answered) {
  if (checks_.every == 0) {
    take_ready();
    return begin_one(kAllAnswers);
  }
  const std::uint64_t turn = answered - answered % checks_.every;
  if (answered == turn) take_until_found(kMostFoundAtOnce, turn - checks_.every, Wait::while_there_is_time);
  begin_one(turn);
}

void ChecksUnderWay::after_search() {
  if (!checks_.start || found_at_end_ >= kMostFoundAtEnd) return;
  look_again();  // Other processes may have changed the elites.
  found_at_end_ += take_until_found(kMostFoundAtOnce, kAllAnswers, Wait::to_the_end);
  take_ready();  // Also of those that are no elites any more.
  if (found_at_end_ >= kMostFoundAtEnd)
    notice(fmt::format("{} elites were wrong, one after the other: the next ones stay provisional", found_at_end_));
}

CandidateId ChecksUnderWay::newest(std::uint64_t answered) const {
  if (answered == kAllAnswers) return std::numeric_limits<CandidateId>::max();
  Statement row = database_.prepare("SELECT id FROM candidate WHERE run = ? ORDER BY id LIMIT 1 OFFSET ?");
  row.bind(run_, answered);
  return row.next() ? row.integer(0) - 1 : std::numeric_limits<CandidateId>::max();
}

std::vector<CandidateId> ChecksUnderWay::provisional(std::uint64_t answered) {
  if (!checks_.start || all_checked_) return {};
  std::vector<CandidateId> elites = provisional_elites(database_, run_);
  all_checked_ = elites.empty();
  if (!all_checked_) std::erase_if(elites, [last = newest(answered)](CandidateId elite) { return elite > last; });
  return elites;
}

bool ChecksUnderWay::is_under_way() const {
  return !std::ranges::all_of(begun_, [](const auto& one) { return is_ready(one.second); });
}

void ChecksUnderWay::begin_one(std::uint64_t answered) {
  if (is_under_way()) return;
  const std::vector<CandidateId> elites = provisional(answered);
  const auto next = std::ranges::find_if(elites, [this](CandidateId elite) { return !begun_.contains(elite); });
  if (next != elites.end()) begun_.emplace(*next, checks_.start(*next));
}

/// False: there is no time for it.
bool ChecksUnderWay::wait_for(CandidateId elite, Wait wait) const {
  while (begun_.at(elite).wait_for(std::chrono::milliseconds(100)) == std::future_status::timeout) {
    if (checks_.stop != nullptr && checks_.stop->load()) return false;
    if (wait == Wait::while_there_is_time && checks_.out_of_time && checks_.out_of_time()) return false;
  }
  return true;
}

std::size_t ChecksUnderWay::take_until_found(std::size_t most, std::uint64_t answered, Wait wait) {
  std::size_t found = 0;
  while (found < most) {
    const std::vector<CandidateId> elites = provisional(answered);
    if (elites.empty()) break;
    const CandidateId best = elites.front();
    if (!begun_.contains(best)) begun_.emplace(best, checks_.start(best));
    if (!wait_for(best, wait)) break;
    if (take(best)) ++found;
  }
  return found;
}

/// Whether something was found. Where the machine fails, elites stay provisional.
bool ChecksUnderWay::take(CandidateId elite) {
  try {
    const CheckedElite checked = begun_.extract(elite).mapped().get();
    if (!settle_checks(database_, elite, checked)) return false;
    look_again();  // Another one takes its place.
    if (checks_.found) checks_.found(elite, *checked.finding);
    return true;
  } catch (const Error& error) {
    if (std::exchange(checks_.start, {})) notice(fmt::format("elites stay provisional: {}", error.what()));
    return false;
  }
}

void ChecksUnderWay::take_ready() {
  std::vector<CandidateId> ready;
  for (const auto& [elite, result] : begun_)
    if (is_ready(result)) ready.push_back(elite);
  for (const CandidateId elite : ready) take(elite);
}

void ChecksUnderWay::notice(const std::string& line) const {
  if (checks_.notice) checks_.notice(line);
}

}  // namespace evo
