#include "engine/strategy/gene_worth.h"

#include <catch2/catch_approx.hpp>

#include "tests/engine/support.h"

using namespace evo;
using namespace evo::test;

namespace {

const Family kFamily = family("f",
                              {gene("large", {number(1), number(2), number(4)}), gene("small", {number(1), number(2)}),
                               gene("idle", {false, true}), gene("extra", {number(1), number(2)}, "idle")},
                              {"large * small < 8"});

/// `large` doubles the latency with each step, `small` adds a tenth, the others change nothing.
double latency_us(const Genome& genome) {
  const auto of = [&](const char* name) { return double(std::get<std::int64_t>(genome.genes.at(name))); };
  return of("large") * (of("small") == 2 ? 1.1 : 1.0);
}

std::vector<Tried> all_tried(const Space& space) {
  std::vector<Tried> tried;
  for (std::uint64_t i = 0; i < space.size(); ++i) tried.push_back({space.at(i), latency_us(space.at(i))});
  return tried;
}

const GeneWorth& named(const std::vector<GeneWorth>& worths, const std::string& gene) {
  return *std::ranges::find(worths, gene, &GeneWorth::gene);
}

}  // namespace

TEST_CASE("the gene that changes latencies most is the most important, and pairs measure each gene alone") {
  const Space space({kFamily}, {}, {});
  const std::vector<GeneWorth> worths = gene_worths(space, "f", all_tried(space));
  REQUIRE(worths.size() == 4);
  CHECK(worths[0].gene == "large");
  CHECK(worths[1].gene == "small");
  CHECK(worths[0].importance > 0.8);
  double all = 0;
  for (const GeneWorth& worth : worths) all += worth.importance;
  CHECK(all == Catch::Approx(1));
  // large is 1 or 2 with either small, and 4 with small = 1 alone; idle is false, or true with two alleles of extra.
  CHECK(named(worths, "small").pairs == 2 * 3);
  CHECK(named(worths, "small").pair_ratio == Catch::Approx(1.1));
  CHECK(named(worths, "large").pairs == (3 + 1) * 3);
  CHECK(named(worths, "extra").pairs == 5);
  CHECK(named(worths, "extra").pair_ratio == Catch::Approx(1));
}

TEST_CASE("alleles are counted with what failed, and know their best latency") {
  const Space space({kFamily}, {}, {});
  std::vector<Tried> tried = all_tried(space);
  for (Tried& one : tried)
    if (one.genome.genes.at("large") == number(4)) one.latency_us.reset();
  tried.push_back({{"other", {}}, 0.1});
  tried.push_back({{"f", {{"large", number(3)}}}, 0.1});  // not in the space
  const std::vector<GeneWorth> worths = gene_worths(space, "f", tried);
  const GeneWorth& large = named(worths, "large");
  REQUIRE(large.alleles.size() == 3);
  CHECK(large.alleles[0].tried == 6);
  CHECK(large.alleles[0].valid == 6);
  CHECK(large.alleles[0].best_us == 1.0);
  CHECK(large.alleles[2].tried == 3);
  CHECK(large.alleles[2].valid == 0);
  CHECK(!large.alleles[2].best_us);
}

TEST_CASE("few valid genomes tell nothing of importance") {
  const Space space({kFamily}, {}, {});
  const std::vector<GeneWorth> worths = gene_worths(space, "f", {{space.at(0), 1.0}, {space.at(1), 2.0}});
  for (const GeneWorth& worth : worths) CHECK(worth.importance == 0);
}
