#include "population/store/elites.h"

#include <SQLiteCpp/SQLiteCpp.h>

#include <catch2/generators/catch_generators_range.hpp>
#include <chrono>
#include <deque>
#include <exception>
#include <future>
#include <limits>
#include <map>
#include <set>
#include <tuple>

#include "engine/base/rng.h"
#include "tests/population/fixture.h"

using namespace evo;
using namespace evo::test;

namespace {

const std::vector<Contender> kThree = {{1, 10, "s1", "c1"}, {2, 30, "s2", "c2"}, {3, 20, "s3", "c3"}};

EliteDecision against_three(double latency_us, const std::string& source, const std::string& cubin) {
  return decide(kThree, {9, latency_us, source, cubin});
}

}  // namespace

TEST_CASE("a candidate takes a free place") {
  const EliteDecision decision = decide(std::span(kThree).first(2), {9, 99, "s9", "c9"});
  CHECK(decision.enters);
  CHECK_FALSE(decision.displaces);
}

TEST_CASE("a faster candidate displaces the slowest elite, and no other does") {
  CHECK(against_three(29, "s9", "c9").displaces == 2);
  CHECK(against_three(5, "s9", "c9").displaces == 2);
  CHECK_FALSE(against_three(30, "s9", "c9").enters);
  CHECK_FALSE(against_three(31, "s9", "c9").enters);
}

TEST_CASE("of equally slow elites the newer one is displaced") {
  const std::vector<Contender> elites = {{4, 30, "s4", ""}, {2, 30, "s2", ""}, {3, 20, "s3", ""}};
  CHECK(decide(elites, {9, 25, "s9", ""}).displaces == 4);
}

TEST_CASE("a kernel measured again competes with itself only") {
  CHECK(against_three(15, "s3", "c3").displaces == 3);
  CHECK_FALSE(against_three(25, "s3", "c3").enters);
  CHECK(against_three(15, "s9", "c3").displaces == 3);
  CHECK(against_three(15, "s3", "c9").displaces == 3);
  CHECK_FALSE(against_three(5, "s1", "c3").enters);
}

TEST_CASE("unknown cubins are not equal cubins") {
  const std::vector<Contender> elites = {{1, 10, "s1", ""}};
  CHECK(decide(elites, {9, 20, "s9", ""}).enters);
}

TEST_CASE("a candidate whose latency is not a positive number never becomes an elite") {
  for (const double bad : {0.0, -1.0, std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity(),
                           -std::numeric_limits<double>::infinity()}) {
    CHECK_FALSE(decide({}, {9, bad, "s", "c"}).enters);
  }
}

namespace {

Evaluation built(const std::string& first, const std::string& second) {
  Evaluation evaluation;
  evaluation.builds.resize(2);
  evaluation.builds[0].specialisation = "D=64";
  evaluation.builds[0].cubin_hash = first;
  evaluation.builds[1].specialisation = "D=128";
  evaluation.builds[1].cubin_hash = second;
  return evaluation;
}

}  // namespace

TEST_CASE("the cubins of a candidate count together, in any order, and only when all are known") {
  const Candidate none;
  const std::string ab = binary_hash_of(none, built("a", "b"));
  Evaluation other_order = built("a", "b");
  std::swap(other_order.builds[0], other_order.builds[1]);
  CHECK(binary_hash_of(none, other_order) == ab);
  CHECK(binary_hash_of(none, built("b", "a")) != ab);
  CHECK(binary_hash_of(none, built("a", "")).empty());
  CHECK(binary_hash_of(none, Evaluation{}).empty());
}

TEST_CASE("the same cubin in another grid is another kernel") {
  Candidate wide = candidate(proposal(0), "a");
  wide.programs[0].plans["mission"].launches.resize(1);
  Candidate narrow = wide;
  narrow.programs[0].plans["mission"].launches[0].grid = {7, 1, 1};
  CHECK(binary_hash_of(wide, built("a", "b")) != binary_hash_of(narrow, built("a", "b")));
}

TEST_CASE("rows of another task hash, device model or objective never compete") {
  Store store = Store::open(":memory:", Store::Mode::write);
  RunInfo other_objective = run_info();
  other_objective.target.options["out"] = std::string("bf16");
  other_objective.objective = objective_of(other_objective.target);
  RunInfo accurate = run_info();
  accurate.target.objective = "accurate";
  accurate.objective = objective_of(accurate.target);
  RunInfo virtual_gpu = run_info();
  virtual_gpu.device.kind = "vgpu";
  const std::vector<RunInfo> infos = {run_info("h1"),  run_info("h2"), run_info("h1", "Other GPU"),
                                      other_objective, accurate,       virtual_gpu};
  std::uint64_t ticket = 0;
  for (const RunInfo& info : infos) {
    const auto archive = store.archive(store.begin_run(info));
    for (int i = 0; i < 4; ++i, ++ticket) {
      const Proposal p = proposal(ticket);
      archive->record(p, candidate(p, std::to_string(ticket)),
                      valid(100.0 - static_cast<double>(ticket), std::to_string(ticket)));
    }
  }
  // h1 on "Test GPU" appears once only: run_info() has the hash "hash-1".
  CHECK(store.elites().size() == 18);
  CHECK(store.elites({.task_hash = "h1"}).size() == 6);
  CHECK(store.elites({.device = "other"}).size() == 3);
  CHECK(store.elites({.device = "vgpu"}).size() == 3);
  CHECK(store.elites({.objective = "latency mission out=bf16"}).size() == 3);
  CHECK(store.elites({.objective = "latency mission"}).size() == 15);
  CHECK(store.elites({.objective = "accurate"}).size() == 3);
  CHECK(store.elites({.objective = "accurate"}).front().objective == "accurate mission out=f16");
  CHECK(store.elites({.objective = "accura"}).empty());
  CHECK(store.elites({.task = "toy"}).size() == 18);
  CHECK(store.elites({.task = "to"}).empty());
  CHECK(store.check().empty());
}

TEST_CASE("GPUs of one model share their elites, whatever their ordinal, uuid and driver") {
  Store store = Store::open(":memory:", Store::Mode::write);
  RunInfo second = run_info();
  second.device.id = "cuda:3";
  second.device.uuid = "GPU-2";
  second.device.driver = "999";
  store.archive(store.begin_run(run_info()))->record(proposal(0), candidate(proposal(0), "a"), valid(10, "a"));
  store.archive(store.begin_run(second))->record(proposal(1), candidate(proposal(1), "b"), valid(9, "b"));
  const std::vector<EliteRow> elites = store.elites();
  REQUIRE(elites.size() == 2);
  CHECK(elites[0].rank == 1);
  CHECK(elites[0].device.uuid == "GPU-2");
  CHECK(elites[1].rank == 2);
}

TEST_CASE("elites of a former task hash are distinguished from the current ones") {
  Store store = Store::open(":memory:", Store::Mode::write);
  store.archive(store.begin_run(run_info("old")))->record(proposal(0), candidate(proposal(0), "a"), valid(10, "a"));
  CHECK(store.elites().at(0).current);
  store.archive(store.begin_run(run_info("new")))->record(proposal(1), candidate(proposal(1), "b"), valid(20, "b"));
  const std::vector<EliteRow> elites = store.elites();
  REQUIRE(elites.size() == 2);
  CHECK((elites[0].task_hash == "new" && elites[0].current));
  CHECK((elites[1].task_hash == "old" && !elites[1].current));
}

TEST_CASE("an elite's row has the latency, the error, the registers and the genome") {
  Store store = Store::open(":memory:", Store::Mode::write);
  const RunId run = store.begin_run(run_info());
  Evaluation evaluation = valid(10, "a");
  evaluation.builds.push_back({"D=128", "sm_90a", "cubin b", 1});
  evaluation.builds.back().kernels = {{"launched", {.registers = 200, .launched = true}},
                                      {"not launched", {.registers = 255, .spill_bytes = 99}}};
  evaluation.timings[0].modelled = true;
  store.archive(run)->record(proposal(0), candidate(proposal(0), "a"), evaluation);
  const EliteRow elite = store.elites().at(0);
  CHECK(elite.candidate == store.candidate_of(run, 0));
  CHECK(elite.run == run);
  CHECK(elite.latency_us == 10);
  CHECK(elite.registers == 200);
  CHECK(elite.spill_bytes == 8);
  CHECK(elite.worst_relative_l2 == 0.01);
  CHECK(elite.modelled);
  CHECK(elite.timings.at(0).median_us == 10);
  CHECK(elite.timings.at(0).samples_us == evaluation.timings[0].samples_us);
  CHECK(elite.genome == proposal(0).genome);
  CHECK(elite.objective == "latency mission out=f16");
  CHECK(elite.since.size() == 24);
}

TEST_CASE("each displacement is recorded with both candidates and the time") {
  const TempFolder folder;
  const std::string path = folder / "evo.db";
  Store store = Store::open(path, Store::Mode::write);
  const auto archive = store.archive(store.begin_run(run_info()));
  const double latencies[] = {40, 30, 50, 20, 60};
  for (std::uint64_t i = 0; i < 5; ++i) {
    archive->record(proposal(i), candidate(proposal(i), std::to_string(i)), valid(latencies[i], std::to_string(i)));
  }
  archive->settle();
  const SQLite::Database database(path);
  SQLite::Statement history(database,
                            "SELECT group_concat(entered || ' ' || entered_us || ' ' || "
                            "coalesce(displaced || ' ' || displaced_us, 'none'), '; '), min(length(at)) "
                            "FROM (SELECT * FROM elite_history ORDER BY id)");
  REQUIRE(history.executeStep());
  CHECK(history.getColumn(0).getString() == "1 40.0 none; 2 30.0 none; 3 50.0 none; 4 20.0 3 50.0");
  CHECK(history.getColumn(1).getInt() == 24);
}

namespace {

using Key = std::tuple<std::string, std::string>;  // task hash, device name

/// What the elites must be, computed from all results at once: of each kernel its fastest, the first of
/// equals; of these the three fastest.
struct Oracle {
  struct Entry {
    double latency_us;
    std::uint64_t order;
  };
  std::map<Key, std::map<std::string, Entry>> kernels;

  void add(const Key& key, const std::string& source, double latency_us, std::uint64_t order) {
    const auto [found, added] = kernels[key].try_emplace(source, Entry{latency_us, order});
    if (!added && latency_us < found->second.latency_us) found->second = {latency_us, order};
  }

  std::vector<double> best(const Key& key) const {
    std::vector<double> latencies;
    for (const auto& [source, entry] : kernels.at(key)) latencies.push_back(entry.latency_us);
    std::sort(latencies.begin(), latencies.end());
    latencies.resize(std::min<std::size_t>(latencies.size(), 3));
    return latencies;
  }
};

std::map<Key, std::vector<double>> ladders(const Store& store) {
  std::map<Key, std::vector<double>> ladders;
  for (const EliteRow& elite : store.elites()) {
    ladders[{elite.task_hash, elite.device.name}].push_back(elite.latency_us);
  }
  return ladders;
}

/// The n-th best never gets slower and never disappears.
void check_never_worse(const std::vector<double>& before, const std::vector<double>& after) {
  REQUIRE(after.size() >= before.size());
  REQUIRE(after.size() <= 3);
  for (std::size_t i = 0; i < before.size(); ++i) REQUIRE(after[i] <= before[i]);
}

void check_elites(const Store& store) {
  std::set<std::pair<Key, std::string>> sources;
  for (const EliteRow& elite : store.elites()) {
    const CandidateRow row = store.candidate(elite.candidate).value();
    REQUIRE(row.evaluation.verdict == Verdict::valid);
    REQUIRE(row.evaluation.latency_us == elite.latency_us);
    REQUIRE(row.elite_rank == elite.rank);
    REQUIRE(sources.insert({{elite.task_hash, elite.device.name}, elite.source_hash}).second);
  }
  REQUIRE(store.check() == std::vector<std::string>{});
}

}  // namespace

TEST_CASE("whatever is recorded in whatever order, the elites are the three fastest distinct valid kernels") {
  const std::uint64_t seed = GENERATE(range(1, 9));
  Rng rng(seed);
  const TempFolder folder;
  std::optional<Store> store = Store::open(folder / "evo.db", Store::Mode::write);
  Oracle oracle;
  struct Open {
    Key key;
    RunId run;
    std::uint64_t next_ticket;
  };
  std::vector<Open> runs;
  std::map<Key, std::vector<double>> before;
  const Verdict failures[] = {Verdict::wrong_answer, Verdict::duplicate, Verdict::impossible_time, Verdict::crashed};

  for (std::uint64_t step = 0; step < 150; ++step) {
    if (runs.empty() || rng.below(15) == 0) {
      const Key key{"h" + std::to_string(rng.below(2)), "GPU " + std::to_string(rng.below(2))};
      runs.push_back({key, store->begin_run(run_info(std::get<0>(key), std::get<1>(key))), 0});
    }
    if (rng.below(40) == 0) {
      store.reset();
      store = Store::open(folder / "evo.db", Store::Mode::write);
    }
    Open& open = runs[rng.below(runs.size())];
    const Proposal p = proposal(open.next_ticket++);
    // Few sources and few latencies, so that duplicates and ties are common.
    const std::string source = "source " + std::to_string(rng.below(12));
    const double latency_us = 1.0 + static_cast<double>(rng.below(20));
    const bool is_valid = rng.below(3) != 0;
    Evaluation evaluation = valid(latency_us, source);
    if (!is_valid) evaluation.verdict = failures[rng.below(4)];
    store->archive(open.run)->record(p, candidate(p, source), evaluation);
    if (is_valid) oracle.add(open.key, source, latency_us, step);

    const auto after = ladders(*store);
    for (const auto& [key, ladder] : before) check_never_worse(ladder, after.at(key));
    if (is_valid) REQUIRE(after.at(open.key) == oracle.best(open.key));
    before = after;
  }
  check_elites(*store);
}

namespace {

/// A comparer whose results are given by hand.
struct FakeComparer {
  struct Asked {
    CandidateId challenger = 0, incumbent = 0;
    std::promise<std::optional<EliteComparison>> result = {};
  };
  std::deque<Asked> asked;
  bool time_beside = true, time_after = true;
  double margin = 1;  ///< A part of the incumbent's latency.
  std::function<EliteComparison(CandidateId challenger, CandidateId incumbent)> at_once = {};

  EliteComparer comparer() {
    EliteComparer comparer;
    comparer.plainly_faster = [this](const Evaluation& challenger, const Evaluation& elite, bool) {
      return challenger.latency_us < elite.latency_us * (1 - margin);
    };
    comparer.may_start = [this](EliteComparer::When when) {
      return when == EliteComparer::When::beside_search ? time_beside : time_after;
    };
    comparer.start = [this](CandidateId challenger, CandidateId incumbent) {
      Asked& one = asked.emplace_back(Asked{challenger, incumbent});
      if (at_once) one.result.set_value(at_once(challenger, incumbent));
      return one.result.get_future();
    };
    return comparer;
  }

  void answer_last(Standing standing, double ratio = 0.98) {
    asked.back().result.set_value(EliteComparison{asked.back().incumbent, standing, ratio});
  }
};

/// A run in a database whose comparisons are given by hand.
struct Compared {
  explicit Compared(Store in = Store::open(":memory:", Store::Mode::write))
      : store(std::move(in)), run(store.begin_run(run_info())) {}

  Store store;
  RunId run;
  FakeComparer fake;
  std::unique_ptr<Archive> archive = store.archive(run, fake.comparer());
  std::uint64_t ticket = 0;

  CandidateId record(double latency_us) { return record(latency_us, "cubin " + std::to_string(ticket)); }
  CandidateId record(double latency_us, const std::string& cubin) {
    const Proposal next = proposal(ticket);
    archive->record(next, candidate(next, "source " + std::to_string(ticket)), valid(latency_us, cubin));
    return store.candidate_of(run, ticket++).value();
  }
  std::vector<double> ladder() const {
    std::vector<double> latencies;
    for (const EliteRow& row : store.elites()) latencies.push_back(row.latency_us);
    return latencies;
  }
  std::optional<EliteComparison> comparison(CandidateId id) const { return store.candidate(id)->evaluation.comparison; }
};

}  // namespace

TEST_CASE("a challenger displaces an elite only if the comparison favours it, and its result is stored") {
  Compared run;
  const CandidateId slowest = run.record(30);
  run.record(29);
  run.record(28);
  run.record(40);
  CHECK(run.fake.asked.empty());  // Free places are taken without a comparison, and a slower one is no challenger.

  const CandidateId same = run.record(27);
  REQUIRE(run.fake.asked.size() == 1);
  CHECK(run.fake.asked.back().challenger == same);
  CHECK(run.fake.asked.back().incumbent == slowest);
  run.fake.answer_last(Standing::same);
  run.archive->settle();
  CHECK(run.ladder() == std::vector<double>{28, 29, 30});
  CHECK(run.comparison(same).value().standing == Standing::same);
  CHECK(run.comparison(same)->elite == slowest);

  const CandidateId faster = run.record(26);
  run.fake.answer_last(Standing::faster);
  run.archive->settle();
  CHECK(run.fake.asked.size() == 2);  // One that was compared is not compared again.
  CHECK(run.ladder() == std::vector<double>{26, 28, 29});
  CHECK(run.comparison(faster).value().standing == Standing::faster);
  CHECK(run.store.check().empty());
}

TEST_CASE("results do not wait for a comparison") {
  Compared run;
  for (int i = 0; i < 3; ++i) run.record(30 - i);
  run.record(20);
  for (int i = 0; i < 50; ++i) run.record(50);
  CHECK(run.store.run(run.run)->evaluated == 54);
  CHECK(run.fake.asked.size() == 1);
  CHECK(run.ladder() == std::vector<double>{28, 29, 30});
  run.fake.answer_last(Standing::faster);
  run.record(50);
  CHECK(run.ladder() == std::vector<double>{20, 28, 29});
}

TEST_CASE("one that is plainly faster than an elite displaces it without a comparison") {
  Compared run;
  run.fake.margin = 0.05;
  for (int i = 0; i < 3; ++i) run.record(30);
  run.record(28);
  CHECK(run.fake.asked.empty());
  CHECK(run.ladder().front() == 28);
  run.record(29);
  CHECK(run.fake.asked.size() == 1);
}

TEST_CASE("the fastest challenger is compared first, and one that falls behind the elites never") {
  Compared run;
  for (int i = 0; i < 3; ++i) run.record(30);
  run.fake.time_beside = false;
  const CandidateId behind = run.record(29), second = run.record(20), first = run.record(19);
  run.record(28.5);
  CHECK(run.fake.asked.empty());
  run.fake.at_once = [&](CandidateId challenger, CandidateId incumbent) {
    if (challenger == second) run.fake.time_after = false;
    return EliteComparison{incumbent, Standing::faster};
  };
  run.archive->settle();
  REQUIRE(run.fake.asked.size() == 2);
  CHECK(run.fake.asked[0].challenger == first);
  CHECK(run.fake.asked[1].challenger == second);
  CHECK(run.ladder() == std::vector<double>{19, 20, 30});
  CHECK_FALSE(run.comparison(behind));
}

TEST_CASE("a resumed run compares the challengers that had not been compared") {
  Compared run;
  for (int i = 0; i < 3; ++i) run.record(30);
  const CandidateId compared = run.record(20);
  const CandidateId left = run.record(21);
  run.fake.answer_last(Standing::same);
  run.fake.time_after = false;
  run.archive->settle();
  CHECK(run.comparison(compared));
  FakeComparer again;
  again.at_once = [](CandidateId, CandidateId incumbent) { return EliteComparison{incumbent, Standing::faster}; };
  run.store.archive(run.run, again.comparer())->settle();
  REQUIRE(again.asked.size() == 1);
  CHECK(again.asked.front().challenger == left);
  CHECK(run.ladder().front() == 21);
}

TEST_CASE("a resumed run knows which of its challengers are one kernel") {
  Compared run;
  for (int i = 0; i < 3; ++i) run.record(30);
  run.fake.time_beside = false;
  run.record(21, "the same cubin");
  const CandidateId faster = run.record(20, "the same cubin");
  FakeComparer again;
  again.at_once = [](CandidateId, CandidateId incumbent) { return EliteComparison{incumbent, Standing::faster}; };
  run.store.archive(run.run, again.comparer())->settle();
  REQUIRE(again.asked.size() == 1);
  CHECK(again.asked.front().challenger == faster);
  CHECK(run.ladder() == std::vector<double>{20, 30, 30});
}

TEST_CASE("a comparison that fails ends the run, and a resumed one makes it again") {
  Compared run;
  for (int i = 0; i < 3; ++i) run.record(30);
  const CandidateId challenger = run.record(20);
  run.fake.asked.back().result.set_exception(std::make_exception_ptr(machine_error("no GPU is left")));
  CHECK_THROWS_WITH(run.record(50), "no GPU is left");
  FakeComparer again;
  const auto resumed = run.store.archive(run.run, again.comparer());
  again.at_once = [](CandidateId, CandidateId incumbent) { return EliteComparison{incumbent, Standing::same}; };
  resumed->settle();
  REQUIRE(again.asked.size() == 1);
  CHECK(again.asked.front().challenger == challenger);
}

TEST_CASE("a comparison is repeated when the elite changes while it is measured") {
  const TempFolder folder;
  Compared run(Store::open(folder / "evo.db", Store::Mode::write));
  Compared other(Store::open(folder / "evo.db", Store::Mode::write));
  for (int i = 0; i < 3; ++i) other.record(30 - i);
  run.ticket = 100;  // Other sources.
  run.fake.at_once = [&](CandidateId, CandidateId incumbent) {
    other.fake.margin = 0;
    if (run.fake.asked.size() == 1) other.record(20);  // Displaces the very elite that is being measured.
    return EliteComparison{incumbent, Standing::faster};
  };
  run.record(10);
  run.archive->settle();
  REQUIRE(run.fake.asked.size() == 2);
  CHECK(run.fake.asked[0].incumbent != run.fake.asked[1].incumbent);
  CHECK(run.ladder() == std::vector<double>{10, 20, 28});
  CHECK(run.store.check().empty());
}

TEST_CASE("a challenger that another process finds wrong while it is compared does not become an elite") {
  Compared run;
  for (int i = 0; i < 3; ++i) run.record(30);
  const CandidateId wrong = run.record(20);
  run.store.record_checks(wrong, {{}, EliteFinding{Verdict::crashed, "race"}});
  run.fake.answer_last(Standing::faster);
  run.archive->settle();
  CHECK(run.ladder() == std::vector<double>{30, 30, 30});
  CHECK(run.store.check().empty());
}

namespace {

Contender modelled(std::int64_t id, double latency_us, double error, const std::string& family = "f",
                   int registers = 32) {
  return {id, latency_us, "source " + std::to_string(id), "", family, error, registers};
}

}  // namespace

TEST_CASE("of modelled candidates that are as fast and err as much one is an elite") {
  const std::vector<Contender> elites = {modelled(1, 10, 0.02), modelled(2, 11, 0.02)};
  CHECK_FALSE(decide(elites, modelled(3, 10, 0.02)).enters);
  CHECK_FALSE(decide(elites, modelled(3, 10 * (1 - 1e-14), 0.0201)).enters);
  CHECK(decide(elites, modelled(3, 10, 0.03)).enters);                               // It answers otherwise.
  CHECK(decide(elites, modelled(3, 10, 0.02, "g")).enters);                          // It is another algorithm.
  CHECK(decide(elites, modelled(3, 10, 0.02, "f", 40)).enters);                      // It is other code.
  CHECK(decide(elites, modelled(3, 9.999, 0.02)).enters);                            // It is faster.
  CHECK(decide(std::vector<Contender>{{1, 10, "a", ""}}, {2, 10, "b", ""}).enters);  // Measured times tie by chance.
}

TEST_CASE("an elite stands for the genomes that make its kernel") {
  Store store = Store::open(":memory:", Store::Mode::write);
  RunInfo info = run_info();
  info.device.kind = "vgpu";
  const RunId run = store.begin_run(info);
  const auto archive = store.archive(run);
  std::uint64_t ticket = 0;
  const auto record = [&](double latency_us, Evaluation evaluation) {
    evaluation.timings[0].modelled = true;
    evaluation.latency_us = latency_us;
    const Proposal next = proposal(ticket);
    archive->record(next, candidate(next, "source " + std::to_string(ticket)), evaluation);
    ++ticket;
  };
  record(10, valid(10, "a"));
  record(10, valid(10, "b"));  // Its genes differ in vain.
  Evaluation copy = valid(10, "a");
  copy.verdict = Verdict::duplicate;
  copy.original = Original{0, Shared::cubin, Verdict::valid};
  record(10, copy);
  Evaluation coarse = valid(10, "c");
  coarse.worst_relative_l2 = 0.02;
  record(10, coarse);
  record(12, valid(12, "d"));
  const std::vector<EliteRow> elites = store.elites();
  REQUIRE(elites.size() == 3);
  CHECK(elites[0].candidate == store.candidate_of(run, 0));
  CHECK(elites[0].genomes == 3);
  CHECK(elites[1].genomes == 1);
  CHECK(elites[2].genomes == 1);
}

namespace {

/// Checks of elites that find those of the given candidates wrong.
struct FakeChecks {
  std::set<CandidateId> wrong;
  std::vector<CandidateId> checked;

  EliteChecks checks(std::uint64_t every = 0) {
    EliteChecks checks;
    checks.every = every;
    checks.start = [this](CandidateId elite) {
      checked.push_back(elite);
      CheckedElite result;
      if (wrong.contains(elite))
        result.finding = EliteFinding{Verdict::crashed, "race: two blocks write y"};
      else
        for (const std::string_view name : kEliteChecks)
          result.checks.push_back({std::string(name), EliteCheck::Outcome::passed, "3 shapes"});
      std::promise<CheckedElite> promise;
      promise.set_value(result);
      return promise.get_future();
    };
    return checks;
  }
};

/// Records so many valid candidates of one run, the later the faster: candidate n has ticket n - 1.
void record_valid(Archive& archive, std::uint64_t first, std::uint64_t count) {
  for (std::uint64_t i = first; i < first + count; ++i)
    archive.record(proposal(i), candidate(proposal(i), std::to_string(i)),
                   valid(100.0 - static_cast<double>(i), std::to_string(i)));
  archive.settle();
}

std::vector<CandidateId> ranked(const Store& store) {
  std::vector<CandidateId> candidates;
  for (const EliteRow& row : store.elites()) candidates.push_back(row.candidate);
  return candidates;
}

}  // namespace

TEST_CASE("an elite is provisional until its checks are made, the best one's first") {
  Store store = Store::open(":memory:", Store::Mode::write);
  FakeChecks fake;
  const auto archive = store.archive(store.begin_run(run_info()), {}, fake.checks());
  record_valid(*archive, 0, 4);
  for (const EliteRow& row : store.elites()) CHECK(reservation_about(row.checks).starts_with("provisional"));
  CHECK(archive->retracted(4, Archive::Wait::until_checked).empty());
  CHECK(fake.checked == std::vector<CandidateId>{4, 3, 2});
  for (const EliteRow& row : store.elites()) CHECK(reservation_about(row.checks).empty());
  CHECK(store.candidate(1)->checks.empty());
}

TEST_CASE("an elite that a check finds wrong gets that verdict, and a displaced one takes its place again") {
  Store store = Store::open(":memory:", Store::Mode::write);
  FakeChecks fake{.wrong = {3, 5}, .checked = {}};
  const auto archive = store.archive(store.begin_run(run_info()), {}, fake.checks());
  record_valid(*archive, 0, 5);
  CHECK(ranked(store) == std::vector<CandidateId>{5, 4, 3});
  CHECK(archive->retracted(5, Archive::Wait::until_checked) == std::vector<std::uint64_t>{2, 4});
  CHECK(archive->retracted(5, Archive::Wait::until_checked).empty());
  CHECK(ranked(store) == std::vector<CandidateId>{4, 2, 1});
  const Evaluation evaluation = store.candidate(5)->evaluation;
  CHECK(evaluation.verdict == Verdict::crashed);
  CHECK(evaluation.reason == "race: two blocks write y");
  CHECK(store.check().empty());
}

TEST_CASE("a resumed run is told what was retracted at the same answers, and recalls what it was told before") {
  Store store = Store::open(":memory:", Store::Mode::write);
  const RunId run = store.begin_run(run_info());
  FakeChecks fake{.wrong = {2}, .checked = {}};
  const auto answer = [](Archive& archive, std::uint64_t number) {
    record_valid(archive, number - 1, 1);
    return archive.retracted(number, Archive::Wait::no);
  };
  {
    const auto archive = store.archive(run, {}, fake.checks(2));
    for (std::uint64_t number = 1; number < 4; ++number) CHECK(answer(*archive, number).empty());
    CHECK(answer(*archive, 4) == std::vector<std::uint64_t>{1});
    CHECK(answer(*archive, 5).empty());
  }
  const auto resumed = store.archive(run, {}, fake.checks(2));
  const Evaluation recalled = resumed->recall(proposal(1))->evaluation;
  CHECK(recalled.verdict == Verdict::valid);
  CHECK(recalled.latency_us == 99);
  CHECK(recalled.reason.empty());
  for (std::uint64_t number = 1; number < 4; ++number) CHECK(resumed->retracted(number, Archive::Wait::no).empty());
  CHECK(resumed->retracted(4, Archive::Wait::no) == std::vector<std::uint64_t>{1});
  CHECK(resumed->retracted(5, Archive::Wait::no).empty());
}

TEST_CASE("a finding from outside of a run reaches its search when it is resumed") {
  Store store = Store::open(":memory:", Store::Mode::write);
  const RunId run = store.begin_run(run_info());
  record_valid(*store.archive(run), 0, 3);
  store.record_checks(3, {{}, EliteFinding{Verdict::wrong_answer, "at a size that was not listed"}});
  CHECK(ranked(store) == std::vector<CandidateId>{2, 1});
  const auto resumed = store.archive(run);
  CHECK(resumed->retracted(2, Archive::Wait::no).empty());
  CHECK(resumed->retracted(3, Archive::Wait::no) == std::vector<std::uint64_t>{2});
  // It was told now: at the same answer from here on.
  CHECK(store.archive(run)->retracted(3, Archive::Wait::no) == std::vector<std::uint64_t>{2});
  CHECK(store.check().empty());
}

TEST_CASE("where one elite after the other is wrong, checks end some time behind the search's end") {
  Store store = Store::open(":memory:", Store::Mode::write);
  FakeChecks fake;
  for (CandidateId id = 1; id <= 60; ++id) fake.wrong.insert(id);
  const auto archive = store.archive(store.begin_run(run_info()), {}, fake.checks());
  record_valid(*archive, 0, 60);
  while (!archive->retracted(60, Archive::Wait::until_checked).empty()) {
  }
  CHECK(fake.checked.size() == 24);
  REQUIRE(store.elites().size() == 3);
  CHECK(is_provisional(store.elites().front().checks));
}

TEST_CASE("a machine that cannot make checks leaves elites provisional") {
  Store store = Store::open(":memory:", Store::Mode::write);
  std::vector<std::string> lines;
  EliteChecks checks;
  checks.start = [](CandidateId) {
    std::promise<CheckedElite> promise;
    promise.set_exception(std::make_exception_ptr(machine_error("there is no compiler")));
    return promise.get_future();
  };
  checks.notice = [&](const std::string& line) { lines.push_back(line); };
  const auto archive = store.archive(store.begin_run(run_info()), {}, checks);
  record_valid(*archive, 0, 2);
  CHECK(archive->retracted(2, Archive::Wait::until_checked).empty());
  CHECK(lines.back() == "elites stay provisional: there is no compiler");
  CHECK(is_provisional(store.elites().front().checks));
}

TEST_CASE("a merge brings a retraction of a known candidate") {
  const TempFolder folder;
  {
    Store first = Store::open(folder / "here.db", Store::Mode::write);
    record_valid(*first.archive(first.begin_run(run_info())), 0, 4);
  }
  std::filesystem::copy(folder / "here.db", folder / "there.db");
  Store::open(folder / "there.db", Store::Mode::write)
      .record_checks(4, {{}, EliteFinding{Verdict::crashed, "race: two blocks write y"}});
  Store here = Store::open(folder / "here.db", Store::Mode::write);
  const MergeCounts counts = here.merge(folder / "there.db");
  CHECK(counts.contradicting_runs.empty());
  CHECK(ranked(here) == std::vector<CandidateId>{3, 2, 1});
  CHECK(here.candidate(4)->evaluation.verdict == Verdict::crashed);
  CHECK(here.check().empty());
}

namespace {

Evaluation of_error(double latency_us, double error, const std::string& cubin) {
  Evaluation evaluation = valid(latency_us, cubin);
  evaluation.worst_relative_l2 = error;
  return evaluation;
}

/// Records candidates of these latencies and errors; candidate n is the n-th.
void record_all(Archive& archive, const std::vector<std::pair<double, double>>& figures) {
  for (std::uint64_t i = 0; i < figures.size(); ++i)
    archive.record(proposal(i), candidate(proposal(i), std::to_string(i)),
                   of_error(figures[i].first, figures[i].second, std::to_string(i)));
}

std::vector<CandidateId> front_of(const Store& store) {
  std::vector<CandidateId> candidates;
  for (const EliteRow& row : store.front()) candidates.push_back(row.candidate);
  return candidates;
}

}  // namespace

TEST_CASE("a board keeps the front of latency over error where a run asks for it") {
  Store store = Store::open(":memory:", Store::Mode::write);
  const std::vector<std::pair<double, double>> figures = {{10, 0.03},  {11, 0.031}, {12, 0.02},  {13, 0.0199},
                                                          {14, 0.001}, {9, 0.04},   {12, 0.019}, {15, 0.001}};
  record_all(*store.archive(store.begin_run(run_info())), figures);
  CHECK(front_of(store).empty());
  RunInfo keeps = run_info();
  keeps.keeps_front = true;
  keeps.until = "95%";
  const RunId run = store.begin_run(keeps);
  CHECK(store.run(run)->info.keeps_front);
  CHECK(store.run(run)->info.until == "95%");
  CHECK(front_of(store) == std::vector<CandidateId>{6, 1, 7, 5});
  const EliteRow row = store.front().at(1);
  CHECK(row.rank == 2);
  CHECK(row.latency_us == 10);
  CHECK(row.worst_relative_l2 == 0.03);
  CHECK(store.front({.task = "other"}).empty());
}

TEST_CASE("points of a kept front go through the checks of elites, and one that is wrong leaves it") {
  Store store = Store::open(":memory:", Store::Mode::write);
  RunInfo info = run_info();
  info.keeps_front = true;
  FakeChecks fake{.wrong = {4}, .checked = {}};
  const RunId run = store.begin_run(info);
  const auto archive = store.archive(run, {}, fake.checks());
  record_all(*archive, {{10, 0.03}, {11, 0.03}, {12, 0.03}, {13, 0.01}, {14, 0.012}});
  CHECK(ranked(store) == std::vector<CandidateId>{1, 2, 3});
  CHECK(front_of(store) == std::vector<CandidateId>{1, 4});
  CHECK(archive->retracted(5, Archive::Wait::until_checked) == std::vector<std::uint64_t>{3});
  CHECK(front_of(store) == std::vector<CandidateId>{1, 5});
  CHECK(archive->retracted(5, Archive::Wait::until_checked).empty());
  CHECK(std::set<CandidateId>(fake.checked.begin(), fake.checked.end()) == std::set<CandidateId>{1, 2, 3, 4, 5});
  for (const EliteRow& row : store.front()) CHECK(reservation_about(row.checks).empty());
  CHECK(store.check().empty());
}

TEST_CASE("the elites and the front of the run's own board are checked, also those of a later answer") {
  Store store = Store::open(":memory:", Store::Mode::write);
  RunInfo other = run_info();
  other.keeps_front = true;
  other.objective = "another";
  record_all(*store.archive(store.begin_run(other)), {{1, 0.5}});
  RunInfo info = run_info();
  info.keeps_front = true;
  FakeChecks fake;
  const auto archive = store.archive(store.begin_run(info), {}, fake.checks());
  record_all(*archive, {{10, 0.03}, {11, 0.03}, {12, 0.031}, {13, 0.0299}, {14, 0.02}, {15, 0.01}});
  const auto checked = [&] { return std::set<CandidateId>(fake.checked.begin(), fake.checked.end()); };
  for (std::uint64_t answered = 6; answered < 20; ++answered) archive->retracted(answered, Archive::Wait::no);
  CHECK(checked() == std::set<CandidateId>{2, 3, 4, 6, 7});
  const Proposal later = proposal(6);
  archive->record(later, candidate(later, "source 6"), valid(9, "cubin 6"));
  archive->retracted(20, Archive::Wait::no);
  CHECK(checked().contains(8));
}
