#include "engine/search/surrogate_screening.h"

#include <deque>
#include <limits>
#include <map>
#include <set>

#include "engine/strategy/strategies.h"
#include "tests/engine/support.h"

using namespace evo;
using namespace evo::test;

namespace {

Genome at_x(std::int64_t x) {
  return {"f", {{"x", number(x)}}};
}

std::int64_t x_of(const Genome& genome) {
  return std::get<std::int64_t>(genome.genes.at("x"));
}

/// x from 0 to 99.
const Space& line() {
  static const Space kLine = [] {
    std::vector<Value> values;
    for (int i = 0; i < 100; ++i) values.push_back(number(i));
    return Space({evo::test::family("f", {gene("x", values)}, {})}, {}, {});
  }();
  return kLine;
}

constexpr double kUnknown = -1;

/// Knows a latency for some x, and the programs of some; others fail.
class Table : public InstantPredictor {
 public:
  explicit Table(std::map<std::int64_t, double> latencies, std::map<std::int64_t, std::string> programs = {})
      : table_(std::move(latencies)), programs_(std::move(programs)) {}

 protected:
  std::optional<PredictedLatency> prediction(const Genome& genome) override {
    const auto known = table_.find(x_of(genome));
    PredictedLatency found{known != table_.end() ? known->second : std::numeric_limits<double>::infinity()};
    if (found.latency == kUnknown) found.latency.reset();
    if (programs_.contains(x_of(genome))) found.program = programs_.at(x_of(genome));
    return found;
  }

 private:
  std::map<std::int64_t, double> table_;
  std::map<std::int64_t, std::string> programs_;
};

/// Proposes x = 0, 1, 2, ..., each the child of the one before, and notes its answers.
class CountingStrategy : public Strategy {
 public:
  CountingStrategy(std::uint64_t end, std::map<std::uint64_t, std::optional<double>>& answers)
      : end_(end), answers_(answers) {}
  std::optional<Proposal> ask() override {
    if (next_ == end_) return std::nullopt;
    return propose(at_x(static_cast<std::int64_t>(next_)), "count");
  }
  std::optional<Proposal> offer(const Genome& genome, std::string op, std::vector<std::uint64_t>) override {
    return propose(genome, std::move(op));
  }
  void tell(const Answer& answer) override { answers_[answer.ticket] = answer.latency_us; }

 private:
  Proposal propose(Genome genome, std::string op) {
    Proposal proposal{next_++, std::move(genome), std::move(op), {}};
    if (proposal.ticket > 0) proposal.parents = {proposal.ticket - 1};
    return proposal;
  }
  std::uint64_t next_ = 0;
  std::uint64_t end_;
  std::map<std::uint64_t, std::optional<double>>& answers_;
};

}  // namespace

TEST_CASE("of each batch the proposal predicted fastest is measured, and the others get scaled predictions") {
  Table table({{0, 5.0}, {1, 3.0}, {2, 4.0}, {3, 9.0}, {4, 7.0}, {5, 8.0}});
  std::map<std::uint64_t, std::optional<double>> answers;
  const auto strategy =
      make_screened(std::make_unique<CountingStrategy>(6, answers), line(), table, {.among = 3, .chances = 1});
  const auto first = strategy->ask();
  REQUIRE(first);
  CHECK(first->ticket == 0);
  CHECK(x_of(first->genome) == 1);
  CHECK(answers.empty());  // what predicted latencies mean is not known yet
  strategy->tell({0, 6.0});
  CHECK(answers == std::map<std::uint64_t, std::optional<double>>{{0, 10.0}, {1, 6.0}, {2, 8.0}});
  const auto second = strategy->ask();
  CHECK(second->ticket == 1);
  CHECK(x_of(second->genome) == 4);
  CHECK(answers.at(3) == 18.0);
  CHECK(answers.at(5) == 16.0);
  CHECK(!answers.contains(4));
  strategy->tell({1, std::nullopt});
  CHECK(answers.at(4) == std::nullopt);
  CHECK(!strategy->ask());
}

TEST_CASE("the strategy is told the traits of what was measured and of what was not") {
  class Telling : public InstantPredictor {
   public:
    std::size_t traits() const override { return 1; }

   protected:
    std::optional<PredictedLatency> prediction(const Genome& genome) override {
      const auto x = static_cast<float>(x_of(genome));
      return PredictedLatency{10 + x, "", {x}};
    }
  } predictor;
  class Noting : public CountingStrategy {
   public:
    explicit Noting(std::vector<Answer>& answers) : CountingStrategy(4, unused_), told_(answers) {}
    void tell(const Answer& answer) override { told_.push_back(answer); }

   private:
    std::vector<Answer>& told_;
    std::map<std::uint64_t, std::optional<double>> unused_;
  };
  std::vector<Answer> answers;
  const auto strategy = make_screened(std::make_unique<Noting>(answers), line(), predictor, {.among = 4, .chances = 1});
  strategy->tell({strategy->ask()->ticket, 10.0});
  REQUIRE(answers.size() == 4);
  for (const Answer& answer : answers) CHECK(answer.traits == std::vector{static_cast<float>(answer.ticket)});
}

TEST_CASE("a genome that is expected to be the best so far is measured before it gets an answer") {
  Table table({{0, 1.0}, {1, 2.0}, {2, 9.0}, {3, 8.0}});
  std::map<std::uint64_t, std::optional<double>> answers;
  const auto strategy =
      make_screened(std::make_unique<CountingStrategy>(4, answers), line(), table, {.among = 2, .chances = 1});
  CHECK(x_of(strategy->ask()->genome) == 0);
  strategy->tell({0, 50.0});  // much slower than predicted: the median says 50 times
  CHECK(answers.at(1) == 100.0);
  CHECK(x_of(strategy->ask()->genome) == 3);
  strategy->tell({1, 8.0});  // now once or 50 times; the larger of two is the median
  CHECK(answers.at(3) == 8.0);

  Table close({{0, 4.0}, {1, 4.5}, {2, 9.0}, {3, 9.0}});
  answers.clear();
  const auto other =
      make_screened(std::make_unique<CountingStrategy>(4, answers), line(), close, {.among = 2, .chances = 1});
  CHECK(x_of(other->ask()->genome) == 0);
  CHECK(x_of(other->ask()->genome) == 2);
  other->tell({1, 9.0});  // as predicted: 1 would be the best with 4.5
  CHECK(!answers.contains(1));
  CHECK(x_of(other->ask()->genome) == 1);
}

TEST_CASE("a genome within the predictor's error of the best competes again with new proposals") {
  Table table({{0, 4.0}, {1, 4.1}, {2, 5.0}, {3, 9.0}, {4, 9.0}, {5, 9.0}});
  std::map<std::uint64_t, std::optional<double>> answers;
  const auto strategy =
      make_screened(std::make_unique<CountingStrategy>(6, answers), line(), table, {.among = 3, .chances = 1});
  CHECK(x_of(strategy->ask()->genome) == 0);
  strategy->tell({0, 4.0});
  CHECK(answers == std::map<std::uint64_t, std::optional<double>>{{0, 4.0}, {2, 5.0}});
  CHECK(x_of(strategy->ask()->genome) == 1);
  CHECK(answers.size() == 5);
}

TEST_CASE("the predictor's error, learnt from measurements, decides which proposal is measured") {
  std::vector<Value> numbers;
  for (int i = 0; i < 50; ++i) numbers.push_back(number(i));
  const Space space({evo::test::family("f", {gene("odd", {number(0), number(1)}), gene("x", numbers)}, {})}, {}, {});
  class Optimist : public InstantPredictor {  // about odd ones, which take twice as long as it predicts
   public:
    static bool odd(const Genome& genome) { return std::get<std::int64_t>(genome.genes.at("odd")) == 1; }
    static double latency(const Genome& genome) {
      return (odd(genome) ? 18.0 : 10.0) + static_cast<double>(x_of(genome) % 10);
    }

   protected:
    std::optional<PredictedLatency> prediction(const Genome& genome) override {
      return PredictedLatency{latency(genome) / (odd(genome) ? 2 : 1)};
    }
  } optimist;
  const auto strategy = make_screened(make_strategy("random", space, 1), space, optimist, {.among = 2});
  int early = 0;
  int late = 0;
  for (std::uint64_t ticket = 0; ticket < 40; ++ticket) {
    const auto proposal = strategy->ask();
    REQUIRE(proposal);
    if (ticket < 8) early += Optimist::odd(proposal->genome);
    if (ticket >= 24) late += Optimist::odd(proposal->genome);
    strategy->tell({ticket, Optimist::latency(proposal->genome)});
  }
  CHECK(early >= 4);  // of 8
  CHECK(late <= 4);   // of 16
}

namespace {

/// Knows latencies but not that a genome with wrong = 1 fails, and predicts the shorter latencies for such.
class Unsuspecting : public InstantPredictor {
 public:
  static bool fails(const Genome& genome) { return std::get<std::int64_t>(genome.genes.at("wrong")) == 1; }
  static double latency(const Genome& genome) {
    return (fails(genome) ? 9.0 : 10.0) + 0.1 * static_cast<double>(x_of(genome) % 10);
  }

 protected:
  std::optional<PredictedLatency> prediction(const Genome& genome) override {
    return PredictedLatency{latency(genome)};
  }
};

}  // namespace

TEST_CASE("where genomes fail that are predicted fast, those are measured that are likely to be valid") {
  std::vector<Value> numbers;
  for (int i = 0; i < 100; ++i) numbers.push_back(number(i));
  const Space space({evo::test::family("f", {gene("wrong", {number(0), number(1)}), gene("x", numbers)}, {})}, {}, {});
  Unsuspecting predictor;
  const auto strategy = make_screened(make_strategy("random", space, 1), space, predictor, {.among = 4});
  int early = 0;
  int late = 0;
  for (std::uint64_t ticket = 0; ticket < 44; ++ticket) {
    const auto proposal = strategy->ask();
    REQUIRE(proposal);
    const bool fails = Unsuspecting::fails(proposal->genome);
    if (ticket < 12) early += fails;
    if (ticket >= 24) late += fails;
    strategy->tell({ticket, fails ? std::nullopt : std::optional(Unsuspecting::latency(proposal->genome))});
  }
  CHECK(early >= 6);  // of 12
  CHECK(late <= 2);   // of 20
}

TEST_CASE("a proposal that is screened out and is likely to fail counts as failed") {
  const Space& space = line();
  std::map<std::int64_t, double> latencies;
  for (int x = 0; x < 100; ++x) latencies[x] = x < 50 ? 10 + x % 7 : 100;  // the answers of the slow ones are seen
  Table table(std::move(latencies));
  std::map<std::uint64_t, std::optional<double>> answers;
  const auto strategy =
      make_screened(std::make_unique<CountingStrategy>(100, answers), space, table, {.among = 2, .chances = 1});
  std::uint64_t ticket = 0;
  while (const auto proposal = strategy->ask()) {  // x from 60 to 79 fail
    const std::int64_t x = x_of(proposal->genome);
    strategy->tell({ticket++, x >= 60 && x < 80 ? std::nullopt : std::optional(x < 50 ? 10.0 + x % 7 : 100.0)});
  }
  CHECK(std::ranges::count_if(answers, [](const auto& answer) { return !answer.second; }) > 12);
}

TEST_CASE("a proposal that is likely to fail does not compete again, however fast it is predicted") {
  std::map<std::int64_t, double> latencies;
  for (int x = 0; x < 100; ++x) latencies[x] = x < 50 ? 10 + x % 7 : 5;
  Table table(std::move(latencies));
  std::map<std::uint64_t, std::optional<double>> answers;
  const auto strategy =
      make_screened(std::make_unique<CountingStrategy>(100, answers), line(), table, {.among = 2, .chances = 1});
  int measured = 0;
  std::uint64_t ticket = 0;
  while (const auto proposal = strategy->ask()) {  // x from 50 on fail
    const std::int64_t x = x_of(proposal->genome);
    measured += x >= 50;
    strategy->tell({ticket++, x >= 50 ? std::nullopt : std::optional(10.0 + x % 7)});
  }
  CHECK(measured <= 30);  // of 50: one of each two, and few more
}

TEST_CASE("a pre-search of a search that is stuck keeps away from genomes that are likely to fail") {
  std::vector<Value> numbers;
  for (int i = 0; i < 100; ++i) numbers.push_back(number(i));
  const std::vector<Gene> genes = {gene("wrong", {number(0), number(1)}), gene("x", numbers), gene("y", numbers)};
  const Space space({evo::test::family("f", genes, {})}, {}, {});
  Unsuspecting predictor;
  const auto strategy = make_screened(make_strategy("random", space, 1), space, predictor,
                                      {.among = 1, .presearching = {.by = "random", .seed = 1, .after = 20}});
  int presearched = 0;
  int failed = 0;
  for (std::uint64_t ticket = 0; ticket < 80; ++ticket) {
    const auto proposal = strategy->ask();
    REQUIRE(proposal);
    const bool fails = Unsuspecting::fails(proposal->genome);
    presearched += proposal->op == "rehearsed";
    failed += proposal->op == "rehearsed" && fails;
    strategy->tell({ticket, fails ? std::nullopt : std::optional(Unsuspecting::latency(proposal->genome))});
  }
  CHECK(presearched >= 8);
  CHECK(failed == 0);
}

TEST_CASE("while everything fails, proposals are measured whatever their latencies are") {
  std::map<std::int64_t, double> latencies;
  for (int x = 0; x < 60; ++x) {
    if (x % 10 != 9) latencies[x] = 100 - x % 8;  // others are predicted to fail
  }
  Table table(std::move(latencies));
  std::map<std::uint64_t, std::optional<double>> answers;
  const auto strategy = make_screened(std::make_unique<CountingStrategy>(60, answers), line(), table, {.among = 4});
  std::vector<std::int64_t> measured;
  for (std::uint64_t ticket = 0; ticket < 9; ++ticket) {
    measured.push_back(x_of(strategy->ask()->genome));
    strategy->tell({ticket, std::nullopt});
  }
  // The first is the fastest of four, then nothing is left out but 9.
  CHECK(measured == std::vector<std::int64_t>{3, 4, 5, 6, 7, 8, 10, 11, 12});
  CHECK(answers.at(9) == std::nullopt);
}

TEST_CASE("a search that is stuck measures what a pre-search by expected latencies finds") {
  std::vector<Value> values;
  for (int i = 0; i < 40; ++i) values.push_back(number(i));
  const Space space({evo::test::family("f", {gene("x", values), gene("y", values)}, {})}, {}, {});
  class Sums : public InstantPredictor {
   public:
    static double sum(const Genome& genome) {
      return 10.0 + static_cast<double>(x_of(genome) + std::get<std::int64_t>(genome.genes.at("y")));
    }

   protected:
    std::optional<PredictedLatency> prediction(const Genome& genome) override { return PredictedLatency{sum(genome)}; }
  } sums;
  const auto best_after = [&](const std::string& by) {
    const auto strategy = make_screened(make_strategy("random", space, 1), space, sums,
                                        {.among = 1, .presearching = {.by = by, .seed = 1, .after = 8}});
    double best = 1e9;
    int presearched = 0;
    for (std::uint64_t ticket = 0; ticket < 60; ++ticket) {
      const auto proposal = strategy->ask();
      REQUIRE(proposal);
      CHECK(proposal->ticket == ticket);
      presearched += proposal->op == "rehearsed";
      best = std::min(best, Sums::sum(proposal->genome));
      strategy->tell({ticket, Sums::sum(proposal->genome)});
    }
    CHECK((presearched > 0) == !by.empty());
    CHECK(presearched <= 32);
    return best;
  };
  CHECK(best_after("evolve") <= 12);
  CHECK(best_after("") > 12);
}

TEST_CASE("a genome that is predicted to fail is measured only where there is nothing else, and counts as failed") {
  Table table({{1, 3.0}});
  std::map<std::uint64_t, std::optional<double>> answers;
  const auto strategy =
      make_screened(std::make_unique<CountingStrategy>(4, answers), line(), table, {.among = 2, .chances = 1});
  CHECK(x_of(strategy->ask()->genome) == 1);
  strategy->tell({0, 3.0});
  CHECK(answers.at(0) == std::nullopt);
  CHECK(x_of(strategy->ask()->genome) == 2);
}

TEST_CASE("a proposal that was not chosen competes with those of the next asks") {
  Table table({{0, 5.0}, {1, 3.0}, {2, 9.0}, {3, 8.0}, {4, 1.0}, {5, 2.0}});
  std::map<std::uint64_t, std::optional<double>> answers;
  const auto strategy =
      make_screened(std::make_unique<CountingStrategy>(6, answers), line(), table, {.among = 2, .chances = 2});
  CHECK(x_of(strategy->ask()->genome) == 1);
  CHECK(x_of(strategy->ask()->genome) == 0);  // of 0, 2 and 3
  CHECK(x_of(strategy->ask()->genome) == 4);  // of 2 to 5
  strategy->tell({0, 3.0});
  CHECK(answers == std::map<std::uint64_t, std::optional<double>>{{1, 3.0}, {2, 9.0}, {3, 8.0}});
}

namespace {

/// The proposals that were made before each of eight measurements of x from 0 to 29, the larger the faster. Two are
/// made for each measurement, and two batches at most are predicted ahead.
std::vector<int> proposed_ahead(bool valid) {
  std::map<std::int64_t, double> latencies;
  for (int x = 0; x < 30; ++x) latencies[x] = 100 - x;
  Table table(latencies);
  std::map<std::uint64_t, std::optional<double>> answers;
  int proposed = 0;
  class Counted : public CountingStrategy {
   public:
    Counted(std::map<std::uint64_t, std::optional<double>>& answers, int& proposed)
        : CountingStrategy(30, answers), proposed_(proposed) {}
    std::optional<Proposal> ask() override {
      auto proposal = CountingStrategy::ask();
      proposed_ += proposal.has_value();
      return proposal;
    }

   private:
    int& proposed_;
  };
  const auto strategy = make_screened(std::make_unique<Counted>(answers, proposed), line(), table,
                                      {.among = 2, .ahead = 2, .chances = 1});
  std::vector<int> before;
  for (std::uint64_t ticket = 0; ticket < 8; ++ticket) {
    const std::int64_t x = x_of(strategy->ask()->genome);
    CHECK(x == (valid ? 2 * static_cast<std::int64_t>(ticket) : static_cast<std::int64_t>(ticket)) + 1);
    before.push_back(proposed);
    strategy->tell({ticket, valid ? std::optional(latencies.at(x)) : std::nullopt});
  }
  return before;
}

}  // namespace

TEST_CASE("predictions are begun ahead of their use") {
  CHECK(proposed_ahead(true) == std::vector<int>{6, 8, 10, 12, 14, 16, 18, 20});
}

TEST_CASE("while everything fails, predictions of one further batch are under way, and all of a batch are measured") {
  CHECK(proposed_ahead(false) == std::vector<int>{6, 6, 6, 8, 8, 10, 10, 12});
}

namespace {

/// Knows a latency for each x. Predictions of those in `slow` are not there until they have been looked for more than
/// `patience` times.
class Slow : public LatencyPredictor {
 public:
  explicit Slow(std::map<std::int64_t, double> latencies, std::set<std::int64_t> slow_ones = {}, int patience = 1000)
      : slow(std::move(slow_ones)), latencies_(std::move(latencies)), patience_(patience) {}

  PendingPrediction begin(const Genome& genome) override {
    const std::int64_t x = x_of(genome);
    ++begun;
    return {[this, x] { return !slow.contains(x) || ++looks_[x] > patience_; },
            [this, x] { return PredictedLatency{latencies_.at(x)}; }};
  }

  std::set<std::int64_t> slow;
  int begun = 0;

 private:
  std::map<std::int64_t, double> latencies_;
  std::map<std::int64_t, int> looks_;
  int patience_;
};

/// Keeps them in memory. With `recalled` nothing is new.
struct KeptLate : public LatePredictions {
  std::optional<Tickets> recall(const Choice& choice) override {
    if (!recalled) return std::nullopt;
    return recalled->contains(choice.number) ? recalled->at(choice.number) : Tickets();
  }
  void record(const Choice& choice, const Tickets& late) override { recorded[choice.number] = late; }

  using ByChoice = std::map<std::uint64_t, Tickets>;
  std::optional<ByChoice> recalled;
  ByChoice recorded;
};

/// The first x that are measured of 0 to 7. After the third measurement nothing is slow any more.
std::vector<std::int64_t> measured_without_waiting(LatePredictions* late, std::set<std::int64_t> slow_ones) {
  Slow slow({{0, 10}, {1, 11}, {2, 5}, {3, 9}, {4, 8}, {5, 7}, {6, 12}, {7, 13}}, std::move(slow_ones));
  std::map<std::uint64_t, std::optional<double>> answers;
  const auto strategy =
      make_screened(std::make_unique<CountingStrategy>(8, answers), line(), slow, {.among = 2, .late = late});
  std::vector<std::int64_t> measured;
  for (std::uint64_t ticket = 0; ticket < 4; ++ticket) {
    measured.push_back(x_of(strategy->ask()->genome));
    strategy->tell({ticket, 10.0});
    if (ticket == 2) slow.slow.clear();
  }
  return measured;
}

}  // namespace

TEST_CASE("a choice does not wait for predictions that are late, which compete once they are there") {
  KeptLate late;
  CHECK(measured_without_waiting(&late, {2}) == std::vector<std::int64_t>{0, 3, 5, 2});
  CHECK(late.recorded == KeptLate::ByChoice{{1, {2}}, {2, {2}}});
  CHECK(measured_without_waiting(nullptr, {2}) == std::vector<std::int64_t>{0, 2, 5, 4});
}

TEST_CASE("a resumed search goes without the predictions that were late, and waits for all others") {
  KeptLate late;
  late.recalled = {{1, {2}}, {2, {2}}};
  CHECK(measured_without_waiting(&late, {}) == std::vector<std::int64_t>{0, 3, 5, 2});
  late.recalled = KeptLate::ByChoice();
  CHECK(measured_without_waiting(&late, {2}) == std::vector<std::int64_t>{0, 2, 5, 4});
  CHECK(late.recorded.empty());
}

TEST_CASE("no more predictions are late than are begun for a measurement, and then one less is begun") {
  std::map<std::int64_t, double> latencies;
  std::set<std::int64_t> all;
  for (int x = 0; x < 100; ++x) {
    latencies[x] = 100 + x * 7 % 50;
    if (x >= 4) all.insert(x);
  }
  Slow slow(std::move(latencies), std::move(all), 20);
  KeptLate late;
  std::map<std::uint64_t, std::optional<double>> answers;
  const auto strategy =
      make_screened(std::make_unique<CountingStrategy>(100, answers), line(), slow, {.among = 4, .late = &late});
  for (std::uint64_t ticket = 0; ticket < 12; ++ticket) {
    REQUIRE(strategy->ask());
    strategy->tell({ticket, 100.0});
  }
  REQUIRE(late.recorded.size() >= 8);
  for (const auto& [choice, tickets] : late.recorded) CHECK(tickets.size() <= 4);
  CHECK(slow.begun < 12 * 4);
  CHECK(slow.begun > 12 * 3);
}

TEST_CASE("a proposal without a prediction counts as the median") {
  Table table({{0, kUnknown}, {1, 7.0}, {2, 9.0}, {3, 3.0}, {4, 8.0}, {5, kUnknown}});
  std::map<std::uint64_t, std::optional<double>> answers;
  const auto strategy =
      make_screened(std::make_unique<CountingStrategy>(6, answers), line(), table, {.among = 3, .chances = 1});
  CHECK(x_of(strategy->ask()->genome) == 1);  // the median of two is the larger one
  CHECK(x_of(strategy->ask()->genome) == 3);
  strategy->tell({0, 7.0});
  CHECK(answers == std::map<std::uint64_t, std::optional<double>>{{1, 7.0}, {2, 9.0}, {4, 8.0}});
}

TEST_CASE("parents that were not measured are replaced by theirs, and offers are not screened") {
  Table table({{0, 1.0}, {1, 5.0}, {2, 6.0}, {3, 4.0}, {4, 9.0}});
  std::map<std::uint64_t, std::optional<double>> answers;
  const auto strategy =
      make_screened(std::make_unique<CountingStrategy>(6, answers), line(), table, {.among = 2, .chances = 1});
  CHECK(x_of(strategy->ask()->genome) == 0);
  strategy->tell({0, 1.0});
  const auto grandchild = strategy->ask();  // 3, child of 2, child of 1, child of 0
  CHECK(x_of(grandchild->genome) == 3);
  CHECK(grandchild->parents == std::vector<std::uint64_t>{0});
  const auto offered = strategy->offer(at_x(77), "seed", {0});
  CHECK(offered->ticket == 2);
  CHECK(x_of(offered->genome) == 77);
  CHECK(offered->parents == std::vector<std::uint64_t>{0});
  strategy->tell({2, 3.5});
  CHECK(answers.at(4) == 3.5);
}

TEST_CASE("a genome that a proposer offers is measured, even if it was screened out or competes again") {
  Table table({{0, 5.0},
               {1, 1.0},
               {2, 3.0},
               {3, 9.0},
               {4, 1.01},
               {5, 1.0},
               {6, 7.0},
               {7, 8.0},
               {8, 1.5},
               {9, 1.6},
               {10, 9.0},
               {11, kUnknown}});
  const auto strategy =
      make_screened(make_strategy("exhaustive", line(), 1), line(), table, {.among = 4, .chances = 1});
  std::uint64_t tickets = 0;
  const auto offered = [&](std::int64_t x) {
    const auto proposal = strategy->offer(at_x(x), "proposer", {0});
    if (!proposal) return false;
    CHECK(proposal->ticket == tickets++);
    CHECK(x_of(proposal->genome) == x);
    CHECK(proposal->op == "proposer");
    CHECK(proposal->parents == std::vector<std::uint64_t>{0});
    return true;
  };
  const auto asked = [&] {
    const auto proposal = strategy->ask();
    CHECK(proposal->ticket == tickets++);
    return x_of(proposal->genome);
  };
  CHECK(asked() == 1);  // of 0 to 3
  CHECK(offered(2));
  CHECK(offered(0));  // nothing is known of the model's error, so the strategy has no answer yet
  strategy->tell({0, 1.0});
  strategy->tell({1, 3.0});
  strategy->tell({2, 5.0});
  CHECK(offered(3));  // its expected latency was 9
  strategy->tell({3, 0.5});
  for (const std::int64_t x : {0, 1, 2, 3}) CHECK(!offered(x));
  CHECK(asked() == 5);  // of 4 to 7
  CHECK(offered(4));    // it would compete again
  CHECK(offered(6));
  for (const std::uint64_t ticket : {4, 5, 6}) strategy->tell({ticket, 1.0});
  CHECK(asked() == 8);  // of 8 to 11; 11 has no prediction
  CHECK(offered(11));
  CHECK(!offered(8));
  for (const std::uint64_t ticket : {7, 8}) strategy->tell({ticket, 1.0});
  std::vector<std::int64_t> rest;
  while (const auto proposal = strategy->ask()) {
    rest.push_back(x_of(proposal->genome));
    strategy->tell({proposal->ticket, 1.0});
  }
  for (const std::int64_t x : {0, 1, 2, 3, 4, 5, 6, 8, 11}) CHECK(std::ranges::count(rest, x) == 0);
}

TEST_CASE("a genome that a proposer offers is measured while its prediction is under way") {
  Table table({{0, 5.0}, {1, 4.0}, {2, 8.0}, {3, 7.0}, {4, 3.0}, {5, 2.0}, {6, 3.5}, {7, 1.0}, {8, 2.5}, {9, 3.0}},
              {{1, "a"}, {6, "a"}});
  const auto strategy =
      make_screened(make_strategy("exhaustive", line(), 1), line(), table, {.among = 2, .ahead = 1, .chances = 1});
  for (std::uint64_t ticket = 0; ticket < 2; ++ticket) {
    CHECK(x_of(strategy->ask()->genome) == (ticket == 0 ? 1 : 3));
    strategy->tell({ticket, ticket == 0 ? 4.0 : 7.0});
  }
  CHECK(x_of(strategy->ask()->genome) == 5);  // 6 and 7 are under way
  strategy->tell({2, 2.0});
  CHECK(x_of(strategy->offer(at_x(7), "proposer", {})->genome) == 7);
  CHECK(!strategy->offer(at_x(6), "proposer", {}));  // it makes the program of 1
  CHECK(x_of(strategy->ask()->genome) != 7);
}

TEST_CASE("a screened-out genome whose program was measured is refused to others: it is a duplicate") {
  Table table({{0, 5.0}, {1, 3.0}, {2, 6.0}, {3, 6.5}, {4, 4.0}, {5, 1.0}}, {{2, "a"}, {3, "a"}, {5, "b"}});
  const auto strategy =
      make_screened(make_strategy("exhaustive", line(), 1), line(), table, {.among = 4, .chances = 1});
  CHECK(x_of(strategy->ask()->genome) == 1);
  strategy->tell({0, 3.0});
  CHECK(strategy->offer(at_x(2), "proposer", {}));
  CHECK(!strategy->offer(at_x(3), "proposer", {}));
  strategy->tell({1, 2.0});
  CHECK(!strategy->offer(at_x(3), "proposer", {}));
  CHECK(x_of(strategy->ask()->genome) == 5);
}

TEST_CASE("a duplicate is not measured: it gets the answer of the program that was") {
  Table table({{0, 5.0}, {1, 3.0}, {2, 3.0}, {3, 3.0}, {4, 7.0}, {5, 8.0}}, {{1, "a"}, {2, "a"}, {3, "a"}, {4, "b"}});
  std::map<std::uint64_t, std::optional<double>> answers;
  const auto strategy =
      make_screened(std::make_unique<CountingStrategy>(6, answers), line(), table, {.among = 3, .chances = 1});
  CHECK(x_of(strategy->ask()->genome) == 1);
  CHECK(answers.empty());  // of 2, too: what it waits for is in flight
  strategy->tell({0, std::nullopt});
  CHECK(answers == std::map<std::uint64_t, std::optional<double>>{{1, std::nullopt}, {2, std::nullopt}});
  CHECK(x_of(strategy->ask()->genome) == 4);
  CHECK(answers.at(3) == std::nullopt);  // known at_x once
}

TEST_CASE("of a batch of duplicates one is measured, and a search over one program ends") {
  std::map<std::int64_t, double> latencies;
  std::map<std::int64_t, std::string> programs;
  for (std::int64_t x = 0; x < 9; ++x) {
    latencies[x] = 3.0;
    programs[x] = "a";
  }
  Table table(latencies, programs);
  std::map<std::uint64_t, std::optional<double>> answers;
  const auto strategy =
      make_screened(std::make_unique<CountingStrategy>(9, answers), line(), table, {.among = 3, .chances = 1});
  for (std::uint64_t ticket = 0; ticket < 3; ++ticket) {
    REQUIRE(strategy->ask());
    strategy->tell({ticket, 4.0});
  }
  CHECK(!strategy->ask());
  CHECK(answers.size() == 9);
  for (const auto& [ticket, latency] : answers) CHECK(latency == 4.0);
}

TEST_CASE("the offspring of a duplicate descends from the genome that was measured") {
  Table table({{0, 3.0}, {1, 3.0}, {2, 3.0}, {3, 9.0}}, {{0, "a"}, {1, "a"}, {2, "b"}, {3, "c"}});
  std::map<std::uint64_t, std::optional<double>> answers;
  const auto strategy =
      make_screened(std::make_unique<CountingStrategy>(4, answers), line(), table, {.among = 2, .chances = 1});
  CHECK(x_of(strategy->ask()->genome) == 0);
  strategy->tell({0, 3.0});
  const auto child = strategy->ask();  // of 1, which made the program of 0
  CHECK(x_of(child->genome) == 2);
  CHECK(child->parents == std::vector<std::uint64_t>{0});
}

TEST_CASE("a screened search is the same each time") {
  const Family family = evo::test::family("f",
                                          {gene("x",
                                                [] {
                                                  std::vector<Value> values;
                                                  for (int i = 0; i < 300; ++i) values.push_back(number(i));
                                                  return values;
                                                }())},
                                          {});
  const Space space({family}, {}, {});
  std::map<std::int64_t, double> latencies;
  for (int i = 0; i < 300; ++i) latencies[i] = 10 + (i * 37) % 101;
  const auto visits = [&] {
    Table table(latencies);
    const auto strategy = make_screened(make_strategy("evolve", space, 3), space, table, {.among = 4});
    std::vector<std::int64_t> order;
    std::deque<Proposal> in_flight;
    for (int i = 0; i < 40; ++i) {
      in_flight.push_back(*strategy->ask());
      order.push_back(x_of(in_flight.back().genome));
      CHECK(in_flight.back().ticket == static_cast<std::uint64_t>(i));
      if (in_flight.size() < 3) continue;
      strategy->tell({in_flight.front().ticket, latencies.at(x_of(in_flight.front().genome)) * 1.1});
      in_flight.pop_front();
    }
    return order;
  };
  const auto order = visits();
  CHECK(order == visits());
  std::int64_t best = order.front();
  for (const std::int64_t x : order) best = latencies.at(x) < latencies.at(best) ? x : best;
  CHECK(latencies.at(best) == 10);
}

TEST_CASE("an answer to a ticket that is not in flight is refused") {
  const Space& space = line();
  Table table({{0, 1.0}, {1, 2.0}});
  const auto strategy = make_screened(make_strategy("exhaustive", space, 1), space, table, {.among = 2});
  const auto proposal = strategy->ask();
  REQUIRE(proposal);
  CHECK_THROWS_AS(strategy->tell({proposal->ticket + 1, 1.0}), std::logic_error);
  strategy->tell({proposal->ticket, 1.0});
  CHECK_THROWS_AS(strategy->tell({proposal->ticket, 1.0}), std::logic_error);
}
