#include <fmt/format.h>

#include <array>
#include <cmath>
#include <deque>
#include <functional>
#include <limits>
#include <map>
#include <numbers>
#include <set>

#include "engine/base/hash.h"
#include "engine/result/profile.h"
#include "engine/search/seeds.h"
#include "engine/strategy/strategies.h"
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
    return std::sqrt(-2 * std::log(uniform("r" + what) + 1e-12)) * std::cos(2 * std::numbers::pi * uniform("a" + what));
  }

  std::uint64_t seed_;
  double failing_pairs_;
};

// A kernel's genes in miniature: about two million legal genomes.
Family kernel(const std::string& name) {
  const std::vector<Value> numbers = {number(1), number(2), number(4), number(8)};
  const std::vector<Value> choices = {std::string("a"), std::string("b"), std::string("c")};
  return family(name,
                {gene("tile_q", numbers), gene("tile_k", numbers), gene("warps", numbers), gene("copy", choices),
                 gene("stages", {number(1), number(2), number(3)}, "copy != 'a'"),
                 gene("ping", {false, true}, "stages > 1"), gene("layout", choices), gene("operand", choices),
                 gene("math", choices), gene("split", numbers), gene("unroll", numbers), gene("cap", numbers)},
                {"tile_q % warps == 0", "tile_q * tile_k * stages <= 64", "cap >= 4 || tile_k <= 4"});
}

using Measure = std::function<std::optional<double>(const Genome&)>;

/// Asks and tells with `width` in flight; answers in ask order. Returns the proposals.
std::vector<Proposal> drive(Strategy& strategy, const Measure& measure, std::size_t asks, std::size_t width = 4) {
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

/// Predicts these latencies, in the order asked.
class Foretelling : public InstantPredictor {
 public:
  explicit Foretelling(std::vector<std::optional<double>> latencies) : latencies_(std::move(latencies)) {}

 protected:
  std::optional<PredictedLatency> prediction(const Genome&) override {
    return PredictedLatency{latencies_.at(next_++)};
  }

 private:
  std::vector<std::optional<double>> latencies_;
  std::size_t next_ = 0;
};

std::vector<std::string> texts(const std::vector<Proposal>& proposals) {
  std::vector<std::string> result;
  for (const Proposal& proposal : proposals) result.push_back(to_text(proposal.genome));
  return result;
}

}  // namespace

TEST_CASE("strategies are known by name") {
  const Space space({kernel("k")}, {}, {});
  CHECK(strategy_names() ==
        std::vector<std::string>{"evolve", "random", "exhaustive", "annealing", "genetic", "local"});
  CHECK_THAT(complaint_of([&] { make_strategy("evolv", space, 1); }),
             ContainsSubstring("unknown strategy 'evolv'; there are evolve, random, exhaustive"));
}

TEST_CASE("evolve goes on from the failures that reached the most cases until there is a latency") {
  // Five cases, each of which one allele of a gene gets right: one genome in several hundred gets all.
  const auto cases = [](const Genome& genome) {
    const auto is = [&](const char* gene, const Value& allele) { return genome.genes.at(gene) == allele; };
    const bool right[] = {is("layout", std::string("b")), is("operand", std::string("c")), is("math", std::string("a")),
                          is("split", number(4)), is("unroll", number(2))};
    return static_cast<std::size_t>(std::ranges::find(right, false) - std::begin(right));
  };
  const Space space({kernel("k")}, {}, {});
  const auto asks_until_right = [&](std::uint64_t seed, bool told) {
    const auto strategy = make_strategy("evolve", space, seed);
    for (std::size_t asks = 1; asks < 1000; ++asks) {
      const Proposal proposal = *strategy->ask();
      const std::size_t reached = cases(proposal.genome);
      if (reached == 5) return asks;
      strategy->tell({proposal.ticket, std::nullopt, told ? reached : 0});
    }
    return std::size_t{1000};
  };
  std::size_t told = 0;
  std::size_t untold = 0;
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    told += asks_until_right(seed, true);
    untold += asks_until_right(seed, false);
  }
  INFO(told << " asks with, " << untold << " without");
  CHECK(told * 4 < untold);
}

TEST_CASE("the figures of evolve can be set by name, for ablation") {
  const Space space({kernel("k")}, {}, {});
  const Landscape landscape(1, 0);
  const auto run = [&](const char* name) { return texts(drive(*make_strategy(name, space, 5), landscape, 60)); };
  CHECK(run("evolve:founders=10:exploration=1.1") == run("evolve"));
  CHECK(run("evolve:founders=5") != run("evolve"));
  CHECK_THAT(complaint_of([&] { run("evolve:founder=5"); }),
             ContainsSubstring("'founder=5': expected NAME=VALUE; there are beside, bred"));
  CHECK_THAT(complaint_of([&] { run("evolve:founders=few"); }), ContainsSubstring("expected a number"));
}

TEST_CASE("evolve keeps proposing genomes of a family that does not lead") {
  const Space space({kernel("fast"), kernel("slow")}, {}, {});
  const Landscape landscape(1, 0);
  const Measure measure = [&](const Genome& genome) { return *landscape(genome) * (genome.family == "slow" ? 10 : 1); };
  const auto asked_of_slow = [&](const char* name) {
    const std::vector<Proposal> proposals = drive(*make_strategy(name, space, 3), measure, 130);
    return std::count_if(proposals.begin() + 10, proposals.end(),
                         [](const Proposal& proposal) { return proposal.genome.family == "slow"; });
  };
  CHECK(asked_of_slow("evolve:patience=0") >= 120 / 6);
  CHECK(asked_of_slow("evolve:patience=0:turns=0") < 120 / 6);
}

TEST_CASE("evolve restarts its climb from new founders when it has stalled") {
  const Space space({kernel("k")}, {}, {});
  // One peak, which is found soon: from then on nothing gets better.
  const Measure hill = [](const Genome& genome) {
    return std::exp(0.3 *
                    static_cast<double>(std::count_if(genome.genes.begin(), genome.genes.end(), [](const auto& gene) {
                      return expr::to_string(gene.second) != "1" && expr::to_string(gene.second) != "a";
                    })));
  };
  const auto random = [&](const char* name) {
    // Its patience is of answers for each bit of the number of genomes.
    const std::vector<Proposal> proposals = drive(*make_strategy(name, space, 3), hill, 120);
    return std::count_if(proposals.begin(), proposals.end(),
                         [](const Proposal& proposal) { return proposal.op == "random"; });
  };
  CHECK(random("evolve:immigrants=0:patience=2.4") == 2 * 10);
  CHECK(random("evolve:immigrants=0:patience=0") == 10);
}

TEST_CASE("evolve proposes all neighbours of the best after a long time without progress") {
  const Space space({kernel("k")}, {}, {});
  const Landscape landscape(1, 0);
  const auto left_beside_best = [&](const char* name) {
    const std::vector<Proposal> proposals = drive(*make_strategy(name, space, 2), landscape, 240);
    const auto best =
        std::ranges::min_element(proposals, {}, [&](const Proposal& proposal) { return *landscape(proposal.genome); });
    REQUIRE(proposals.end() - best > 50 + 40);  // It has some forty neighbours.
    const std::vector<std::string> asked = texts(proposals);
    const Point point = space.point(best->genome);
    std::size_t left = 0;
    for (std::size_t gene = 0; gene < point.alleles.size(); ++gene) {
      for (const Point& neighbour : space.neighbours(point, gene, Space::Step::any))
        left += std::ranges::count(asked, to_text(space.genome(neighbour))) == 0;
    }
    return left;
  };
  CHECK(left_beside_best("evolve:patience=0") == 0);
  CHECK(left_beside_best("evolve:patience=0:beside=0") > 0);
}

TEST_CASE("steered, evolve proposes neighbours that take time from what bounds their parent") {
  const std::vector<Value> numbers = {number(1), number(2), number(4), number(8), number(16)};
  const Space space({evo::test::family("f",
                                       {gene("tile", numbers), gene("stages", numbers), gene("split", numbers),
                                        gene("unroll", numbers), gene("warps", numbers)},
                                       {})},
                    {}, {});
  // All are as fast. The tensor cores bound them, for the longer the larger `split` is.
  const auto traits = [](const Genome& genome) {
    std::vector<float> all(kTraits);
    all[2] = 60 + 2 * static_cast<float>(std::get<std::int64_t>(genome.genes.at("split")));
    return all;
  };
  const auto less_split = [&](const std::string& name, std::uint64_t seed) {
    const auto strategy = make_strategy(name, space, seed);
    std::map<std::uint64_t, Genome> asked;
    int less = 0;
    for (int i = 0; i < 60; ++i) {
      const Proposal proposal = *strategy->ask();
      const auto split = [](const Genome& genome) { return std::get<std::int64_t>(genome.genes.at("split")); };
      if (proposal.op == "neighbour") less += split(proposal.genome) < split(asked.at(proposal.parents.front()));
      asked[proposal.ticket] = proposal.genome;
      strategy->tell({proposal.ticket, 10.0, 0, traits(proposal.genome)});
    }
    return less;
  };
  int steered = 0;
  int plain = 0;
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    steered += less_split("evolve:steer=3", seed);
    plain += less_split("evolve", seed);
  }
  CHECK(2 * steered >= 3 * plain);
  CHECK(plain > 0);
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

TEST_CASE("the same seed gives the same proposals") {
  const Space space({kernel("k")}, {}, {});
  const Landscape landscape(1, 0.004);
  for (const std::string& name : strategy_names()) {
    const auto run = [&](std::uint64_t seed) {
      return texts(drive(*make_strategy(name, space, seed), landscape, 300));
    };
    CHECK(run(5) == run(5));
    if (name != "exhaustive") CHECK(run(5) != run(6));
  }
}

TEST_CASE("every strategy proposes its seeds first, learns from them and never proposes them again") {
  const Space space({family("a", {gene("x", {number(0), number(1), number(2)}), gene("y", {false, true}, "x > 0")}, {}),
                     family("b", {gene("z", {number(0), number(1)})}, {})},
                    {}, {});
  const std::vector<Seed> seeds = {{space.at(3), "run 7"}, {space.at(0), "run 7"}};
  for (const std::string& name : strategy_names()) {
    const auto strategy = make_seeded(make_strategy(name, space, 9), seeds);
    const auto proposals = drive(
        *strategy, [](const Genome&) { return 1.0; }, 100, 3);
    REQUIRE(proposals.size() == 7);
    CHECK(proposals[0].genome == seeds[0].genome);
    CHECK(proposals[1].genome == seeds[1].genome);
    CHECK(proposals[1].op == "seed");
    CHECK(proposals[2].op != "seed");
    const auto asked = texts(proposals);
    CHECK(std::set<std::string>(asked.begin(), asked.end()).size() == 7);
  }
}

TEST_CASE("evolve breeds from a good seed at once") {
  const Space space({kernel("k")}, {}, {});
  const Landscape landscape(1, 0.004);
  const auto found = drive(*make_strategy("evolve", space, 1), landscape, 300);
  const Proposal best = *std::min_element(found.begin(), found.end(), [&](const Proposal& a, const Proposal& b) {
    return landscape(a.genome).value_or(1e12) < landscape(b.genome).value_or(1e12);
  });
  const auto seeded = drive(*make_seeded(make_strategy("evolve", space, 2), {{best.genome, "there"}}), landscape, 30);
  const auto unseeded = drive(*make_strategy("evolve", space, 2), landscape, 30);
  CHECK(best_of(seeded, landscape) <= *landscape(best.genome));
  CHECK(best_of(seeded, landscape) < best_of(unseeded, landscape));
  CHECK(std::any_of(seeded.begin(), seeded.end(), [](const Proposal& proposal) {
    return std::find(proposal.parents.begin(), proposal.parents.end(), 0u) != proposal.parents.end();
  }));
}

TEST_CASE("seeds keep the alleles that the space has, alternate between the rankings, and contain no duplicates") {
  const Space space(
      {family("f", {gene("x", {number(1), number(2), number(4)}), gene("y", {number(1), number(2)})}, {"x * y <= 4"})},
      {}, {});
  const auto wish = [](const std::string& family, std::int64_t x, std::int64_t y) {
    return Seed{{family, {{"x", number(x)}, {"y", number(y)}, {"gone", true}}}, family};
  };
  const auto seeds =
      seeds_in(space, {{wish("f", 2, 2), wish("f", 1, 1)}, {wish("f", 4, 7), wish("f", 2, 2)}, {wish("g", 1, 1)}});
  REQUIRE(seeds.size() == 3);
  CHECK(to_text(seeds[0].genome) == "f: x=2 y=2");
  CHECK(to_text(seeds[1].genome) == "f: x=4 y=1");  // y = 7 is unknown, and x = 4 leaves one allele
  CHECK(to_text(seeds[2].genome) == "f: x=1 y=1");
  std::vector<Seed> many;
  for (std::int64_t i = 0; i < 5; ++i) many.push_back(wish("f", i % 2 + 1, i / 2));
  CHECK(seeds_in(space, {many}).size() <= space.size());
}

TEST_CASE("the genomes for a warm start that are predicted fastest become seeds") {
  const Space space({family("f", {gene("x", {number(1), number(2), number(3), number(4), number(5), number(6)})}, {})},
                    {}, {});
  std::vector<Seed> ranking;
  for (std::int64_t x = 1; x <= 6; ++x) ranking.push_back({{"f", {{"x", number(x)}}}, "there"});
  const double fails = std::numeric_limits<double>::infinity();
  const auto chosen = [&](std::vector<std::optional<double>> predicted) {
    Foretelling predictor(std::move(predicted));
    std::vector<std::string> texts;
    for (const Seed& seed : seeds_in(space, {ranking}, predictor)) texts.push_back(to_text(seed.genome));
    return texts;
  };
  CHECK(chosen({9, 7, fails, 5, 8, 6}) == std::vector<std::string>{"f: x=4", "f: x=6", "f: x=2", "f: x=5", "f: x=1"});
  CHECK(chosen({fails, fails, fails, fails, 8, fails}) == std::vector<std::string>{"f: x=5"});
  CHECK(chosen(std::vector<std::optional<double>>(6)) ==
        std::vector<std::string>{"f: x=1", "f: x=2", "f: x=3", "f: x=4", "f: x=5"});
}

TEST_CASE("a small space is proposed completely, then there is nothing left") {
  const Space space({family("a", {gene("x", {number(0), number(1), number(2)}), gene("y", {false, true}, "x > 0")}, {}),
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

TEST_CASE("genomes that evolve proposes before the first answer are spread out, however many they are") {
  const Space space({kernel("k")}, {}, {});
  // The sum, over the last 40 of 60 proposals, of the genes in which each differs from the nearest of all before it.
  const auto spread = [&](const char* name, std::uint64_t seed) {
    const auto strategy = make_strategy(name, space, seed);
    std::vector<Point> points;
    std::size_t sum = 0;
    for (std::size_t asked = 0; asked < 60; ++asked) {
      const Point point = space.point(strategy->ask()->genome);
      std::size_t nearest = point.alleles.size();
      for (const Point& other : points) {
        std::size_t genes = 0;
        for (std::size_t i = 0; i < point.alleles.size(); ++i) genes += point.alleles[i] != other.alleles[i];
        nearest = std::min(nearest, genes);
      }
      if (asked >= 20) sum += nearest;
      points.push_back(point);
    }
    return sum;
  };
  std::size_t evolved = 0;
  std::size_t random = 0;
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    evolved += spread("evolve", seed);
    random += spread("random", seed);
  }
  INFO(evolved << " genes, random genomes " << random);
  CHECK(evolved * 10 > random * 11);
}

TEST_CASE("random draws every genome equally often") {
  const Space space(
      {family("a", {gene("x", {number(0), number(1), number(2)}), gene("y", {false, true}, "x > 0")}, {})}, {}, {});
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

TEST_CASE("evolve proposes random genomes and neighbours of good ones") {
  const Space space({kernel("k")}, {}, {});
  const auto proposals = drive(*make_strategy("evolve", space, 2), Landscape(4, 0.002), 900);
  std::map<std::string, int> uses;
  for (const Proposal& proposal : proposals) ++uses[proposal.op];
  for (const char* op : {"random", "neighbour"}) {
    INFO(op);
    CHECK(uses[op] > 3);
  }
}

TEST_CASE("evolve leaves a basin that it has searched through for a better one far away") {
  // Two basins: all genes low is good, all genes high is better, and what lies between is bad.
  const std::vector<Value> numbers = {number(1), number(2), number(3), number(4), number(5), number(6)};
  const Space space({family("f", {gene("a", numbers), gene("b", numbers), gene("c", numbers), gene("d", numbers)}, {})},
                    {}, {});
  const Measure measure = [](const Genome& genome) {
    double low = 0;
    double high = 0;
    for (const auto& [name, allele] : genome.genes) {
      low += static_cast<double>(std::get<std::int64_t>(allele) - 1);
      high += static_cast<double>(6 - std::get<std::int64_t>(allele));
    }
    return std::min(12 + low, 10 + 1.5 * high);
  };
  int reached = 0;
  for (std::uint64_t seed = 0; seed < 10; ++seed)
    reached += best_of(drive(*make_strategy("evolve", space, seed), measure, 300), measure) == 10;
  CHECK(reached >= 8);
}

TEST_CASE("evolve learns where candidates fail") {
  // A third of the space fails, next to the fastest.
  const std::vector<Value> numbers = {number(1), number(2), number(4), number(8), number(16), number(32)};
  const Space space({family("f", {gene("a", numbers), gene("b", numbers), gene("c", numbers), gene("d", numbers)}, {})},
                    {}, {});
  const Measure measure = [](const Genome& genome) -> std::optional<double> {
    const auto allele = [&](const char* name) { return std::get<std::int64_t>(genome.genes.at(name)); };
    if (allele("a") * allele("b") > 64) return std::nullopt;
    return 1000.0 / static_cast<double>(allele("a") * allele("b")) + static_cast<double>(allele("c") + allele("d"));
  };
  const auto failing = [&](const std::string& name) {
    int failures = 0;
    for (const Proposal& proposal : drive(*make_strategy(name, space, 3), measure, 200))
      failures += !measure(proposal.genome);
    return failures;
  };
  CHECK(failing("evolve") < failing("random"));
}

TEST_CASE("annealing, genetic and local search beat random") {
  const Space space({kernel("k")}, {}, {});
  std::map<std::string, double> mean_log;
  constexpr int kRuns = 8;
  for (const char* name : {"random", "annealing", "genetic", "local"}) {
    for (int run = 0; run < kRuns; ++run) {
      const Landscape landscape(100 + run, 0.002);
      mean_log[name] += std::log(best_of(drive(*make_strategy(name, space, run), landscape, 300), landscape)) / kRuns;
    }
  }
  for (const char* name : {"annealing", "genetic", "local"}) {
    INFO(name);
    CHECK(std::exp(mean_log["random"] - mean_log[name]) > 1.05);
  }
}

TEST_CASE("exhaustive refuses a space that cannot be indexed") {
  std::vector<Gene> genes;
  for (int i = 0; i < 64; ++i) genes.push_back(gene(fmt::format("g{}", i), {number(0), number(1)}));
  const Space space({family("huge", genes, {})}, {}, {});
  CHECK_THAT(complaint_of([&] { make_strategy("exhaustive", space, 1); }), ContainsSubstring("too many genomes"));
  CHECK(drive(
            *make_strategy("evolve", space, 1), [](const Genome&) { return 1.0; }, 40)
            .size() == 40);
}

TEST_CASE("evolve clearly beats random on landscapes with interactions and failures", "[long]") {
  const Space space({kernel("k")}, {}, {});
  for (const double failing_pairs : {0.0, 0.006}) {
    std::map<std::string, std::array<double, 2>> mean_log;
    constexpr int kRuns = 12;
    for (const char* name : {"evolve", "random"}) {
      for (int run = 0; run < kRuns; ++run) {
        const Landscape landscape(100 + run, failing_pairs);
        const auto proposals = drive(*make_strategy(name, space, run), landscape, 400);
        mean_log[name][0] += std::log(best_of({proposals.begin(), proposals.begin() + 100}, landscape)) / kRuns;
        mean_log[name][1] += std::log(best_of(proposals, landscape)) / kRuns;
      }
    }
    const double at_100 = std::exp(mean_log["random"][0] - mean_log["evolve"][0]);
    const double at_400 = std::exp(mean_log["random"][1] - mean_log["evolve"][1]);
    INFO("failing pairs " << failing_pairs << ": evolve is " << at_100 << " times faster after 100, " << at_400
                          << " after 400");
    CHECK(at_100 > 1.15);
    CHECK(at_400 > 1.3);
  }
}

TEST_CASE("no strategy goes on from a candidate that was retracted") {
  const Space space({kernel("a")}, {}, {});
  const Landscape latency(3, 0);
  for (const char* name : {"evolve", "genetic", "local", "annealing"}) {
    INFO(name);
    const auto strategy = make_strategy(name, space, 1);
    std::optional<std::uint64_t> wrong;
    double least = std::numeric_limits<double>::max();
    const auto ask_and_tell = [&] {
      const Proposal proposal = strategy->ask().value();
      const double us = latency(proposal.genome).value();
      strategy->tell({proposal.ticket, us});
      if (us < least) {
        least = us;
        wrong = proposal.ticket;
      }
      return proposal;
    };
    for (int i = 0; i < 60; ++i) ask_and_tell();
    // The best one is where all of them search.
    const std::uint64_t retracted = *wrong;
    strategy->retract({retracted, std::nullopt, 5});
    for (int i = 0; i < 40; ++i) {
      const Proposal proposal = ask_and_tell();
      CHECK(std::ranges::find(proposal.parents, retracted) == proposal.parents.end());
    }
  }
}
