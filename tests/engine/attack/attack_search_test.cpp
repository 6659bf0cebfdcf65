#include "engine/attack/attack_search.h"

#include <algorithm>
#include <cmath>

#include "engine/expression/json_place.h"
#include "tests/engine/support.h"

using namespace evo;

namespace {

const AttackSpace kSpace{{"q", "k", "v"}, true, true, false, 1, {1, 0.5, 0.25}, {0, 0, 1}};

/// Tells each attack's error to a search for so many generations; gives the largest.
template <typename Error>
double largest(AttackSearch& search, int generations, Error error) {
  double most = 0;
  for (int i = 0; i < generations; ++i) {
    std::vector<Attacked> told;
    for (const Attack& attack : search.ask()) told.push_back({attack, error(attack)});
    for (const Attacked& one : told) most = std::max(most, one.error);
    search.tell(told);
  }
  return most;
}

/// Grows with what rows of k grow by, best of all at the amount 20.
double error_of_k(const Attack& attack) {
  double error = 0;
  for (const DrawStep& step : attack.regime.steps)
    if (step.step == StepKind::last_rows && step.tensors == std::vector<std::string>{"k"})
      error = std::max(error, 1 / (1 + std::fabs(std::log(std::max(step.amount, 1e-3) / 20))));
  return error;
}

}  // namespace

TEST_CASE("an attack search of one seed asks the same again, of another something else") {
  AttackSearch one(kSpace, 1), again(kSpace, 1), other(kSpace, 2);
  for (int i = 0; i < 10; ++i) {
    const auto asked = one.ask();
    CHECK(asked == again.ask());
    CHECK(asked != other.ask());
    std::vector<Attacked> told;
    for (const Attack& attack : asked) told.push_back({attack, error_of_k(attack)});
    one.tell(told);
    again.tell(told);
    other.tell(told);
  }
}

TEST_CASE("an attack search climbs where random attacks do not") {
  double evolved = 0, random = 0;
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    AttackSearch search(kSpace, seed), blind(kSpace, seed);
    evolved += largest(search, 100, error_of_k);
    // What it is told says nothing.
    double most = 0;
    largest(blind, 100, [&](const Attack& attack) {
      most = std::max(most, error_of_k(attack));
      return 0.0;
    });
    random += most;
  }
  CHECK(evolved / 5 > 0.9);
  CHECK(evolved > random);
}

TEST_CASE("every regime that an attack makes can be read in a task") {
  Rng rng(3);
  Attack attack = random_attack(kSpace, rng);
  for (int i = 0; i < 3000; ++i) {
    const std::string json = json_of(attack.regime);
    INFO(json);
    REQUIRE(read_regime(JsonPlace::read({{"task.json", json}}, "task.json"), "", kSpace.floats, {}) == attack.regime);
    REQUIRE(attack.shape < kSpace.shapes.size());
    // Codes with scales hold any size; scores of larger ones are beyond what f32 resolves.
    for (const DrawStep& step : attack.regime.steps) REQUIRE(std::fabs(step.amount) <= 30);
    for (const Attack& simple : simpler(attack)) REQUIRE(simple != attack);
    attack = i % 10 == 9 ? crossed(attack, random_attack(kSpace, rng), rng) : mutated(kSpace, attack, rng);
  }
}

TEST_CASE("taking one simplification after another ends") {
  Rng rng(4);
  for (int i = 0; i < 200; ++i) {
    Attack attack = random_attack(kSpace, rng);
    for (int j = 0; j < 5; ++j) attack = mutated(kSpace, attack, rng);
    int steps = 0;
    for (std::vector<Attack> all = simpler(attack); !all.empty(); all = simpler(attack)) {
      attack = all.back();
      REQUIRE(++steps < 200);
    }
    CHECK(attack.regime.steps.empty());
    CHECK(attack.regime.distribution == Distribution::normal);
  }
}

TEST_CASE("an attack leaves inputs alone that are not drawn by regimes") {
  const Task task = load_task(test::scale_task(), "scale");
  const AttackSpace space = attack_space(task, task.default_options(), {1}, {1});
  CHECK(space.floats == std::vector<std::string>{"x"});
  CHECK(space.scaled);
  CHECK(!space.integers);
}

TEST_CASE("an attack begins with each shape, and with rows of zeros, among single steps") {
  Rng rng(5);
  const std::vector<Attack> opening = opening_attacks(kSpace, rng);
  for (std::size_t shape = 0; shape < kSpace.shapes.size(); ++shape)
    CHECK(std::ranges::find(opening, Attack{shape, {}}) < opening.begin() + 48);
  const auto has_rows_of_zeros = [](const Attack& one) {
    return one.regime.steps.size() == 1 && one.regime.steps[0].step == StepKind::few_rows &&
           one.regime.steps[0].amount == 0;
  };
  CHECK(std::ranges::find_if(opening, has_rows_of_zeros) < opening.begin() + 28);
}
