#include "engine/search/presearch.h"

#include <cmath>
#include <limits>
#include <optional>
#include <set>
#include <variant>

#include "engine/search/prediction_error.h"
#include "engine/space/space.h"
#include "tests/engine/support.h"

using namespace evo;
using namespace evo::test;

namespace {

constexpr double kFails = std::numeric_limits<double>::infinity();

/// Genomes (x, y) with 60 * 60 alleles, the smaller the better; x below 3 fails.
Space plane() {
  std::vector<Value> values;
  for (int i = 0; i < 60; ++i) values.push_back(number(i));
  return Space({family("f", {gene("x", values), gene("y", values)}, {})}, {}, {});
}

std::int64_t value_of(const Genome& genome, const std::string& gene) {
  return std::get<std::int64_t>(genome.genes.at(gene));
}

Genome at(std::int64_t x, std::int64_t y) {
  return {"f", {{"x", number(x)}, {"y", number(y)}}};
}

/// Latencies of the plane. Two successive values of y make the same program.
class Slope : public InstantPredictor {
 public:
  std::set<std::string> texts;
  int asked = 0;
  bool stopped = false;

 protected:
  std::optional<PredictedLatency> prediction(const Genome& genome) override {
    if (stopped) return std::nullopt;
    const std::int64_t x = value_of(genome, "x");
    const std::int64_t y = value_of(genome, "y") / 2 * 2;
    texts.insert(to_text(genome));
    ++asked;
    return PredictedLatency{x < 3 ? kFails : static_cast<double>(10 + x + y), std::to_string(100 * x + y)};
  }
};

}  // namespace

TEST_CASE("a pre-search finds the genomes that are predicted fastest, no two alike") {
  const Space space = plane();
  Slope slope;
  auto found = run_presearch(space, "evolve", 1, slope, {.genomes = 400});
  CHECK(slope.texts.size() <= 400);
  CHECK(slope.texts.size() > 250);  // its climbs meet near the best
  REQUIRE(found.size() >= 4);
  found.resize(4);
  CHECK(value_of(found[0].genome, "x") == 3);
  CHECK(value_of(found[0].genome, "y") <= 1);
  for (const Seed& one : found) {
    CHECK(one.origin == kPresearched);
    CHECK(value_of(one.genome, "x") <= 8);
    for (const Seed& other : found) {
      if (&one == &other) continue;
      CHECK(value_of(one.genome, "x") != value_of(other.genome, "x"));
      CHECK(value_of(one.genome, "y") != value_of(other.genome, "y"));
    }
  }
  Slope again;
  const auto same = run_presearch(space, "evolve", 1, again, {.genomes = 400});
  for (std::size_t i = 0; i < found.size(); ++i) CHECK(same[i].genome == found[i].genome);
}

TEST_CASE("what a pre-search finds differs in more than a sixth of the genes") {
  std::vector<Gene> genes;
  for (int i = 0; i < 12; ++i) genes.push_back(gene("g" + std::to_string(i), {number(0), number(1), number(2)}));
  const Space space({family("f", genes, {})}, {}, {});
  class Sum : public InstantPredictor {
   protected:
    std::optional<PredictedLatency> prediction(const Genome& genome) override {
      double sum = 10;
      for (const auto& [name, value] : genome.genes) sum += static_cast<double>(std::get<std::int64_t>(value));
      return PredictedLatency{sum};
    }
  } sum;
  const auto found = run_presearch(space, "evolve", 1, sum, {.genomes = 400, .varied = 0});
  REQUIRE(found.size() == 4);
  for (const Seed& one : found) {
    for (const Seed& other : found) {
      int differing = 0;
      for (const auto& [name, value] : one.genome.genes) differing += other.genome.genes.at(name) != value;
      CHECK((&one == &other || differing > 2));
    }
  }
}

TEST_CASE("further seeds of a pre-search have the alleles that the best ones lack, where they are nearly as fast") {
  const auto genome = [](int a, int b, int c) {
    return Genome{"f", {{"a", number(a)}, {"b", number(b)}, {"c", number(c)}}};
  };
  const std::vector<Seed> seeds = {{genome(0, 0, 0), "a rehearsal"}, {genome(0, 1, 0), "a rehearsal"}};
  const PredictedGenomes predicted = {{genome(0, 0, 0), {10.0, ""}}, {genome(0, 1, 0), {10.5, ""}},
                                      {genome(0, 1, 1), {10.6, ""}}, {genome(1, 0, 1), {11.4, ""}},
                                      {genome(1, 2, 0), {11.2, ""}}, {genome(2, 2, 2), {11.6, ""}}};
  const auto found = lacking_alleles(seeds, predicted, 4);
  // Of a = 1, b = 2 and c = 1 two genomes have two; the last one is too slow.
  REQUIRE(found.size() == 2);
  CHECK(found[0].genome == genome(1, 2, 0));
  CHECK(found[1].genome == genome(0, 1, 1));
  CHECK(lacking_alleles(seeds, predicted, 1).size() == 1);
  CHECK(lacking_alleles(seeds, {}, 4).empty());
}

TEST_CASE("a pre-search ends when its time is over, its predictor stops or its space is exhausted") {
  const Space space = plane();
  Slope slope;
  const auto late = [&] { return slope.asked >= 96; };  // a batch is under way in each of the two climbs
  CHECK(run_presearch(space, "evolve", 1, slope, {.genomes = 400, .varied = 0}, late).size() == 4);
  CHECK(slope.asked == 96);
  Slope stopped;
  stopped.stopped = true;
  CHECK(run_presearch(space, "evolve", 1, stopped, {.genomes = 400}).empty());
  const Space point({family("f", {gene("x", {number(5)}), gene("y", {number(0), number(7)})}, {})}, {}, {});
  Slope all;
  const auto found = run_presearch(point, "evolve", 1, all, {.genomes = 400, .varied = 0});
  REQUIRE(found.size() == 1);  // the other differs in one gene
  CHECK(to_text(found[0].genome) == "f: x=5 y=0");
}

TEST_CASE("a predictor's error is the median of all at first, then learnt from the genes") {
  const Space space = plane();
  PredictionError error(space);
  CHECK(!error.knows_any());
  CHECK(error.ratio(at(1, 1)) == 1);
  error.observe(at(1, 1), {2}, 3);
  error.observe(at(1, 2), {2}, 4);
  error.observe(at(1, 3), {2}, 8);
  CHECK(error.knows_any());
  CHECK(error.ratio(at(40, 40)) == 2);
  Rng rng(1);
  for (int i = 0; i < 200; ++i) {  // where x is large it predicts half of what is measured
    const auto x = static_cast<std::int64_t>(rng.below(60));
    error.observe(at(x, static_cast<std::int64_t>(rng.below(60))), {10}, x < 30 ? 10 : 20);
  }
  CHECK(std::abs(error.ratio(at(10, 30)) - 1) < 0.15);
  CHECK(std::abs(error.ratio(at(50, 30)) - 2) < 0.2);
  for (int i = 0; i < 512; ++i)  // old answers no longer count after as many new ones
    error.observe(at(i % 60, i / 60), {10}, 10);
  CHECK(std::abs(error.ratio(at(50, 30)) - 1) < 0.01);
}

TEST_CASE("a predictor's error is learnt from its traits, too") {
  // The genes say nothing of the error: only the second trait does.
  const auto mean_error = [](std::size_t traits) {
    const Space space = plane();
    PredictionError error(space, traits);
    Rng rng(1);
    double sum = 0;
    for (int i = 0; i < 300; ++i) {
      const Genome genome = at(static_cast<std::int64_t>(rng.below(60)), static_cast<std::int64_t>(rng.below(60)));
      const auto waits = static_cast<float>(rng.below(100));
      const PredictedLatency predicted{10, "", {1, waits}};
      const double measured_us = waits < 50 ? 10 : 20;
      if (i >= 200) sum += std::abs(std::log(*error.expected_us(genome, predicted) / measured_us));
      error.observe(genome, predicted, measured_us);
    }
    return sum / 100;
  };
  CHECK(mean_error(2) < 0.1);
  CHECK(mean_error(0) > 0.3);
}
