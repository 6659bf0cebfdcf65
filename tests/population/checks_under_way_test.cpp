// Elites are checked while their search goes on.
#include <future>
#include <map>
#include <optional>
#include <set>

#include "tests/population/fixture.h"

using namespace evo;
using namespace evo::test;

namespace {

const EliteFinding kRace{Verdict::crashed, "race: two blocks write y"};

/// Checks that pass at once, but those that are held: these end when the test says so.
struct HeldChecks {
  std::set<CandidateId> held = {}, begun = {};
  std::map<CandidateId, std::promise<CheckedElite>> under_way = {};
  bool is_out_of_time = false;

  EliteChecks checks(std::uint64_t every) {
    EliteChecks checks;
    checks.every = every;
    checks.out_of_time = [this] { return is_out_of_time; };
    checks.start = [this](CandidateId elite) {
      begun.insert(elite);
      std::future<CheckedElite> result = under_way[elite].get_future();
      if (!held.contains(elite)) end(elite);
      return result;
    };
    return checks;
  }
  void end(CandidateId elite, std::optional<EliteFinding> finding = {}) {
    CheckedElite result{{}, std::move(finding)};
    for (const std::string_view name : kEliteChecks)
      if (!result.finding) result.checks.push_back({std::string(name), EliteCheck::Outcome::passed, "3 shapes"});
    under_way.extract(elite).mapped().set_value(result);
  }
};

/// Gives answer number `number`, of candidate `number`: each valid one is faster than all before. Returns what is told
/// to be wrong: the tickets, which are one less.
std::vector<std::uint64_t> answer(Archive& archive, std::uint64_t number, bool is_valid = true) {
  const Proposal asked = proposal(number - 1);
  const std::string name = std::to_string(number);
  archive.record(asked, candidate(asked, name),
                 is_valid ? valid(100.0 - static_cast<double>(number), name) : failed(Verdict::wrong_answer, "wrong"));
  return archive.retracted(number, Archive::Wait::no);
}

const std::vector<std::uint64_t> kNothing;

}  // namespace

TEST_CASE("a search goes on while an elite is checked, and is told what was found a turn after it came") {
  Store store = Store::open(":memory:", Store::Mode::write);
  HeldChecks checks{.held = {4}};
  const auto archive = store.archive(store.begin_run(run_info()), {}, checks.checks(4));
  for (std::uint64_t number = 1; number <= 4; ++number) CHECK(answer(*archive, number) == kNothing);
  CHECK(checks.begun == std::set<CandidateId>{4});
  CHECK(answer(*archive, 5, false) == kNothing);
  checks.end(4, kRace);
  CHECK(answer(*archive, 6, false) == kNothing);
  CHECK(answer(*archive, 7, false) == kNothing);
  CHECK(answer(*archive, 8, false) == std::vector<std::uint64_t>{3});
  CHECK(store.candidate(4)->evaluation.verdict == Verdict::crashed);
  for (const EliteRow& row : store.elites()) CHECK_FALSE(is_provisional(row.checks));
}

TEST_CASE("a search does not wait for an elite that is displaced before its turn, but what was found counts at last") {
  Store store = Store::open(":memory:", Store::Mode::write);
  HeldChecks checks{.held = {4}};
  const auto archive = store.archive(store.begin_run(run_info()), {}, checks.checks(4));
  for (std::uint64_t number = 1; number <= 12; ++number) CHECK(answer(*archive, number) == kNothing);
  CHECK(checks.begun == std::set<CandidateId>{4});
  checks.end(4, kRace);
  CHECK(archive->retracted(12, Archive::Wait::until_checked) == std::vector<std::uint64_t>{3});
  CHECK(checks.begun == std::set<CandidateId>{4, 10, 11, 12});
}

TEST_CASE("a search whose time is over waits for no check, and its elites stay provisional") {
  Store store = Store::open(":memory:", Store::Mode::write);
  HeldChecks checks{.held = {2}};
  const auto archive = store.archive(store.begin_run(run_info()), {}, checks.checks(2));
  CHECK(answer(*archive, 1) == kNothing);
  CHECK(answer(*archive, 2) == kNothing);
  CHECK(answer(*archive, 3, false) == kNothing);
  checks.is_out_of_time = true;
  CHECK(answer(*archive, 4, false) == kNothing);
  REQUIRE(store.elites().size() == 2);
  for (const EliteRow& row : store.elites()) CHECK(is_provisional(row.checks));
  checks.end(2, kRace);
  CHECK(archive->retracted(4, Archive::Wait::until_checked) == std::vector<std::uint64_t>{1});
}

TEST_CASE("a run that was interrupted between two turns is told of a wrong elite at the same answer") {
  Store store = Store::open(":memory:", Store::Mode::write);
  HeldChecks checks{.held = {4}};
  const RunId run = store.begin_run(run_info());
  {
    const auto archive = store.archive(run, {}, checks.checks(4));
    for (std::uint64_t number = 1; number <= 6; ++number) CHECK(answer(*archive, number, number <= 4) == kNothing);
  }
  HeldChecks again{.held = {4}};
  const auto resumed = store.archive(run, {}, again.checks(4));
  for (std::uint64_t number = 1; number <= 6; ++number)
    CHECK(resumed->retracted(number, Archive::Wait::no) == kNothing);
  REQUIRE(again.begun == std::set<CandidateId>{4});
  again.end(4, kRace);
  CHECK(answer(*resumed, 7, false) == kNothing);
  CHECK(answer(*resumed, 8, false) == std::vector<std::uint64_t>{3});
}
