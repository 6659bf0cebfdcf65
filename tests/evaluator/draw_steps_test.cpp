#include "evaluator/device/draw_steps.h"

#include <cmath>
#include <cstring>

#include "engine/record/enumerators.h"
#include "evaluator/device/inputs.h"
#include "evaluator/device/recipe_fingerprint.h"
#include "toy_task.h"

using namespace evo;
using namespace evo::testing;

namespace {

constexpr std::uint64_t kRow = 50, kMatrix = 1000;

/// 20 matrices of 20 x 50 normal values, of a dtype without scales, and what steps make of them.
CaseRecipe recipe_of(std::vector<InputStep> steps, DType dtype = DType::f32) {
  CaseRecipe recipe;
  recipe.inputs = {
      {"x", dtype, 20 * kMatrix, kRow, kMatrix, kMatrix, Distribution::normal, 1, 12345, std::nullopt, false}};
  recipe.inputs[0].steps = std::move(steps);
  return recipe;
}

std::vector<float> drawn(std::vector<InputStep> steps) {
  const std::vector<std::byte> bytes = generate_inputs(recipe_of(std::move(steps))).front();
  std::vector<float> values(bytes.size() / sizeof(float));
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

std::vector<float> drawn(StepKind kind, double amount = 1, double share = 0.01) {
  return drawn({{kind, amount, share, 77}});
}

}  // namespace

TEST_CASE("each step changes what is drawn, the same way whichever part of an input is made") {
  for (std::size_t i = 0; i < kEnumerators<StepKind>; ++i) {
    const auto kind = static_cast<StepKind>(i);
    INFO(enumerator_name(kind));
    const CaseRecipe recipe = recipe_of({{kind, 3, 0.25, 77}});
    const std::vector<float> whole = drawn(kind, 3, 0.25);
    CHECK(whole != drawn({}));
    CHECK(std::ranges::all_of(whole, [](float value) { return std::isfinite(value); }));
    std::vector<float> part(400);
    std::ranges::copy_n(drawn({}).begin() + 1232, 400, part.begin());
    apply_steps(recipe.inputs[0], 1232, 1632, part.data());
    CHECK(std::equal(part.begin(), part.end(), whole.begin() + 1232));
  }
}

TEST_CASE("the last rows of each matrix grow by a step, at least one") {
  const std::vector<float> before = drawn({});
  for (const auto& [share, rows] : {std::pair(0.001, 1), std::pair(0.15, 3)}) {
    const std::vector<float> after = drawn(StepKind::last_rows, 8, share);
    for (std::size_t i = 0; i < after.size(); ++i) {
      const bool last = i % kMatrix / kRow >= 20U - static_cast<std::uint64_t>(rows);
      REQUIRE(after[i] == before[i] * (last ? 8 : 1));
    }
  }
}

TEST_CASE("steps follow one another in their order") {
  const std::vector<float> before = drawn({});
  const std::vector<float> after = drawn({{StepKind::shift, 2, 0, 1}, {StepKind::scale, 3, 0, 2}});
  for (std::size_t i = 0; i < after.size(); ++i) REQUIRE(std::fabs(after[i] - 3 * (before[i] + 2)) < 1e-5);
}

TEST_CASE("no step leaves the range of the input's type") {
  for (const DType dtype : {DType::f16, DType::bf16, DType::e4m3, DType::f32}) {
    CaseRecipe recipe = recipe_of({{StepKind::scale, 1e5, 0, 1}, {StepKind::heavy_tail, 0.5, 0, 2}}, dtype);
    recipe.inputs[0].widened = DType::f32;
    const std::vector<std::byte> bytes = generate_inputs(recipe).front();
    std::vector<float> values(bytes.size() / sizeof(float));
    std::memcpy(values.data(), bytes.data(), bytes.size());
    const double most = std::min<double>(kLargestStepped, info_of(dtype).greatest);
    CHECK(std::ranges::all_of(values, [&](float value) { return std::fabs(value) <= most; }));
  }
}

TEST_CASE("a heavy tail of two degrees is that of Student's t") {
  const std::vector<float> values = drawn(StepKind::heavy_tail, 2);
  // P(|t| > 10) is .0099 for 2 degrees and 1e-23 for N(0, 1).
  const auto far = static_cast<double>(std::ranges::count_if(values, [](float v) { return std::fabs(v) > 10; }));
  CHECK(far / static_cast<double>(values.size()) > 0.005);
  CHECK(far / static_cast<double>(values.size()) < 0.02);
}

TEST_CASE("an input may be drawn like another one") {
  const PipelineOptions options = toy_options();
  Regime regime{"alike", Distribution::normal};
  regime.steps = {{.step = StepKind::like, .tensors = {"b"}, .like = "a"}};
  const CaseRecipe recipe = make_recipe(options.task, {}, options.task.shapes[0], regime, 0, 1);
  const auto contents = generate_inputs(recipe);
  CHECK(contents[0] == contents[1]);
  regime.steps.clear();
  CHECK(generate_inputs(make_recipe(options.task, {}, options.task.shapes[0], regime, 0, 1))[1] != contents[1]);
}

TEST_CASE("cases of different steps are told apart") {
  CHECK(fingerprint(recipe_of({{StepKind::scale, 2, 0, 1}})) != fingerprint(recipe_of({{StepKind::scale, 3, 0, 1}})));
  CHECK(fingerprint(recipe_of({{StepKind::scale, 2, 0, 1}})) != fingerprint(recipe_of({})));
}
