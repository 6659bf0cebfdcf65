#include "engine/search/search.h"

#include <map>

#include "engine/search/surrogate_screening.h"
#include "engine/strategy/strategies.h"
#include "tests/engine/support.h"

using namespace evo;
using namespace evo::test;

namespace {

const Family kSearched = family(
    "f",
    {gene("a", {number(0), number(1), number(2), number(3)}), gene("b", {number(0), number(1), number(2), number(3)}),
     gene("c", {number(0), number(1), number(2), number(3)})},
    {"a + b + c > 1"});

double searched_latency_us(const Genome& genome) {
  double sum = 1;
  for (const auto& [name, allele] : genome.genes)
    sum += static_cast<double>(std::get<std::int64_t>(allele)) * (name == "b" ? 3 : 1);
  return sum;
}

bool fails(const Genome& genome) {
  return genome.genes.at("c") == number(3);
}

enum class Order { first_in_first_out, last_in_first_out, random };

/// Evaluates by formula. Finishes what is in flight in some order; notes what happened.
class FakeEvaluator : public Evaluator {
 public:
  FakeEvaluator(std::size_t width, Order order) : width_(width), order_(order) {}

  std::size_t width() const override { return width_; }

  void submit(std::uint64_t ticket, const Candidate& candidate) override {
    in_flight_.push_back({ticket, evaluate(candidate.genome)});
    if (latency_us) in_flight_.back().evaluation.latency_us = latency_us(ticket);
    submitted.push_back(ticket);
    most_in_flight = std::max(most_in_flight, in_flight_.size());
  }

  Done wait() override {
    REQUIRE(!in_flight_.empty());
    if (lose_machine_after == 0) throw machine_error("the device is gone");
    --lose_machine_after;
    std::size_t chosen = 0;
    if (order_ == Order::last_in_first_out) chosen = in_flight_.size() - 1;
    if (order_ == Order::random) chosen = rng_.below(in_flight_.size());
    const Done done = in_flight_[chosen];
    in_flight_.erase(in_flight_.begin() + static_cast<std::ptrdiff_t>(chosen));
    return done;
  }

  std::vector<std::uint64_t> withdraw() override {
    std::vector<std::uint64_t> tickets;
    while (can_withdraw && in_flight_.size() > 1) {
      tickets.push_back(in_flight_.back().ticket);
      in_flight_.pop_back();
    }
    return tickets;
  }

  std::function<double(std::uint64_t ticket)> latency_us;  ///< Instead of the formula's.
  std::vector<std::uint64_t> submitted;
  std::size_t most_in_flight = 0;
  int lose_machine_after = -1;
  bool can_withdraw = false;  ///< False: everything in flight is running.

 private:
  static Evaluation evaluate(const Genome& genome) {
    Evaluation evaluation;
    evaluation.verdict = fails(genome) ? Verdict::wrong_answer : Verdict::valid;
    if (!fails(genome)) evaluation.latency_us = searched_latency_us(genome);
    return evaluation;
  }

  std::size_t width_;
  Order order_;
  Rng rng_{17};
  std::vector<Done> in_flight_;
};

/// Keeps records in memory, in the order they came.
class FakeArchive : public Archive {
 public:
  std::optional<Recalled> recall(const Proposal& proposal) override {
    const auto found = stored.find(proposal.ticket);
    if (found == stored.end() || found->second.first != proposal.genome) return std::nullopt;
    const auto number = std::ranges::find(tickets, proposal.ticket) - tickets.begin();
    return Recalled{found->second.second, static_cast<std::uint64_t>(number)};
  }

  void record(const Proposal& proposal, const Candidate& candidate, const Evaluation& evaluation) override {
    CHECK(candidate.genome == proposal.genome);
    stored[proposal.ticket] = {proposal.genome, evaluation};
    recorded.push_back(to_text(proposal.genome));
    tickets.push_back(proposal.ticket);
  }

  std::vector<std::uint64_t> retracted(std::uint64_t answered, Wait wait) override {
    if (wait == Wait::until_checked) return std::exchange(found_at_end, {});
    const auto found = found_after.find(answered);
    return found == found_after.end() ? std::vector<std::uint64_t>() : found->second;
  }

  std::map<std::uint64_t, std::vector<std::uint64_t>> found_after;  ///< Tickets, by answers.
  std::vector<std::uint64_t> found_at_end;
  std::map<std::uint64_t, std::pair<Genome, Evaluation>> stored;
  std::vector<std::string> recorded;
  std::vector<std::uint64_t> tickets;
};

/// Notes the order of asks and tells of the strategy inside.
class Listening : public Strategy {
 public:
  explicit Listening(std::unique_ptr<Strategy> inner) : inner_(std::move(inner)) {}

  std::optional<Proposal> ask() override {
    auto proposal = inner_->ask();
    if (proposal) log.push_back("ask " + std::to_string(proposal->ticket));
    return proposal;
  }
  std::optional<Proposal> offer(const Genome& genome, std::string op, std::vector<std::uint64_t> parents) override {
    return inner_->offer(genome, std::move(op), std::move(parents));
  }
  void tell(const Answer& answer) override {
    log.push_back("tell " + std::to_string(answer.ticket));
    answers.push_back(answer);
    inner_->tell(answer);
  }
  void retract(const Answer& failure) override {
    log.push_back("retract " + std::to_string(failure.ticket));
    CHECK_FALSE(failure.latency_us);
    inner_->retract(failure);
  }

  std::vector<std::string> log;
  std::vector<Answer> answers;

 private:
  std::unique_ptr<Strategy> inner_;
};

Candidate build(const Genome& genome) {
  return Candidate{genome, {}};
}

SearchLimits at_most(std::uint64_t evaluations) {
  SearchLimits limits;
  limits.evaluations = evaluations;
  return limits;
}

struct Outcome {
  SearchResult result;
  std::vector<std::string> recorded;
};

Outcome run(std::size_t width, Order order, FakeArchive& archive, std::uint64_t evaluations,
            std::string_view name = "evolve", std::uint64_t seed = 1) {
  const Space space({kSearched}, {}, {});
  const auto strategy = make_strategy(name, space, seed);
  FakeEvaluator evaluator(width, order);
  const SearchResult result = search(*strategy, evaluator, archive, build, at_most(evaluations), {});
  CHECK(evaluator.most_in_flight <= width);
  return {result, archive.recorded};
}

Outcome run(std::size_t width, Order order, std::uint64_t evaluations = 40) {
  FakeArchive archive;
  return run(width, order, archive, evaluations);
}

}  // namespace

TEST_CASE("results are recorded and given to the strategy in ask order, whatever order they arrive in") {
  for (const Order order : {Order::first_in_first_out, Order::last_in_first_out, Order::random}) {
    const Space space({kSearched}, {}, {});
    Listening strategy(make_strategy("evolve", space, 1));
    FakeEvaluator evaluator(3, order);
    FakeArchive archive;
    search(strategy, evaluator, archive, build, at_most(6), {});
    CHECK(archive.tickets == std::vector<std::uint64_t>{0, 1, 2, 3, 4, 5});
    // Proposal i + width is asked right after answer i is given.
    CHECK(strategy.log == std::vector<std::string>{"ask 0", "ask 1", "ask 2", "tell 0", "ask 3", "tell 1", "ask 4",
                                                   "tell 2", "ask 5", "tell 3", "tell 4", "tell 5"});
  }
}

TEST_CASE("a seed gives the same search whichever candidate finishes first") {
  const Outcome expected = run(4, Order::first_in_first_out);
  CHECK(expected.recorded.size() == 40);
  CHECK(run(4, Order::last_in_first_out).recorded == expected.recorded);
  CHECK(run(4, Order::random).recorded == expected.recorded);
  FakeArchive other;
  CHECK(run(4, Order::random, other, 40, "evolve", 2).recorded != expected.recorded);
}

TEST_CASE("a resumed search evaluates only what is not stored, and gives the results of an uninterrupted search") {
  for (const char* strategy : {"evolve", "random"}) {
    FakeArchive whole;
    const Outcome expected = run(4, Order::random, whole, 40, strategy);
    for (const std::uint64_t stopped_at : {1, 7, 20, 39}) {
      FakeArchive archive;
      run(4, Order::random, archive, stopped_at, strategy);
      REQUIRE(archive.recorded.size() == stopped_at);
      const Outcome resumed = run(4, Order::last_in_first_out, archive, 40, strategy);
      CHECK(resumed.recorded == expected.recorded);
      CHECK(resumed.result.answered == 40);
      CHECK(resumed.result.valid == expected.result.valid);
    }
  }
}

TEST_CASE("results that are taken as they finish do not wait for the slowest") {
  const Space space({kSearched}, {}, {});
  Listening strategy(make_strategy("evolve", space, 1));
  FakeEvaluator evaluator(3, Order::last_in_first_out);
  FakeArchive archive;
  SearchLimits limits = at_most(6);
  limits.order = AnswerOrder::finished;
  search(strategy, evaluator, archive, build, limits, {});
  // Proposal 0 is the slowest: it ends last.
  CHECK(archive.tickets == std::vector<std::uint64_t>{2, 3, 4, 5, 1, 0});
  CHECK(strategy.log == std::vector<std::string>{"ask 0", "ask 1", "ask 2", "tell 2", "ask 3", "tell 3", "ask 4",
                                                 "tell 4", "ask 5", "tell 5", "tell 1", "tell 0"});
}

TEST_CASE("a resumed search of results as they finished is given the recorded ones in their order") {
  const Space space({kSearched}, {}, {});
  const auto searched = [&](FakeArchive& archive, std::uint64_t evaluations) {
    Listening strategy(make_strategy("evolve", space, 1));
    FakeEvaluator evaluator(4, Order::last_in_first_out);
    SearchLimits limits = at_most(evaluations);
    limits.order = AnswerOrder::finished;
    search(strategy, evaluator, archive, build, limits, {});
    return strategy.log;
  };
  FakeArchive whole;
  const std::vector<std::string> expected = searched(whole, 40);
  // Killed after 17 results: those in flight have none.
  FakeArchive killed;
  for (std::size_t i = 0; i < 17; ++i) {
    const std::uint64_t ticket = whole.tickets[i];
    killed.tickets.push_back(ticket);
    killed.recorded.push_back(whole.recorded[i]);
    killed.stored[ticket] = whole.stored[ticket];
  }
  CHECK(searched(killed, 40) == expected);
  CHECK(killed.recorded == whole.recorded);
}

TEST_CASE("a candidate that is retracted is a failure for the strategy and no longer the best") {
  const Space space({kSearched}, {}, {});
  const auto searched = [&](FakeArchive& archive, std::vector<std::string>& log, std::optional<double>& best_us) {
    Listening strategy(make_strategy("random", space, 1));
    FakeEvaluator evaluator(1, Order::first_in_first_out);
    const SearchResult result = search(strategy, evaluator, archive, build, at_most(12),
                                       [&](const SearchProgress& now) { best_us = now.best_us; });
    log = strategy.log;
    return result.valid;
  };
  FakeArchive whole;
  std::vector<std::string> log;
  std::optional<double> best_us;
  const std::uint64_t valid = searched(whole, log, best_us);
  std::uint64_t best = 0;
  for (const auto& [ticket, result] : whole.stored)
    if (latency_of(result.second) == best_us) best = ticket;
  REQUIRE(best < 11);

  FakeArchive archive;
  archive.found_after[best + 1] = {best};
  std::optional<double> second_us;
  CHECK(searched(archive, log, second_us) == valid - 1);
  CHECK(*second_us > *best_us);
  const auto told = std::ranges::find(log, "tell " + std::to_string(best));
  REQUIRE(told != log.end());
  CHECK(*std::next(told) == "retract " + std::to_string(best));
}

TEST_CASE("a search that was ended by a candidate that is retracted goes on") {
  const Space space({kSearched}, {}, {});
  const auto strategy = make_strategy("random", space, 1);
  FakeEvaluator evaluator(1, Order::first_in_first_out);
  FakeArchive archive;
  SearchLimits limits = at_most(30);
  limits.until_us = 1e9;
  std::uint64_t first = 0;
  const auto note = [&](const SearchProgress& now) {
    if (!now.best_us || first != 0) return;
    first = now.answered;
    archive.found_at_end = {now.last->ticket};
  };
  const SearchResult result = search(*strategy, evaluator, archive, build, limits, note);
  CHECK(result.reached);
  CHECK(result.answered > first);
}

TEST_CASE("a recalled result reaches the strategy but is neither built, evaluated nor recorded again") {
  FakeArchive archive;
  run(2, Order::first_in_first_out, archive, 10);
  const Space space({kSearched}, {}, {});
  Listening strategy(make_strategy("evolve", space, 1));
  FakeEvaluator evaluator(2, Order::first_in_first_out);
  SearchLimits limits = at_most(10);
  int built = 0;
  const auto counting = [&](const Genome& genome) {
    ++built;
    return build(genome);
  };
  const SearchResult result = search(strategy, evaluator, archive, counting, limits, {});
  CHECK(result.answered == 10);
  CHECK(strategy.answers.size() == 10);
  CHECK(built == 0);
  CHECK(evaluator.submitted.empty());
  CHECK(archive.recorded.size() == 10);
}

TEST_CASE("a failure is answered without a latency, a duplicate with the latency it copies") {
  Evaluation evaluation;
  evaluation.latency_us = 5;
  for (const Verdict verdict : {Verdict::wrong_answer, Verdict::harness_failed, Verdict::illegal, Verdict::crashed}) {
    evaluation.verdict = verdict;
    CHECK(!latency_of(evaluation));
  }
  evaluation.verdict = Verdict::valid;
  CHECK(latency_of(evaluation) == 5);
  evaluation.verdict = Verdict::duplicate;
  CHECK(latency_of(evaluation) == 5);
  evaluation.latency_us = 0;  // a duplicate of a failure
  CHECK(!latency_of(evaluation));
  evaluation.verdict = Verdict::valid;
  evaluation.latency_us = std::numeric_limits<double>::quiet_NaN();
  CHECK(!latency_of(evaluation));
}

TEST_CASE("a search of a whole space ends as exhausted after every genome was answered once") {
  const Space space({kSearched}, {}, {});
  for (const char* strategy : {"evolve", "random"}) {
    FakeArchive archive;
    const Outcome outcome = run(4, Order::random, archive, 1000, strategy);
    CHECK(outcome.result.exhausted);
    CHECK(outcome.result.answered == space.size());
    CHECK(archive.recorded.size() == space.size());
    std::sort(archive.recorded.begin(), archive.recorded.end());
    CHECK(std::unique(archive.recorded.begin(), archive.recorded.end()) == archive.recorded.end());
    CHECK(outcome.result.valid < outcome.result.answered);
  }
}

TEST_CASE("after a stop nothing starts, and candidates in flight are finished and recorded") {
  const Space space({kSearched}, {}, {});
  const auto strategy = make_strategy("evolve", space, 1);
  FakeEvaluator evaluator(4, Order::random);
  FakeArchive archive;
  std::atomic<bool> stop = false;
  SearchLimits limits = at_most(40);
  limits.stop = &stop;
  const SearchResult result = search(*strategy, evaluator, archive, build, limits, [&](const SearchProgress& progress) {
    if (progress.answered == 5) stop = true;
  });
  CHECK(result.interrupted);
  CHECK(!result.exhausted);
  CHECK(result.answered == 8);
  CHECK(evaluator.submitted.size() == 8);
  CHECK(archive.recorded.size() == 8);
}

TEST_CASE("a search that is stopped while latencies are predicted is interrupted, not exhausted") {
  const Space space({kSearched}, {}, {});
  std::atomic<bool> stop = false;
  struct Interrupted : InstantPredictor {
    explicit Interrupted(std::atomic<bool>& stop) : stop_(stop) {}
    std::optional<PredictedLatency> prediction(const Genome&) override {
      stop_ = ++asked_ > 16;
      return stop_ ? std::nullopt : std::optional(PredictedLatency{1.0});
    }
    std::atomic<bool>& stop_;
    int asked_ = 0;
  } predictor(stop);
  const auto strategy = make_screened(make_strategy("evolve", space, 1), space, predictor, {.among = 2});
  FakeEvaluator evaluator(4, Order::first_in_first_out);
  FakeArchive archive;
  SearchLimits limits = at_most(40);
  limits.stop = &stop;
  const SearchResult result = search(*strategy, evaluator, archive, build, limits, {});
  CHECK(result.interrupted);
  CHECK(!result.exhausted);
  CHECK(result.answered == 8);
  CHECK(archive.recorded.size() == 8);
}

TEST_CASE("after a stop, candidates that do not run yet are withdrawn, and a resumed search evaluates them") {
  const Space space({kSearched}, {}, {});
  FakeArchive archive, uninterrupted;
  std::atomic<bool> stop = false;
  SearchLimits limits = at_most(20);
  FakeEvaluator whole(4, Order::first_in_first_out);
  search(*make_strategy("evolve", space, 1), whole, uninterrupted, build, limits, {});

  FakeEvaluator evaluator(4, Order::first_in_first_out);
  evaluator.can_withdraw = true;
  limits.stop = &stop;
  const SearchResult first = search(*make_strategy("evolve", space, 1), evaluator, archive, build, limits,
                                    [&](const SearchProgress& progress) { stop = progress.answered == 5; });
  CHECK(first.interrupted);
  CHECK(first.answered == 6);  // The sixth was running.
  CHECK(evaluator.submitted.size() == 8);

  FakeEvaluator rest(4, Order::first_in_first_out);
  stop = false;
  const SearchResult second = search(*make_strategy("evolve", space, 1), rest, archive, build, limits, {});
  CHECK(second.answered == 20);
  CHECK(rest.submitted.size() == 14);
  CHECK(archive.recorded == uninterrupted.recorded);
}

TEST_CASE("after the time limit nothing starts") {
  const Space space({kSearched}, {}, {});
  const auto strategy = make_strategy("evolve", space, 1);
  FakeEvaluator evaluator(2, Order::random);
  FakeArchive archive;
  SearchLimits limits = at_most(40);
  int questions = 0;
  limits.out_of_time = [&] { return ++questions > 10; };
  const SearchResult result = search(*strategy, evaluator, archive, build, limits, {});
  CHECK(!result.interrupted);
  CHECK(result.answered == 12);  // Before the first answer two start without a question.
  CHECK(archive.recorded.size() == 12);
}

TEST_CASE("a search whose time is over before its first answer has that one") {
  const Space space({kSearched}, {}, {});
  FakeEvaluator evaluator(1, Order::first_in_first_out);
  FakeArchive archive;
  SearchLimits limits = at_most(40);
  limits.out_of_time = [] { return true; };
  CHECK(search(*make_strategy("evolve", space, 1), evaluator, archive, build, limits, {}).answered == 1);
}

TEST_CASE("a search ends once a latency is reached, and says so") {
  const Space space({kSearched}, {}, {});
  FakeArchive all;
  std::optional<double> best;
  std::uint64_t reached_at = 0;
  const auto whole = make_strategy("evolve", space, 1);
  FakeEvaluator everything(2, Order::random);
  search(*whole, everything, all, build, at_most(40), [&](const SearchProgress& progress) {
    if (progress.best_us != best) reached_at = progress.answered;
    best = progress.best_us;
  });
  REQUIRE(reached_at < 30);

  const auto strategy = make_strategy("evolve", space, 1);
  FakeEvaluator evaluator(2, Order::random);
  FakeArchive archive;
  SearchLimits limits = at_most(40);
  limits.until_us = best;
  const SearchResult result = search(*strategy, evaluator, archive, build, limits, {});
  CHECK(result.reached);
  CHECK(!result.interrupted);
  CHECK(result.answered >= reached_at);
  CHECK(result.answered < reached_at + 2);  // what was in flight
  limits.until_us = *best / 2;
  FakeEvaluator another(2, Order::random);
  FakeArchive other;
  CHECK(!search(*make_strategy("evolve", space, 1), another, other, build, limits, {}).reached);
}

TEST_CASE("a search ends itself once more is unlikely to come, at the same answer when it is resumed") {
  std::vector<Value> alleles;
  for (int i = 0; i < 400; ++i) alleles.push_back(number(i));
  const Space space({family("f", {gene("a", alleles), gene("b", {number(0)}), gene("c", {number(0)})}, {})}, {}, {});
  FakeArchive archive;
  SearchLimits limits = at_most(400);
  limits.settles = true;
  const auto settled = [&](std::uint64_t evaluations) {
    limits.evaluations = evaluations;
    const auto strategy = make_strategy("exhaustive", space, 1);  // The first genome is the best.
    FakeEvaluator evaluator(4, Order::random);
    return search(*strategy, evaluator, archive, build, limits, {});
  };
  CHECK_FALSE(settled(60).settled);
  const SearchResult whole = settled(400);
  CHECK(whole.settled.value() < 0.1);
  CHECK(whole.answered < 400);
  CHECK_FALSE(whole.exhausted);
  const SearchResult again = settled(400);
  CHECK(again.answered == whole.answered);
  CHECK(again.settled == whole.settled);
}

TEST_CASE("a search that ended itself, though it had paused for an answer that gained, goes on as it had asked") {
  std::vector<Value> alleles;
  for (int i = 0; i < 40; ++i) alleles.push_back(number(i));
  const Space space({family("f", {gene("a", alleles), gene("b", alleles), gene("c", {number(0)})}, {})}, {}, {});
  std::uint64_t gains = UINT64_MAX;  // Which ticket is twice as fast.
  const auto run = [&](FakeArchive& archive, const SearchLimits& limits, std::uint64_t& evaluated) {
    FakeEvaluator evaluator(4, Order::first_in_first_out);
    evaluator.latency_us = [&](std::uint64_t ticket) {
      return ticket == gains ? 5.0 : 10.0 + double(ticket % 7) / 100;
    };
    const SearchResult result = search(*make_strategy("evolve", space, 1), evaluator, archive, build, limits, {});
    evaluated = evaluator.submitted.size();
    return result;
  };
  SearchLimits limits = at_most(1000);
  limits.settles = true;
  std::uint64_t evaluated = 0;
  FakeArchive without, archive;
  gains = run(without, limits, evaluated).answered - 1;  // The last one under way when the rule paused the search.
  const SearchResult ended = run(archive, limits, evaluated);
  REQUIRE(ended.settled);
  REQUIRE(ended.answered > gains + 4);

  limits.settles = false;
  limits.settled_until = ended.answered;
  for (int resumed = 1; resumed <= 2; ++resumed) {
    limits.evaluations = ended.answered + resumed * 10;
    const SearchResult more = run(archive, limits, evaluated);
    CHECK_FALSE(more.settled);
    CHECK(more.answered == limits.evaluations);
    CHECK(evaluated == 10);
  }
}

TEST_CASE("progress reports counts and the best so far after each result") {
  const Space space({kSearched}, {}, {});
  const auto strategy = make_strategy("evolve", space, 1);
  FakeEvaluator evaluator(3, Order::random);
  FakeArchive archive;
  SearchLimits limits = at_most(30);
  std::uint64_t calls = 0;
  std::uint64_t valid = 0;
  std::optional<double> best;
  search(*strategy, evaluator, archive, build, limits, [&](const SearchProgress& progress) {
    CHECK(progress.answered == ++calls);
    CHECK(progress.last->ticket == calls - 1);
    if (!fails(progress.last->genome)) {
      ++valid;
      best = std::min(best.value_or(1e9), searched_latency_us(progress.last->genome));
      CHECK(progress.last_evaluation->verdict == Verdict::valid);
    }
    CHECK(progress.valid == valid);
    CHECK(progress.best_us == best);
  });
  CHECK(calls == 30);
}

TEST_CASE("an error of the user's templates ends the search, and earlier results stay recorded") {
  const Space space({kSearched}, {}, {});
  const auto strategy = make_strategy("evolve", space, 1);
  FakeEvaluator evaluator(2, Order::first_in_first_out);
  FakeArchive archive;
  SearchLimits limits = at_most(40);
  int built = 0;
  const auto breaking = [&](const Genome& genome) {
    if (++built == 6) throw usage_error("t/f/kernel.cu:3: unknown name 'x'");
    return build(genome);
  };
  CHECK(complaint_of([&] { search(*strategy, evaluator, archive, breaking, limits, {}); }) ==
        "t/f/kernel.cu:3: unknown name 'x'");
  CHECK(archive.recorded.size() == 4);
}

TEST_CASE("a lost machine ends the search, and earlier results stay recorded") {
  const Space space({kSearched}, {}, {});
  const auto strategy = make_strategy("evolve", space, 1);
  FakeEvaluator evaluator(2, Order::first_in_first_out);
  evaluator.lose_machine_after = 5;
  FakeArchive archive;
  SearchLimits limits = at_most(40);
  CHECK(complaint_of([&] { search(*strategy, evaluator, archive, build, limits, {}); }) == "the device is gone");
  CHECK(archive.recorded.size() == 5);
}
