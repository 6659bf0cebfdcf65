#include "engine/strategy.h"

#include <fmt/format.h>

#include <array>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cmath>
#include <deque>
#include <functional>
#include <numbers>
#include <set>

#include "engine/hash.h"
#include "tests/engine/support.h"

using namespace evo;
using namespace evo::test;
using Catch::Matchers::ContainsSubstring;

namespace {

/// A latency for every genome, with the features of real ones: each allele has an effect, some pairs of genes
/// have one together, and some pairs of alleles make the kernel fail.
class Landscape {
 public:
  Landscape(std::uint64_t seed, double failing_pairs) : seed_(seed), failing_pairs_(failing_pairs) {}

  std::optional<double> operator()(const Genome& genome) const {
    double log_latency = 0;
    for (const auto& [name, allele] : genome.genes) {
      const std::string one = name + expr::to_string(allele);
      log_latency += 0.1 * normal(one);
      for (const auto& [other_name, other_allele] : genome.genes) {
        if (other_name <= name) continue;
        const std::string pair = one + "," + other_name + expr::to_string(other_allele);
        if (uniform("linked" + name + other_name) < 0.15) log_latency += 0.15 * normal(pair);
        if (uniform("fails" + pair) < failing_pairs_) return std::nullopt;
      }
    }
    return 100 * std::exp(log_latency);
  }

 private:
  double uniform(const std::string& what) const {
    const std::string hex = hash_hex(fmt::format("{} {}", seed_, what));
    return static_cast<double>(std::stoull(hex.substr(0, 13), nullptr, 16)) / std::pow(2.0, 52);
  }
  double normal(const std::string& what) const {  // Box-Muller
    return std::sqrt(-2 * std::log(uniform("r" + what) + 1e-12)) *
           std::cos(2 * std::numbers::pi * uniform("a" + what));
  }

  std::uint64_t seed_;
  double failing_pairs_;
};

// A kernel's genes in miniature: about two million legal genomes.
Family kernel(const std::string& name) {
  const std::vector<Value> numbers = {number(1), number(2), number(4), number(8)};
  const std::vector<Value> choices = {std::string("a"), std::string("b"), std::string("c")};
  return family(
      name,
      {gene("tile_q", numbers), gene("tile_k", numbers), gene("warps", numbers), gene("copy", choices),
       gene("stages", {number(1), number(2), number(3)}, "copy != 'a'"),
       gene("ping", {false, true}, "stages > 1"), gene("layout", choices), gene("operand", choices),
       gene("math", choices), gene("split", numbers), gene("unroll", numbers), gene("cap", numbers)},
      {"tile_q % warps == 0", "tile_q * tile_k * stages <= 64", "cap >= 4 || tile_k <= 4"});
}

using Measure = std::function<std::optional<double>(const Genome&)>;

/// Asks and tells with `width` in flight; answers in ask order. Returns the proposals.
std::vector<Proposal> drive(Strategy& strategy, const Measure& measure, std::size_t asks,
                            std::size_t width = 4) {
  std::vector<Proposal> proposals;
  std::deque<Proposal> window;
  while (true) {
    while (window.size() < width && proposals.size() < asks) {
      auto proposal = strategy.ask();
      if (!proposal) break;
      proposals.push_back(*proposal);
      window.push_back(*proposal);
    }
    if (window.empty()) return proposals;
    strategy.tell({window.front().ticket, measure(window.front().genome)});
    window.pop_front();
  }
}

double best_of(const std::vector<Proposal>& proposals, const Measure& measure) {
  double best = 1e12;
  for (const Proposal& proposal : proposals) best = std::min(best, measure(proposal.genome).value_or(1e12));
  return best;
}

std::vector<std::string> texts(const std::vector<Proposal>& proposals) {
  std::vector<std::string> result;
  for (const Proposal& proposal : proposals) result.push_back(to_text(proposal.genome));
  return result;
}

}  // namespace

TEST_CASE("strategies are known by name") {
  const Space space({kernel("k")}, {}, {});
  CHECK(strategy_names() == std::vector<std::string>{"evolve", "random"});
  CHECK_THAT(complaint_of([&] { make_strategy("evolv", space, 1); }),
             ContainsSubstring("unknown strategy 'evolv'; there are evolve, random"));
}

TEST_CASE("proposals are legal, never repeated, numbered in order, with parents that were valid answers") {
  const Space space({kernel("k")}, {}, {});
  const Landscape landscape(1, 0.004);
  for (const std::string& name : strategy_names()) {
    const auto strategy = make_strategy(name, space, 3);
    const std::vector<Proposal> proposals = drive(*strategy, landscape, 600, 8);
    REQUIRE(proposals.size() == 600);
    std::set<std::string> seen;
    for (std::size_t i = 0; i < proposals.size(); ++i) {
      CHECK(proposals[i].ticket == i);
      CHECK(space.contains(proposals[i].genome));
      CHECK(seen.insert(to_text(proposals[i].genome)).second);
      CHECK(!proposals[i].op.empty());
      for (const std::uint64_t parent : proposals[i].parents) {
        REQUIRE(parent < i);
        CHECK(landscape(proposals[parent].genome));
      }
    }
  }
}

TEST_CASE("a seed decides everything") {
  const Space space({kernel("k")}, {}, {});
  const Landscape landscape(1, 0.004);
  for (const std::string& name : strategy_names()) {
    const auto run = [&](std::uint64_t seed) {
      return texts(drive(*make_strategy(name, space, seed), landscape, 300));
    };
    CHECK(run(5) == run(5));
    CHECK(run(5) != run(6));
  }
}

TEST_CASE("a small space is asked completely, then there is nothing left") {
  const Space space(
      {family("a", {gene("x", {number(0), number(1), number(2)}), gene("y", {false, true}, "x > 0")}, {}),
       family("b", {gene("z", {number(0), number(1)})}, {})},
      {}, {});
  REQUIRE(space.size() == 7);
  for (const std::string& name : strategy_names()) {
    for (const std::size_t width : {1, 4, 16}) {
      const auto strategy = make_strategy(name, space, 9);
      const auto proposals = drive(
          *strategy, [](const Genome&) { return 1.0; }, 100, width);
      const auto asked = texts(proposals);
      CHECK(std::set<std::string>(asked.begin(), asked.end()).size() == 7);
      CHECK(proposals.size() == 7);
      CHECK(!strategy->ask());
    }
  }
}

TEST_CASE("the search goes on when everything fails") {
  const Space space({kernel("k")}, {}, {});
  const auto strategy = make_strategy("evolve", space, 9);
  CHECK(drive(
            *strategy, [](const Genome&) { return std::nullopt; }, 300)
            .size() == 300);
}

TEST_CASE("many proposals can be in flight before the first answer") {
  const Space space({kernel("k")}, {}, {});
  const Landscape landscape(1, 0.004);
  const auto strategy = make_strategy("evolve", space, 9);
  CHECK(drive(*strategy, landscape, 200, 64).size() == 200);
}

TEST_CASE("random draws every genome equally often") {
  const Space space(
      {family("a", {gene("x", {number(0), number(1), number(2)}), gene("y", {false, true}, "x > 0")}, {})},
      {}, {});
  REQUIRE(space.size() == 5);
  std::map<std::string, int> first;
  std::map<std::string, int> second;
  for (std::uint64_t seed = 0; seed < 5000; ++seed) {
    const auto strategy = make_strategy("random", space, seed);
    ++first[to_text(strategy->ask()->genome)];
    ++second[to_text(strategy->ask()->genome)];
  }
  for (const auto& counts : {first, second}) {
    CHECK(counts.size() == 5);
    for (const auto& [text, count] : counts) {
      CHECK(count > 850);  // expected 1000, standard deviation 28
      CHECK(count < 1150);
    }
  }
}

TEST_CASE("evolve tries every family, and breeds from the better one") {
  const Space space({kernel("slow"), kernel("quick")}, {}, {});
  const Landscape landscape(4, 0.002);
  const Measure measure = [&](const Genome& genome) {
    auto latency = landscape(genome);
    if (latency && genome.family == "slow") *latency *= 30;
    return latency;
  };
  const auto proposals = drive(*make_strategy("evolve", space, 2), measure, 300);
  std::size_t slow = 0;
  for (const Proposal& proposal : proposals) slow += proposal.genome.family == "slow";
  CHECK(slow >= 3);
  CHECK(slow < 90);
}

TEST_CASE("evolve uses each operator, and restarts when it stagnates") {
  const Space space({kernel("k")}, {}, {});
  const auto proposals = drive(*make_strategy("evolve", space, 2), Landscape(4, 0.002), 1500);
  std::map<std::string, int> uses;
  for (const Proposal& proposal : proposals) ++uses[proposal.op];
  for (const char* op :
       {"random", "mutate_one", "mutate_several", "step_neighbour", "swap_slot", "crossover", "shake"}) {
    INFO(op);
    CHECK(uses[op] > 3);
  }
}

TEST_CASE("evolve clearly beats random on landscapes with interactions and failures") {
  const Space space({kernel("k")}, {}, {});
  for (const double failing_pairs : {0.0, 0.006}) {
    std::map<std::string, std::array<double, 2>> mean_log;
    constexpr int kRuns = 12;
    for (const std::string& name : strategy_names()) {
      for (int run = 0; run < kRuns; ++run) {
        const Landscape landscape(100 + run, failing_pairs);
        const auto proposals = drive(*make_strategy(name, space, run), landscape, 400);
        mean_log[name][0] +=
            std::log(best_of({proposals.begin(), proposals.begin() + 100}, landscape)) / kRuns;
        mean_log[name][1] += std::log(best_of(proposals, landscape)) / kRuns;
      }
    }
    const double at_100 = std::exp(mean_log["random"][0] - mean_log["evolve"][0]);
    const double at_400 = std::exp(mean_log["random"][1] - mean_log["evolve"][1]);
    INFO("failing pairs " << failing_pairs << ": evolve is " << at_100 << " times faster after 100, "
                          << at_400 << " after 400");
    CHECK(at_100 > 1.15);
    CHECK(at_400 > 1.3);
  }
}
