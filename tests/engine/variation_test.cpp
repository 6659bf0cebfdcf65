#include "engine/space/variation.h"

#include <set>

#include "tests/engine/support.h"

using namespace evo;
using namespace evo::test;

namespace {

Family kernel() {
  return family("kernel",
                {gene("tile", {number(16), number(32), number(64), number(128)}),
                 gene("warps", {number(1), number(2), number(4), number(8)}),
                 gene("copy", {std::string("plain"), std::string("async"), std::string("bulk")}),
                 gene("stages", {number(1), number(2), number(3)}, "copy != 'plain'"), gene("ping", {false, true})},
                {"tile == 16 * warps", "stages < 3 or warps > 1"});
}

std::set<std::string> changed_genes(const Genome& parent, const Genome& child) {
  std::set<std::string> changed;
  for (const auto& [name, allele] : child.genes) {
    const auto before = parent.genes.find(name);
    if (before != parent.genes.end() && before->second != allele) changed.insert(name);
  }
  return changed;
}

// Applies a variation to many parents and checks what always holds.
template <typename Check>
void for_many_parents(Genome (*vary)(const Space&, const Genome&, Rng&), Check check) {
  const Space space({kernel()}, {}, {});
  Rng rng(11);
  for (int i = 0; i < 500; ++i) {
    const Genome parent = space.sample(rng);
    const Genome child = vary(space, parent, rng);
    INFO(to_text(parent) << " -> " << to_text(child));
    REQUIRE(space.contains(child));
    check(parent, child);
  }
}

}  // namespace

TEST_CASE("mutate_one changes one gene and the genes that constraints tie to it") {
  std::set<std::string> seen;
  for_many_parents(mutate_one, [&](const Genome& parent, const Genome& child) {
    const auto changed = changed_genes(parent, child);
    CHECK(!changed.empty());
    // Tile and warps can only change together; going to one warp takes the third stage away.
    if (changed.contains("tile")) CHECK(changed.contains("warps"));
    if (!changed.contains("tile") && !changed.contains("stages")) CHECK(changed.size() == 1);
    seen.insert(changed.begin(), changed.end());
  });
  CHECK(seen == std::set<std::string>{"tile", "warps", "copy", "stages", "ping"});
}

TEST_CASE("step_neighbour moves a number to the next value") {
  for_many_parents(step_neighbour, [](const Genome& parent, const Genome& child) {
    const Family family = kernel();
    const auto changed = changed_genes(parent, child);
    const bool stepped = std::any_of(changed.begin(), changed.end(), [&](const std::string& name) {
      const Gene& gene = *family.gene(name);
      const auto index = [&](const Genome& g) {
        return std::find(gene.alleles.begin(), gene.alleles.end(), g.genes.at(name)) - gene.alleles.begin();
      };
      return gene.kind == Gene::Kind::number && std::abs(index(parent) - index(child)) == 1;
    });
    CHECK(stepped);
    CHECK(!changed.contains("ping"));
  });
}

TEST_CASE("crossover takes every gene from one parent or the other") {
  Family free = kernel();
  free.constraints.clear();
  free.genes[3].when = parse("true");
  const Space space({free}, {}, {});
  Rng rng(2);
  int mixed = 0;
  for (int i = 0; i < 500; ++i) {
    const Genome a = space.sample(rng);
    const Genome b = space.sample(rng);
    const Genome child = crossover(space, a, b, rng);
    INFO(to_text(a) << " x " << to_text(b) << " -> " << to_text(child));
    for (const auto& [name, allele] : child.genes) CHECK((allele == a.genes.at(name) || allele == b.genes.at(name)));
    mixed += child != a && child != b;
  }
  CHECK(mixed > 250);
}

TEST_CASE("crossover under constraints is legal, and untied genes still come from the parents") {
  const Space space({kernel()}, {}, {});
  Rng rng(2);
  for (int i = 0; i < 500; ++i) {
    const Genome a = space.sample(rng);
    const Genome b = space.sample(rng);
    const Genome child = crossover(space, a, b, rng);
    INFO(to_text(a) << " x " << to_text(b) << " -> " << to_text(child));
    REQUIRE(space.contains(child));
    CHECK((child.genes.at("ping") == a.genes.at("ping") || child.genes.at("ping") == b.genes.at("ping")));
  }
}

TEST_CASE("crossover of two families mutates the first parent") {
  const Family other = family("other", {gene("x", {number(0), number(1)})}, {});
  const Space space({kernel(), other}, {}, {});
  Rng rng(2);
  const Genome a = space.sample(rng, "kernel");
  const Genome child = crossover(space, a, space.sample(rng, "other"), rng);
  CHECK(child.family == "kernel");
  CHECK(child != a);
}

TEST_CASE("a variation returns the parent when nothing can be varied") {
  const Space space({family("one", {gene("x", {number(1)}), gene("y", {number(2), number(3)})}, {"y == 2"})}, {}, {});
  Rng rng(2);
  const Genome only = space.at(0);
  for (const auto vary : {mutate_one, step_neighbour}) CHECK(vary(space, only, rng) == only);
  CHECK(crossover(space, only, only, rng) == only);
}
