// Inputs that are edited so that an answer depends on fewer stages.

#include "evaluator/judge/isolated_case.h"

#include <catch2/catch_test_macros.hpp>
#include <vector>

#include "evaluator/numbers/elements.h"

using namespace evo;

namespace {

Task matrix_task() {
  Task task;
  task.name = "matrices";
  task.shape_parameters = {"H", "S"};
  Tensor tensor;
  tensor.name = "x";
  tensor.dims = {Expression::parse("H"), Expression::parse("S"), Expression::parse("4")};
  task.inputs = {tensor};
  task.regimes = {{"normal", Distribution::normal, 1, {}}, {"large", Distribution::normal, 8, {}}};
  task.shapes = {{"usual", {{"H", std::int64_t{2}}, {"S", std::int64_t{3}}}}};
  return task;
}

Case case_of(const Isolation& isolation) {
  const Task task = matrix_task();
  const Case like{task.shapes.front(), task.regimes.front(), 0,
                  make_recipe(task, {}, task.shapes.front(), task.regimes.front(), 0, 1)};
  return isolated_case(task, {}, isolation, like, 1);
}

std::vector<double> values_of(const Case& one) {
  const std::vector<std::byte> content = generate_inputs(one.recipe).front();
  std::vector<double> values;
  for (std::uint64_t i = 0; i < one.recipe.inputs.front().elements; ++i)
    values.push_back(as_double(load_at(DType::f32, content.data(), i)));
  return values;
}

Isolation with(const InputEdit& edit) {
  Isolation isolation;
  isolation.edits = {edit};
  return isolation;
}

}  // namespace

TEST_CASE("an input can be all zeros or all ones") {
  CHECK(values_of(case_of(with({.input = "x", .zero = true}))) == std::vector<double>(24, 0.0));
  CHECK(values_of(case_of(with({.input = "x", .equal = true}))) == std::vector<double>(24, 1.0));
}

TEST_CASE("rows, columns and matrices repeat their first element, row and matrix") {
  const std::vector<double> drawn = values_of(case_of({}));
  const std::vector<double> rows = values_of(case_of(with({.input = "x", .rows = true})));
  const std::vector<double> columns = values_of(case_of(with({.input = "x", .columns = true})));
  const std::vector<double> both = values_of(case_of(with({.input = "x", .rows = true, .matrices = true})));
  REQUIRE(drawn[0] != drawn[1]);
  for (std::size_t i = 0; i < drawn.size(); ++i) {
    INFO("element " << i);
    CHECK(rows[i] == drawn[i / 4 * 4]);
    CHECK(columns[i] == drawn[i / 12 * 12 + i % 4]);
    CHECK(both[i] == drawn[i % 12 / 4 * 4]);
  }
}

TEST_CASE("a ramp sets elements apart") {
  const std::vector<double> drawn = values_of(case_of({}));
  const std::vector<double> ramp = values_of(case_of(with({.input = "x", .ramp = true})));
  for (std::size_t i = 0; i < drawn.size(); ++i)
    CHECK(ramp[i] == static_cast<double>(static_cast<float>(drawn[i] * static_cast<double>(i + 1))));
}

TEST_CASE("an isolation may have a shape and a regime of its own") {
  Isolation isolation;
  isolation.shape = {{"S", std::int64_t{5}}};
  isolation.regime = "large";
  const Case one = case_of(isolation);
  CHECK(one.shape.name == "H=2,S=5");
  CHECK(one.regime.name == "large");
  CHECK(one.recipe.inputs.front().elements == 40);
}
