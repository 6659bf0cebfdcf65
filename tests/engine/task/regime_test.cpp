#include "engine/task/regime.h"

#include "engine/expression/json_place.h"
#include "engine/task/task.h"
#include "tests/engine/support.h"

using namespace evo;
using namespace evo::test;
using Catch::Matchers::ContainsSubstring;

namespace {

Regime read(const std::string& json) {
  return read_regime(JsonPlace::read({{"task.json", json}}, "task.json"), "found", {"x", "k"}, {"fast"});
}

std::string complaint(const std::string& json) {
  return complaint_of([&] { read(json); });
}

}  // namespace

TEST_CASE("a regime of steps is written as it is read") {
  const std::string json =
      R"({"distribution":"outliers","gain":8.0,"tensors":["x"],"objectives":["fast"],"unit_scales":true,)"
      R"("steps":[{"step":"last_rows","amount":8.0,"share":0.125,"tensors":["k"]},{"step":"like","like":"x"},)"
      R"({"step":"positive"}]})";
  const Regime regime = read(json);
  CHECK(regime.steps.size() == 3);
  CHECK(regime.steps[0].step == StepKind::last_rows);
  CHECK(json_of(regime) == json);
  CHECK(read(json_of(regime)) == regime);
}

TEST_CASE("a regime of steps begins with normal values unless it says otherwise") {
  CHECK(read(R"({"steps": [{"step": "scale", "amount": 2}]})").distribution == Distribution::normal);
  CHECK_THAT(complaint("{}"), ContainsSubstring("distribution"));
}

TEST_CASE("a step that cannot be made is refused by its place") {
  const auto of = [](const std::string& step) { return complaint("{\"steps\": [" + step + "]}"); };
  CHECK_THAT(of(R"({"step": "skale", "amount": 2})"), ContainsSubstring("steps[0].step: unknown step 'skale'"));
  CHECK_THAT(of(R"({"step": "scale"})"), ContainsSubstring("amount"));
  CHECK_THAT(of(R"({"step": "positive", "amount": 2})"), ContainsSubstring("unknown key 'amount'"));
  CHECK_THAT(of(R"({"step": "scale", "amount": 1e9})"), ContainsSubstring("amount: must be within"));
  CHECK_THAT(of(R"({"step": "rounded", "amount": 0})"), ContainsSubstring("amount: must be above 0"));
  CHECK_THAT(of(R"({"step": "zeros", "share": 0})"), ContainsSubstring("share: must be above 0"));
  CHECK_THAT(of(R"({"step": "scale", "amount": 2, "tensors": ["y"]})"), ContainsSubstring("tensors[0]"));
  CHECK_THAT(of(R"({"step": "like", "like": "y"})"), ContainsSubstring("like"));
}

TEST_CASE("a task's regime may have steps") {
  const SourceTree tree =
      edited(scale_task(), "scale/task.json", R"({ "distribution": "normal" })",
             R"({ "distribution": "normal", "steps": [{ "step": "scale_rows", "amount": 3, "tensors": ["x"] }] })");
  const Task task = load_task(tree, "scale");
  REQUIRE(task.regimes[0].steps.size() == 1);
  CHECK(task.regimes[0].steps[0].amount == 3);
}
