// Strategies that search the front of latency over error.
#include <cmath>
#include <map>

#include "engine/strategy/strategies.h"
#include "tests/engine/support.h"

using namespace evo;
using namespace evo::test;

namespace {

std::vector<Value> numbers(std::int64_t count) {
  std::vector<Value> values;
  for (std::int64_t i = 0; i < count; ++i) values.push_back(number(i));
  return values;
}

/// The more of `exact` the slower and the more accurate; each of the others has one best allele.
const Family kTraded = family(
    "f", {gene("exact", numbers(8)), gene("a", numbers(12)), gene("b", numbers(12)), gene("c", numbers(12))}, {});

double at(const Genome& genome, const char* name) {
  return static_cast<double>(std::get<std::int64_t>(genome.genes.at(name)));
}

Answer answer_to(const Proposal& proposal) {
  const Genome& genome = proposal.genome;
  double latency_us = 10 + 3 * at(genome, "exact");
  for (const char* name : {"a", "b", "c"}) latency_us += std::abs(at(genome, name) - 7);
  return {proposal.ticket, latency_us, 0, {}, 0.03 * std::pow(0.6, at(genome, "exact"))};
}

/// The least latency at each allele of `exact` after so many evaluations.
std::map<double, double> searched(Strategy& strategy, int evaluations) {
  std::map<double, double> best;
  for (int i = 0; i < evaluations; ++i) {
    const Proposal proposal = strategy.ask().value();
    const Answer answer = answer_to(proposal);
    double& one = best.emplace(at(proposal.genome, "exact"), 1e9).first->second;
    one = std::min(one, *answer.latency_us);
    strategy.tell(answer);
  }
  return best;
}

}  // namespace

TEST_CASE("a search of the front finds its fast end and its accurate end, where a search for speed finds one") {
  const Space space({kTraded}, {}, {});
  const auto front = searched(*make_front("evolve", space, 2), 80);
  CHECK(front.at(0) <= 10 * 1.1);
  CHECK(front.at(7) <= 31 * 1.1);
  const auto fast = searched(*make_strategy("evolve", space, 2), 80);
  CHECK((!fast.contains(7) || fast.at(7) > 31 * 1.1));
}

TEST_CASE("a search of the front numbers proposals in order, repeats none, and takes genomes of others") {
  const Space space({kTraded}, {}, {});
  const auto strategy = make_front("evolve", space, 2);
  std::set<std::string> asked;
  std::uint64_t next = 0;
  const auto take = [&](const std::optional<Proposal>& proposal) {
    REQUIRE(proposal);
    CHECK(proposal->ticket == next++);
    CHECK(asked.insert(to_text(proposal->genome)).second);
    strategy->tell(answer_to(*proposal));
  };
  Rng rng(3);
  for (int i = 0; i < 60; ++i) {
    take(strategy->ask());
    const Genome other = space.sample(rng, "f");
    if (const auto offered = strategy->offer(other, "seed", {}))
      take(offered);
    else
      CHECK(asked.contains(to_text(other)));
  }
}

TEST_CASE("the same seed gives the same search of the front, and a small space ends it") {
  const Space space({kTraded}, {}, {});
  const auto one = make_front("evolve", space, 5), two = make_front("evolve", space, 5);
  for (int i = 0; i < 40; ++i) {
    const Proposal a = one->ask().value(), b = two->ask().value();
    REQUIRE(a.genome == b.genome);
    one->tell(answer_to(a));
    two->tell(answer_to(b));
  }
  const Space small({family("f", {gene("exact", numbers(4))}, {})}, {}, {});
  const auto all = make_front("evolve", small, 1);
  for (int i = 0; i < 4; ++i) all->tell({all->ask().value().ticket, 1.0, 0, {}, 0});
  CHECK_FALSE(all->ask());
}
