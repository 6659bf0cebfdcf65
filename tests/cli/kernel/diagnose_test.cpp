#include <catch2/matchers/catch_matchers_string.hpp>

#include "tests/cli/bench.h"

using namespace evo::testing;
using Catch::Matchers::ContainsSubstring;

TEST_CASE("the right stage is named for at least nine in ten wrong answers of fp8_sdpa's mutants", "[sweep]") {
  const Bench bench;
  const nlohmann::json json = nlohmann::json::parse(
      bench.evo({"diagnose", "fp8_sdpa", "--device", "vgpu", "--templates", kTemplates, "--json"}).out);
  INFO(json.dump(1));
  CHECK(json["counted"].get<int>() >= 40);
  CHECK(10 * json["right"].get<int>() >= 9 * json["counted"].get<int>());
  for (const auto& one : json["mutants"]) {
    if (!one["planted"].empty()) continue;
    INFO("a control: " << one["name"]);
    CHECK(one["wrong"].is_null());
  }
}

TEST_CASE("a diagnosis names stage, element, got and reference, and what the error looks like", "[long]") {
  const Bench bench;
  const nlohmann::json json = nlohmann::json::parse(bench
                                                        .evo({"diagnose", "fp8_sdpa", "--device", "vgpu", "--templates",
                                                              kTemplates, "--only", "values_swapped", "--json"})
                                                        .out);
  for (const auto& one : json["mutants"]) {
    INFO(one);
    CHECK(one["stage"] == "values");
    const auto& isolated = one["isolations"].back()["wrong"];
    CHECK(isolated["worst"]["place"].contains("H"));
    CHECK(isolated["worst"]["got"] != isolated["worst"]["reference"]);
    CHECK_THAT(isolated["arrangement"].get<std::string>(), ContainsSubstring("exchanged in pairs"));
  }
}

TEST_CASE("the kernel of a wrong answer is diagnosed by its number, and show has its summary") {
  const Bench bench;
  write_toy_task(bench, true);
  bench.evo({"run", "--task", "toy", "--device", "vgpu", "--evals", "8", "--seed", "1"});
  const nlohmann::json runs = bench.json({"runs", "1"});
  std::string wrong, right;
  for (const auto& one : runs["runs"][0]["outcomes"]) {
    if (one["verdict"] == "wrong_answer") wrong = std::to_string(one["candidate"].get<int>());
    if (one["verdict"] == "valid") right = std::to_string(one["candidate"].get<int>());
  }
  REQUIRE_FALSE(wrong.empty());
  REQUIRE_FALSE(right.empty());
  CHECK_THAT(bench.evo({"show", wrong}).out, ContainsSubstring("looks like"));
  const Outcome diagnosed = bench.evo({"diagnose", wrong, "--device", "vgpu"});
  CHECK(diagnosed.code == 1);
  CHECK_THAT(diagnosed.out,
             ContainsSubstring("first wrong stage") && ContainsSubstring("got") && ContainsSubstring("reference"));
  const Outcome clean = bench.evo({"diagnose", right, "--device", "vgpu"});
  CHECK(clean.code == 0);
  CHECK_THAT(clean.out, ContainsSubstring("every case of the grid is right"));
}
