#include "engine/search/share_bandit.h"

#include "engine/search/proposer.h"
#include "engine/strategy/strategies.h"
#include "tests/engine/support.h"

using namespace evo;
using namespace evo::test;

namespace {

using Source = ShareBandit::Source;

/// The share after `rounds` of eight answers each, one of them the proposer's. Of each source's answers one of so many
/// brings something; 0: none.
double share_after(int rounds, int strategy_every, int proposer_every) {
  ShareBandit bandit({.most = 0.5, .least = 0.1});
  for (int round = 0, strategy = 0; round < rounds; ++round) {
    for (int i = 0; i < 7; ++i) {
      ++strategy;
      bandit.tell(Source::strategy, strategy_every > 0 && strategy % strategy_every == 0);
    }
    bandit.tell(Source::proposer, proposer_every > 0 && round % proposer_every == 0);
  }
  return bandit.share();
}

}  // namespace

TEST_CASE("a share begins in the middle, and stays where nothing tells the sources apart") {
  CHECK(ShareBandit({.most = 0.5, .least = 0.25}).share() == 0.375);
  const double equal = share_after(40, 4, 4);
  CHECK(equal > 0.2);
  CHECK(equal < 0.4);
}

TEST_CASE("a source that brings more gets more, and one that brings nothing keeps its least") {
  CHECK(share_after(20, 20, 2) > 0.48);
  CHECK(share_after(40, 3, 0) < 0.11);
  CHECK(share_after(40, 3, 0) >= 0.1);
}

TEST_CASE("what was brought long ago counts less than what is brought now") {
  ShareBandit bandit({.most = 0.5, .least = 0.1});
  for (int i = 0; i < 20; ++i) bandit.tell(Source::proposer, true);
  for (int i = 0; i < 20; ++i) bandit.tell(Source::strategy, false);
  CHECK(bandit.share() > 0.48);
  for (int i = 0; i < 400; ++i) bandit.tell(i % 4 == 0 ? Source::proposer : Source::strategy, i % 4 == 1);
  CHECK(bandit.share() < 0.12);
}

TEST_CASE("a share with equal ends does not move") {
  ShareBandit bandit({0.25});
  for (int i = 0; i < 50; ++i) bandit.tell(Source::proposer, i % 2 == 0);
  CHECK(bandit.share() == 0.25);
}

TEST_CASE("a proposer whose candidates are among the best is asked more often than one whose are not") {
  const Family line = [] {
    std::vector<Value> xs;
    for (std::int64_t x = 0; x < 400; ++x) xs.push_back(number(x));
    return family("f", {gene("x", xs)}, {"x >= 0"});
  }();
  const Space space({line}, {}, {});
  /// Proposes from the end of the line.
  class FromTheEnd : public Proposer {
   public:
    std::optional<Proposed> next() override { return Proposed{{"f", {{"x", number(x_--)}}}, {}}; }
    void refused(const Proposed&, const std::string&) override {}

   private:
    std::int64_t x_ = 399;
  };
  const auto taken = [&](bool good) {
    FromTheEnd proposer;
    ProposedTemplates none({}, {}, {}, {});
    const auto strategy =
        make_proposed(make_strategy("exhaustive", space, 0), space, &proposer, {.most = 0.5, .least = 0.1}, none, {});
    int proposed = 0;
    for (int i = 0; i < 200; ++i) {
      const Proposal proposal = strategy->ask().value();
      const double x = static_cast<double>(std::get<std::int64_t>(proposal.genome.genes.at("x")));
      const bool own = proposal.op == "proposer";
      proposed += own ? 1 : 0;
      // The strategy's latencies fall all the time, or never; the proposer's the other way round.
      strategy->tell({proposal.ticket, own == good ? 1000 - i : 2000 + x});
    }
    return proposed;
  };
  CHECK(taken(true) > 85);
  CHECK(taken(false) < 35);
}
