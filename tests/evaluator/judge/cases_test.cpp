#include "evaluator/judge/cases.h"

#include <map>
#include <set>

#include "tests/evaluator/toy_task.h"

using namespace evo;

namespace {

/// The toy task with work of its own choosing for each shape: N flops.
struct Setting {
  Task task = evo::testing::toy_options().task;
  Target target;

  explicit Setting(const std::vector<std::pair<std::string, std::int64_t>>& shapes) {
    task.bytes = Expression::constant(std::int64_t{0});
    task.flops = Expression::parse("N");
    task.shapes.clear();
    for (const auto& [name, flops] : shapes) task.shapes.push_back({name, {{"N", flops}}});
    target.validated = task.shapes;
    target.timed = {task.shapes.front()};
  }
};

std::map<std::string, std::size_t> cases_by_shape(const CasePlan& plan) {
  std::map<std::string, std::size_t> counts;
  for (const Case& one : plan.cases) ++counts[one.shape.name];
  return counts;
}

bool contains(const CasePlan& plan, const std::string& shape, const std::string& regime) {
  return std::ranges::any_of(plan.cases,
                             [&](const Case& one) { return one.shape.name == shape && one.regime.name == regime; });
}

}  // namespace

TEST_CASE("cheap shapes get every seed in every regime") {
  const Setting setting({{"a", 100}, {"b", 1000}});
  for (const char* kind : {"cuda", "vgpu"}) {
    const CasePlan plan = plan_cases(setting.task, setting.target, kind, 1);
    CHECK(cases_by_shape(plan) == std::map<std::string, std::size_t>{{"a", 15}, {"b", 15}});
    std::set<std::string> distinct;
    for (const Case& one : plan.cases) distinct.insert(one.shape.name + one.regime.name + std::to_string(one.seed));
    CHECK(distinct.size() == 30);
  }
}

TEST_CASE("a regime of other objectives is not drawn") {
  Setting setting({{"a", 100}});
  setting.task.regimes.back().objectives = {"accurate"};
  const std::string last = setting.task.regimes.back().name;
  setting.target.objective = "accurate";
  CHECK(contains(plan_cases(setting.task, setting.target, "vgpu", 1), "a", last));
  setting.target.objective = "latency";
  const CasePlan plan = plan_cases(setting.task, setting.target, "vgpu", 1);
  CHECK_FALSE(contains(plan, "a", last));
  CHECK(plan.cases.size() == 12);
}

TEST_CASE("expensive shapes get fewer cases, the most informative ones, and the grid's work is bounded") {
  const Setting setting({{"huge", 400'000'000'000}, {"large", 40'000'000}, {"small", 1000}});
  const CasePlan plan = plan_cases(setting.task, setting.target, "vgpu", 1);
  const auto counts = cases_by_shape(plan);
  CHECK(counts.at("huge") == 2);
  CHECK(contains(plan, "huge", "normal"));
  CHECK(contains(plan, "huge", "peaked"));
  CHECK(counts.at("large") == 10);  // 0.4e9 of 40e6 each.
  CHECK(counts.at("small") == 15);
}

TEST_CASE("every regime and every seed is covered even when everything is expensive") {
  const Setting setting({{"a", 900'000'000'000}, {"b", 800'000'000'000}});
  const CasePlan plan = plan_cases(setting.task, setting.target, "vgpu", 1);
  std::set<std::string> regimes;
  std::set<std::uint64_t> seeds;
  for (const Case& one : plan.cases) {
    regimes.insert(one.regime.name);
    seeds.insert(one.seed);
  }
  CHECK(regimes.size() == setting.task.regimes.size());
  CHECK(seeds == std::set<std::uint64_t>{0, 1, 2});
  CHECK(plan.cases.size() <= 2 + 5);
}

TEST_CASE("the smoke case is the cheapest, and timed shapes are timed on cases that are validated") {
  const Setting setting({{"large", 5'000'000}, {"small", 1000}});
  for (const char* kind : {"cuda", "vgpu"}) {
    const CasePlan plan = plan_cases(setting.task, setting.target, kind, 1);
    CHECK(plan.cases.at(plan.smoke).shape.name == "small");
    CHECK(plan.cases.at(plan.smoke).regime.name == "normal");
    REQUIRE(plan.timed.size() == 1);
    CHECK(plan.timed[0].rotation.size() == (std::string(kind) == "cuda" ? 2 : 1));
    REQUIRE(plan.timed[0].afterwards);
    CHECK(*plan.timed[0].afterwards != plan.timed[0].rotation.front());
    CHECK(plan.cases[*plan.timed[0].afterwards].shape.name == plan.timed[0].shape.name);
    for (const std::size_t number : plan.timed[0].rotation) {
      CHECK(plan.cases.at(number).shape.name == "large");
      CHECK(plan.cases.at(number).regime.name == "normal");
    }
    CHECK(std::ranges::is_sorted(plan.repeated));
    CHECK(std::ranges::binary_search(plan.repeated, plan.smoke));
  }
}

TEST_CASE("inputs that no cache holds are timed with one set of buffers") {
  const Setting setting({{"huge", 20'000'000}, {"small", 1000}});  // Two f32 inputs: 160 MB.
  const CasePlan plan = plan_cases(setting.task, setting.target, "cuda", 1);
  CHECK(plan.timed[0].rotation.size() == 1);
}

TEST_CASE("the order of the cases depends on the salt, and so do their inputs") {
  const Setting setting({{"a", 100}, {"b", 1000}});
  const auto order = [&](std::uint64_t salt) {
    std::vector<std::string> names;
    for (const Case& one : plan_cases(setting.task, setting.target, "cuda", salt).cases) {
      names.push_back(one.shape.name + one.regime.name + std::to_string(one.seed));
    }
    return names;
  };
  CHECK(order(1) == order(1));
  CHECK(order(1) != order(2));
  const CasePlan one = plan_cases(setting.task, setting.target, "cuda", 1),
                 two = plan_cases(setting.task, setting.target, "cuda", 2);
  CHECK(one.cases[one.smoke].recipe.inputs[0].stream != two.cases[two.smoke].recipe.inputs[0].stream);
}

TEST_CASE("the grid of fp8_sdpa covers tails, regimes and seeds within its bound") {
  // The sizes are those of the task, so the figures show what the rule gives in practice.
  const Setting setting(
      {{"small", 16'777'216}, {"one", 512}, {"tail77", 3'035'648}, {"tail129", 8'520'192}, {"tail200", 61'440'000}});
  const CasePlan plan = plan_cases(setting.task, setting.target, "vgpu", 1);
  const auto counts = cases_by_shape(plan);
  CHECK(counts.at("one") == 15);
  CHECK(counts.at("tail77") == 15);
  CHECK(counts.at("tail129") == 15);
  CHECK(counts.at("small") == 14);
  CHECK(counts.at("tail200") == 3);
}

TEST_CASE("a plan whose variables hold inputs is timed on one set of them") {
  const Setting setting({{"a", 100}});
  const TimedShape timed = plan_cases(setting.task, setting.target, "cuda", 1).timed.at(0);
  REQUIRE(timed.rotation.size() == 2);
  Plan plan;
  plan.constants = {{"rows", Argument::of_int(1)}};
  CHECK(rotation_of(timed, plan).size() == 2);
  plan.constants.push_back({"d_x", {Argument::Kind::tensor, 0}});
  REQUIRE(rotation_of(timed, plan).size() == 1);
  CHECK(rotation_of(timed, plan)[0] == timed.rotation[0]);
}
