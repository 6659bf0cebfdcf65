#include "engine/search/chance_valid.h"

#include <cstdint>

#include "engine/space/space.h"
#include "tests/engine/support.h"

using namespace evo;
using namespace evo::test;

namespace {

/// Six genes of four alleles, 0 to 3.
Space cube() {
  std::vector<Gene> genes;
  for (const char* name : {"a", "b", "c", "d", "e", "f"})
    genes.push_back(gene(name, {number(0), number(1), number(2), number(3)}));
  return Space({family("k", genes, {})}, {}, {});
}

std::int64_t allele(const Genome& genome, const std::string& gene) {
  return std::get<std::int64_t>(genome.genes.at(gene));
}

/// Teaches it `count` random genomes and returns what it says of those with a = `a` and b = `b`: the mean of 50.
template <typename Judge>
double taught(std::size_t count, Judge judge, std::int64_t a, std::int64_t b) {
  const Space space = cube();
  ChanceValid chance(space);
  Rng rng(1);
  for (std::size_t i = 0; i < count; ++i) {
    const Genome genome = space.genome(space.sample_point(rng));
    chance.observe(genome, judge(genome));
  }
  double sum = 0;
  for (int asked = 0; asked < 50;) {
    Genome genome = space.genome(space.sample_point(rng));
    genome.genes["a"] = number(a);
    genome.genes["b"] = number(b);
    sum += chance.of(genome);
    ++asked;
  }
  return sum / 50;
}

constexpr double kFast = 1;

}  // namespace

TEST_CASE("the chance to be valid is 1 until something has failed and enough was measured") {
  const auto valid = [](const Genome&) { return Answer{0, kFast}; };
  const auto failed = [](const Genome&) { return Answer{}; };
  CHECK(taught(100, valid, 0, 0) == 1);
  CHECK(taught(15, failed, 0, 0) == 1);
  CHECK(taught(16, failed, 0, 0) < 0.1);
  CHECK(taught(16, failed, 0, 0) > 0);

  const Space space = cube();
  ChanceValid chance(space);
  Rng rng(1);
  CHECK(!chance.all_failed());
  chance.observe(space.genome(space.sample_point(rng)), {});
  CHECK(chance.all_failed());
  chance.observe(space.genome(space.sample_point(rng)), {0, kFast});
  CHECK(!chance.all_failed());
}

TEST_CASE("which alleles make genomes fail is learnt") {
  const auto two_rules = [](const Genome& genome) {  // one genome in eight is valid
    const bool valid = allele(genome, "a") >= 2 && allele(genome, "b") == 1;
    return valid ? Answer{0, kFast} : Answer{};
  };
  CHECK(taught(150, two_rules, 3, 1) > 0.7);
  CHECK(taught(150, two_rules, 1, 1) < 0.3);
  CHECK(taught(150, two_rules, 3, 2) < 0.3);
}

TEST_CASE("while everything fails, those that come far have the greater chance") {
  const auto cases = [](const Genome& genome) {
    return Answer{0, {}, allele(genome, "a") != 2 ? std::size_t{0} : allele(genome, "b") != 1 ? 5u : 9u};
  };
  const double farthest = taught(150, cases, 2, 1);
  const double half_way = taught(150, cases, 2, 0);
  CHECK(farthest > 2 * half_way);
  CHECK(half_way > 2 * taught(150, cases, 0, 1));
  CHECK(farthest < 0.9);
}

TEST_CASE("what was measured long ago no longer counts") {
  std::size_t asked = 0;
  const auto changing = [&](const Genome&) { return asked++ < 100 ? Answer{} : Answer{0, kFast}; };
  CHECK(taught(1000, changing, 0, 0) < 0.99);
  asked = 0;
  CHECK(taught(1124, changing, 0, 0) > 0.999);
}
