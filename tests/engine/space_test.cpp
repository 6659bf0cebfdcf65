#include "engine/space/space.h"

#include <fmt/format.h>

#include <map>
#include <set>

#include "tests/engine/support.h"

using namespace evo;
using namespace evo::test;
using Catch::Matchers::ContainsSubstring;

namespace {

std::set<std::string> texts(const std::vector<Genome>& genomes) {
  std::set<std::string> result;
  for (const Genome& genome : genomes) result.insert(to_text(genome));
  return result;
}

std::vector<Genome> all_genomes(const Space& space) {
  std::vector<Genome> genomes;
  for (std::uint64_t i = 0; i < space.size(); ++i) genomes.push_back(space.at(i));
  return genomes;
}

// Genes that depend on each other in every way that the engine supports.
Family tangled() {
  return family(
      "tangled",
      {gene("tile", {number(16), number(32), number(64), number(128)}),
       gene("warps", {number(1), number(2), number(4), number(8)}),
       gene("copy", {std::string("plain"), std::string("async")}),
       gene("stages", {number(1), number(2), number(3)}, "copy == 'async'"), gene("ping", {false, true}, "stages > 1"),
       gene("layout", {std::string("none"), std::string("padded"), std::string("xor")}),
       gene("split", {number(1), number(2), number(4)}, "layout != 'none' or tile > 64")},
      {"tile % (16 * warps) == 0", "smem <= capacity", "threads >= 64 or split == 1", "ping ? warps > 1 : true"},
      {{"threads", "32 * warps"}, {"row", "D + (layout == 'padded' ? 16 : 0)"}, {"smem", "tile * row * stages"}});
}

const Bindings kCapacity = {{"capacity", number(16384)}};
const std::vector<Bindings> kBoth = {{{"D", number(64)}}, {{"D", number(128)}}};

Family random_family(Rng& rng) {
  std::vector<Gene> genes;
  std::vector<std::string> names;
  const std::size_t count = 2 + rng.below(4);
  for (std::size_t i = 0; i < count; ++i) {
    const std::string name = fmt::format("g{}", i);
    std::vector<Value> alleles;
    if (rng.below(4) == 0) {
      alleles = {false, true};
    } else {
      const auto first = static_cast<std::int64_t>(rng.below(3));
      for (std::uint64_t k = 0; k <= rng.below(4); ++k)
        alleles.push_back(number(first + 2 * static_cast<std::int64_t>(k)));
    }
    // A condition that fails would be an error, so these have only operators that always have a value.
    std::string when = "true";
    if (i > 0 && rng.below(3) == 0)
      when = names[rng.below(i)] + (rng.below(2) ? " > 1" : " == 0 or " + names[rng.below(i)] + " < 3");
    genes.push_back(gene(name, alleles, when));
    names.push_back(name);
  }
  std::vector<std::pair<std::string, std::string>> derived;
  std::vector<std::string> readable = names;
  readable.push_back("fact");
  readable.push_back("D");
  for (std::uint64_t i = 0; i < rng.below(3); ++i) {
    const std::string name = fmt::format("d{}", i);
    derived.emplace_back(name, random_expression(rng, readable, 2));
    readable.push_back(name);
  }
  std::vector<std::string> constraints;
  for (std::uint64_t i = 0; i <= rng.below(3); ++i) constraints.push_back(random_expression(rng, readable, 3));
  return family("random", std::move(genes), constraints, derived);
}

}  // namespace

TEST_CASE("the space holds exactly the genomes that trying every combination finds") {
  const Enumeration expected = enumerate(tangled(), kCapacity, kBoth);
  REQUIRE(!expected.fails);
  const Space space({tangled()}, kCapacity, kBoth);
  CHECK(space.size() == expected.legal.size());
  CHECK(space.size("tangled") == expected.legal.size());
  CHECK(texts(all_genomes(space)) == texts(expected.legal));
  CHECK(space.product_size("tangled") == 4.0 * 4 * 2 * 3 * 2 * 3 * 3);
  CHECK(expected.legal.size() > 100);
  CHECK(expected.legal.size() < 1728);
}

TEST_CASE("random small spaces hold exactly the genomes that trying every combination finds") {
  Rng rng(7);
  const Bindings facts = {{"fact", number(3)}};
  const std::vector<Bindings> specialisations = {{{"D", number(2)}}, {{"D", number(5)}}};
  int built = 0;
  int refused = 0;
  for (int i = 0; i < 3000; ++i) {
    const Family family = random_family(rng);
    const Enumeration expected = enumerate(family, facts, specialisations);
    std::optional<Space> space;
    const std::string complaint = complaint_of([&] { space.emplace(std::vector{family}, facts, specialisations); });
    std::string shown;
    for (const Constraint& constraint : family.constraints) shown += constraint.condition.text() + "; ";
    INFO(shown << complaint);
    if (space) {
      ++built;
      REQUIRE(space->size() == expected.legal.size());
      REQUIRE(texts(all_genomes(*space)) == texts(expected.legal));
      for (const Genome& genome : expected.legal) REQUIRE(space->contains(genome));
    } else if (complaint.find("cannot be evaluated") != std::string::npos) {
      ++refused;
      REQUIRE(expected.fails);
    } else {
      REQUIRE_THAT(complaint, ContainsSubstring("no genome of random keeps all constraints"));
      REQUIRE(expected.legal.empty());
    }
  }
  CHECK(built > 500);
  CHECK(refused > 100);
}

TEST_CASE("a family that options or sizes exclude names the constraint that does") {
  const Family narrow = family("narrow", {gene("threads", {number(32), number(64)})}, {"threads > 16", "M <= 128"});
  CHECK_THAT(complaint_of([&] {
               Space({narrow}, {}, {{{"M", number(256)}}});
             }),
             ContainsSubstring("no genome of narrow keeps all constraints: breaks a constraint: 'M <= 128' does not "
                               "hold for M=256"));
}

TEST_CASE("a constraint must hold under every specialisation") {
  const auto size = [](const std::vector<Bindings>& specialisations) {
    return Space({tangled()}, kCapacity, specialisations).size();
  };
  const std::uint64_t both = size(kBoth);
  CHECK(both == size({{{"D", number(128)}}}));
  CHECK(both < size({{{"D", number(64)}}}));
}

TEST_CASE("sampling is uniform over legal genomes") {
  const Space space({tangled()}, kCapacity, kBoth);
  const std::uint64_t size = space.size();
  std::map<std::string, double> counts;
  Rng rng(99);
  const double expected = 60;
  for (std::uint64_t i = 0; i < size * 60; ++i) counts[to_text(space.sample(rng))] += 1;
  CHECK(counts.size() == size);
  double chi_square = 0;
  for (const auto& [text, count] : counts) chi_square += (count - expected) * (count - expected) / expected;
  // Mean and variance of chi-square with k degrees of freedom are k and 2k; five standard deviations either
  // way.
  const double freedom = static_cast<double>(size - 1);
  CHECK(std::abs(chi_square - freedom) < 5 * std::sqrt(2 * freedom));
}

TEST_CASE("an even sample draws each legal allele alike, however few genomes have it") {
  // x = 0 leaves y and z one choice: 1 of 33 genomes has it, but half of the even samples do.
  const Space space(
      {family("niche",
              {gene("x", {number(0), number(1)}), gene("y", {number(0), number(1), number(2), number(3)}),
               gene("z", {number(0), number(1), number(2), number(3), number(4), number(5), number(6), number(7)})},
              {"x > 0 or y == 3 and z == 5"})},
      {}, {});
  REQUIRE(space.size() == 33);
  Rng rng(5);
  std::map<std::string, int> counts;
  for (int i = 0; i < 10'000; ++i) ++counts[to_text(space.genome(space.sample_point_evenly(rng, 0)))];
  CHECK(counts.size() == 33);
  for (std::uint64_t i = 0; i < space.size(); ++i) {
    const Genome genome = space.at(i);
    const double expected = genome.genes.at("x") == Value(number(0)) ? 5000 : 5000 / 32.0;
    CHECK(std::abs(counts[to_text(genome)] - expected) < 5 * std::sqrt(expected));
  }
}

TEST_CASE("families share a space and its samples by their sizes") {
  const Family big =
      family("big", {gene("x", {number(0), number(1), number(2)}), gene("y", {number(0), number(1), number(2)})}, {});
  const Family small = family("small", {gene("x", {number(0)})}, {});
  const Space space({big, small}, {}, {});
  CHECK(space.size() == 10);
  CHECK(space.size("big") == 9);
  CHECK(space.at(9).family == "small");
  Rng rng(3);
  int of_small = 0;
  for (int i = 0; i < 10'000; ++i) of_small += space.sample(rng).family == "small";
  CHECK(of_small > 850);
  CHECK(of_small < 1150);
  CHECK(space.sample(rng, "small").family == "small");
}

TEST_CASE("neighbours are exactly the legal genomes that differ in one gene") {
  const Space space({tangled()}, kCapacity, kBoth);
  const std::vector<Genome> all = all_genomes(space);
  const Family& family = space.family("tangled");
  for (std::size_t i = 0; i < all.size(); i += 17) {
    const Genome& genome = all[i];
    for (const Gene& gene : family.genes) {
      if (!genome.genes.contains(gene.name)) {
        CHECK(space.neighbours(genome, gene.name, Space::Step::any).empty());
        continue;
      }
      // By definition: another allele here, the same allele in every gene that both have.
      std::vector<Genome> expected;
      for (const Genome& other : all) {
        const auto own = other.genes.find(gene.name);
        bool neighbour = own != other.genes.end() && own->second != genome.genes.at(gene.name);
        for (const auto& [name, allele] : other.genes) {
          const auto before = genome.genes.find(name);
          if (name != gene.name && before != genome.genes.end()) neighbour &= before->second == allele;
        }
        if (neighbour) expected.push_back(other);
      }
      INFO(to_text(genome) << " " << gene.name);
      const std::vector<Genome> found = space.neighbours(genome, gene.name, Space::Step::any);
      CHECK(texts(found) == texts(expected));
      CHECK(found.size() == expected.size());
    }
  }
}

TEST_CASE("an adjacent step moves a number to the next value") {
  const Space space({family("f",
                            {gene("n", {number(1), number(4), number(16), number(64)}),
                             gene("c", {std::string("a"), std::string("b"), std::string("c")})},
                            {})},
                    {}, {});
  const auto steps = [&](std::int64_t n, std::string_view gene) {
    return texts(space.neighbours({"f", {{"n", number(n)}, {"c", std::string("a")}}}, gene, Space::Step::adjacent));
  };
  CHECK(steps(4, "n") == std::set<std::string>{"f: c=a n=1", "f: c=a n=16"});
  CHECK(steps(1, "n") == std::set<std::string>{"f: c=a n=4"});
  CHECK(steps(1, "c") == std::set<std::string>{"f: c=b n=1", "f: c=c n=1"});
  CHECK(space.neighbours({"f", {{"n", number(4)}, {"c", std::string("a")}}}, Space::Step::adjacent).size() == 4);
}

TEST_CASE("complete finds a legal genome with the fewest differences from the wish") {
  const Space space({tangled()}, kCapacity, kBoth);
  const std::vector<Genome> all = all_genomes(space);
  const Family& family = space.family("tangled");
  Rng rng(5);
  const auto differences = [](const Genome& wish, const Genome& genome) {
    return std::count_if(genome.genes.begin(), genome.genes.end(), [&](const auto& gene) {
      const auto wished = wish.genes.find(gene.first);
      return wished != wish.genes.end() && wished->second != gene.second;
    });
  };
  for (int i = 0; i < 300; ++i) {
    Genome wish{"tangled", {}};
    for (const Gene& gene : family.genes) {
      if (rng.below(5) > 0) wish.genes[gene.name] = gene.alleles[rng.below(gene.alleles.size())];
    }
    const Genome completed = space.complete(wish, rng);
    CHECK(space.contains(completed));
    const auto fewest = std::min_element(all.begin(), all.end(), [&](const Genome& a, const Genome& b) {
      return differences(wish, a) < differences(wish, b);
    });
    CHECK(differences(wish, completed) == differences(wish, *fewest));
  }
}

TEST_CASE("complete draws uniformly among the nearest genomes") {
  const Space space({tangled()}, kCapacity, kBoth);
  Rng rng(8);
  std::map<std::string, double> counts;
  const Genome wish{"tangled", {{"tile", number(64)}, {"copy", std::string("plain")}}};
  for (int i = 0; i < 20'000; ++i) counts[to_text(space.complete(wish, rng))] += 1;
  const double expected = 20'000.0 / static_cast<double>(counts.size());
  double chi_square = 0;
  for (const auto& [text, count] : counts) chi_square += (count - expected) * (count - expected) / expected;
  const double freedom = static_cast<double>(counts.size() - 1);
  CHECK(counts.size() > 10);
  CHECK(chi_square < freedom + 5 * std::sqrt(2 * freedom));
}

TEST_CASE("complete keeps the genes that are fixed, or reports that no genome has them") {
  const Space space({tangled()}, kCapacity, kBoth);
  Rng rng(5);
  const Genome wish{"tangled",
                    {{"tile", number(16)}, {"warps", number(8)}, {"copy", std::string("plain")}, {"ping", true}}};
  const auto kept = space.complete(wish, {"warps"}, rng);
  REQUIRE(kept);
  CHECK(kept->genes.at("warps") == number(8));
  CHECK(kept->genes.at("tile") == number(128));
  CHECK(!space.complete(wish, {"tile", "warps"}, rng));
  CHECK(!space.complete(wish, {"copy", "ping"}, rng));
  const auto active = space.complete(wish, {"ping"}, rng);
  REQUIRE(active);
  CHECK(active->genes.at("copy") == Value(std::string("async")));
}

TEST_CASE("why_illegal says what is wrong with a genome") {
  const Space space({tangled()}, kCapacity, kBoth);
  const Genome good{
      "tangled",
      {{"tile", number(32)}, {"warps", number(2)}, {"copy", std::string("plain")}, {"layout", std::string("none")}}};
  const auto why = [&](const std::string& name, std::optional<Value> value) {
    Genome genome = good;
    if (value) {
      genome.genes[name] = *value;
    } else {
      genome.genes.erase(name);
    }
    return space.why_illegal(genome).value_or("");
  };
  CHECK(!space.why_illegal(good));
  CHECK(why("tile", std::nullopt) == "gene tile is missing");
  CHECK(why("tile", number(48)) == "gene tile cannot be '48'");
  CHECK(why("colour", number(1)) == "family tangled has no gene 'colour'");
  CHECK(why("stages", number(2)) == "gene stages is present though 'copy == 'async'' does not hold");
  CHECK(why("layout", std::string("xor")) == "gene split is missing");
  CHECK(why("warps", number(8)) ==
        "breaks a constraint: 'tile % (16 * warps) == 0' does not hold for tile=32, warps=8");
  CHECK(space.why_illegal({"other", {}}) == "no family 'other' in this space");
}

TEST_CASE("families that the device cannot run or that have no genome are left out with the reason") {
  Family old = family("old", {gene("x", {number(1)})}, {});
  Family modern = family("modern", {gene("x", {number(1)})}, {});
  modern.legal = parse("sm >= 90");
  const Family empty = family("empty", {gene("x", {number(1), number(2)})}, {"x > 2"});
  const Bindings facts = {{"sm", number(89)}};
  const Space space({old, modern, empty}, facts, {});
  CHECK(space.families().size() == 1);
  CHECK_THAT(complaint_of([&] { space.family("modern"); }), ContainsSubstring("no family 'modern' in this space"));
  const std::string complaint = complaint_of([&] { Space({modern, empty}, facts, {}); });
  CHECK(
      complaint ==
      "there is nothing to search: modern requires sm >= 90 (sm=89); /empty/family.json: no genome of empty keeps all "
      "constraints: 'x > 2' excludes every one");
  CHECK_THAT(complaint_of([&] { Space({}, facts, {}); }), ContainsSubstring("the task has no family"));
}

TEST_CASE("a constraint without a value is an error unless another constraint excludes the genome") {
  const auto complaint = [](const std::vector<std::string>& constraints) {
    return complaint_of([&] {
      Space({family("f", {gene("x", {number(0), number(1), number(2)})}, constraints)}, {}, {});
    });
  };
  CHECK_THAT(complaint({"8 / x > 1"}),
             ContainsSubstring("f/family.json: '8 / x > 1' cannot be evaluated for x=0: division by zero"));
  CHECK(complaint({"8 / x > 1", "x > 0"}).empty());
  CHECK(complaint({"x > 0 && 8 / x > 1"}).empty());
  CHECK_THAT(complaint({"x + y > 1"}), ContainsSubstring("'x + y > 1' reads unknown name 'y'"));
  CHECK_THAT(complaint({"numbered(0, x, '{}', '') == '01'"}),
             ContainsSubstring("compute with integers, not with text"));
  CHECK_THAT(complaint({"sqrt(x) > 1"}), ContainsSubstring("compute with integers, not with real functions"));
}

TEST_CASE("a space of 24 genes and thousands of billions of combinations is counted at once") {
  // Sums of products over most genes, as in the register and shared memory budgets of real kernels.
  std::vector<Gene> genes;
  std::string budget = "16 * g0";
  for (int i = 0; i < 24; ++i) {
    genes.push_back(gene(fmt::format("g{}", i), {number(1), number(2), number(4), number(8)}));
    if (i > 0 && i % 2 == 0) budget += fmt::format(" + 16 * g{} * g{}", i, i - 1);
  }
  const Space space({family("wide", genes, {budget + " <= 2000", "g0 * g1 >= 4 or g23 > 2"})}, {}, {});
  CHECK(space.product_size("wide") > 2e14);
  CHECK(space.size() > 1'000'000);
  CHECK(space.size() < Space::kSaturated);
  Rng rng(1);
  for (int i = 0; i < 100; ++i) CHECK(space.contains(space.sample(rng)));
  CHECK(space.contains(space.at(space.size() - 1)));
}

TEST_CASE("a space beyond 63 bits is saturated and still sampled") {
  std::vector<Gene> genes;
  for (int i = 0; i < 40; ++i)
    genes.push_back(gene(fmt::format("g{}", i), {number(0), number(1), number(2), number(3)}));
  const Space space({family("huge", genes, {"g0 <= g39"})}, {}, {});
  CHECK(space.size() == Space::kSaturated);
  Rng rng(1);
  double mean = 0;
  for (int i = 0; i < 4000; ++i) {
    const Genome genome = space.sample(rng);
    CHECK(space.contains(genome));
    mean += static_cast<double>(std::get<std::int64_t>(genome.genes.at("g20"))) / 4000;
  }
  CHECK(mean > 1.4);
  CHECK(mean < 1.6);
}
