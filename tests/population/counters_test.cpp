// Counters of candidates in the database.

#include "tests/population/fixture.h"

using namespace evo;
using namespace evo::test;
using Catch::Matchers::ContainsSubstring;

namespace {

Profile profile(const std::string& shape, bool modelled, double first) {
  return {shape, modelled, {{"first", {{"a.sum", first}, {"b.avg", 0.5}}}, {"second", {{"a.sum", 7}}}}};
}

CandidateId record(Store& store, const Evaluation& evaluation) {
  store.archive(store.begin_run(run_info()))->record(proposal(0), candidate(proposal(0), "source"), evaluation);
  return 1;
}

}  // namespace

TEST_CASE("counters that came with an evaluation are read back") {
  Store store = Store::open(":memory:", Store::Mode::write);
  Evaluation evaluation = valid(10, "a");
  evaluation.profiles = {profile("mission", false, 3), profile("mission", true, 4)};
  const std::vector<Profile> read = store.candidate(record(store, evaluation))->evaluation.profiles;
  REQUIRE(read.size() == 2);
  CHECK(read[0].shape == "mission");
  CHECK_FALSE(read[0].modelled);
  CHECK(read[1].modelled);
  REQUIRE(read[0].launches.size() == 2);
  CHECK(read[0].launches[0].kernel == "first");
  CHECK(read[0].launches[0].value("a.sum") == 3);
  CHECK(read[0].launches[0].value("b.avg") == 0.5);
  CHECK(read[0].launches[1].kernel == "second");
  CHECK(read[1].launches[0].value("a.sum") == 4);
}

TEST_CASE("newer counters take the place of older ones of their shape, measured and modelled apart") {
  Store store = Store::open(":memory:", Store::Mode::write);
  const CandidateId id = record(store, valid(10, "a"));
  store.record_profile(id, profile("mission", false, 3));
  store.record_profile(id, profile("mission", true, 4));
  store.record_profile(id, profile("tail", false, 5));
  Profile newer = profile("mission", false, 6);
  newer.launches.pop_back();
  store.record_profile(id, newer);
  const std::vector<Profile> read = store.candidate(id)->evaluation.profiles;
  REQUIRE(read.size() == 3);
  REQUIRE(read[0].launches.size() == 1);
  CHECK(read[0].launches[0].value("a.sum") == 6);
  CHECK(read[1].launches[0].value("a.sum") == 4);
  CHECK(read[2].launches[0].value("a.sum") == 5);
  CHECK(store.check().empty());
}

TEST_CASE("counters of a candidate that does not exist are refused") {
  Store store = Store::open(":memory:", Store::Mode::write);
  CHECK_THAT(error_of([&] { store.record_profile(17, profile("mission", false, 3)); }),
             ContainsSubstring("has no candidate 17"));
}

TEST_CASE("counters come along when databases are merged") {
  const TempFolder folder;
  {
    Store from = Store::open(folder / "from.db", Store::Mode::write);
    from.record_profile(record(from, valid(10, "a")), profile("mission", false, 3));
  }
  Store into = Store::open(folder / "into.db", Store::Mode::write);
  into.merge(folder / "from.db");
  const std::vector<Profile> read = into.candidate(1)->evaluation.profiles;
  REQUIRE(read.size() == 1);
  CHECK(read[0].launches[0].value("a.sum") == 3);
}
