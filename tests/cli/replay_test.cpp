#include <cmath>
#include <iterator>

#include "bench.h"

using namespace evo::testing;

namespace {

const std::string kSpace = EVO_TEST_DATA "/replay/synthetic.csv";
const std::string kOrders = EVO_TEST_DATA "/replay/orders.jsonl";

std::string text_of(const std::filesystem::path& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

nlohmann::json strategy_of(const nlohmann::json& space, const std::string& name) {
  for (const auto& strategy : space.at("strategies")) {
    if (strategy.at("strategy") == name) return strategy;
  }
  FAIL("no strategy " << name);
  return {};
}

}  // namespace

TEST_CASE("replay scores strategies and recorded orders as the published scorer does") {
  const Outcome outcome = run_evo({"replay", kSpace, "--strategy", "random", "--runs", "2", "--with", kOrders,
                                   "--budgets", "5,10,20,40", "--json"});
  REQUIRE(outcome.code == 0);
  const nlohmann::json space = nlohmann::json::parse(outcome.out).at("spaces").at(0);
  CHECK(space.at("configurations") == 304);
  const nlohmann::json shuffled = strategy_of(space, "shuffled");
  CHECK(std::abs(shuffled.at("score").at("value").get<double>() - -0.06886965370634997) < 1e-9);
  CHECK(std::abs(shuffled.at("best").at(3).at("value").get<double>() - 1.1277645546960553) < 1e-9);
  CHECK(shuffled.at("within_5_percent").at("value") == 0.25);
  CHECK(std::abs(strategy_of(space, "clever").at("score").at("value").get<double>() - 0.16831578939667724) < 1e-9);
}

TEST_CASE("replay writes orders that it reads again, and draws the curves") {
  const auto folder = std::filesystem::temp_directory_path() / "evo_replay_test";
  std::filesystem::create_directories(folder);
  const std::string orders = folder / "orders.jsonl";
  const std::string curves = folder / "curves.svg";
  const Outcome outcome = run_evo({"replay", kSpace, "--strategy", "evolve,local", "--runs", "3", "--evals", "60",
                                   "--out", orders, "--svg", curves, "--budgets", "20,60", "--json"});
  REQUIRE(outcome.code == 0);
  CHECK(text_of(curves).find("<svg") == 0);
  CHECK(text_of(curves).find("evolve") != std::string::npos);
  const Outcome again = run_evo(
      {"replay", kSpace, "--strategy", "random", "--runs", "1", "--with", orders, "--budgets", "20,60", "--json"});
  REQUIRE(again.code == 0);
  const auto first = nlohmann::json::parse(outcome.out).at("spaces").at(0);
  const auto second = nlohmann::json::parse(again.out).at("spaces").at(0);
  CHECK(strategy_of(first, "evolve") == strategy_of(second, "evolve"));
  CHECK(strategy_of(first, "local") == strategy_of(second, "local"));
  std::filesystem::remove_all(folder);
}

TEST_CASE("replay refuses what it cannot read in one line") {
  check_refused(run_evo({"replay"}), 2, {"SPACE is required"});
  check_refused(run_evo({"replay", "no_such_file.json"}), 2, {"no file no_such_file.json"});
  check_refused(run_evo({"replay", "/"}), 2, {"/ is a folder"});
  check_refused(run_evo({"replay", kSpace, kSpace}), 2, {"a space named synthetic is given already"});
  check_refused(run_evo({"replay", kSpace, "--strategy", "evolv"}), 2, {"unknown strategy 'evolv'", "annealing"});
  check_refused(run_evo({"replay", kSpace, "--with", kSpace}), 2, {"synthetic.csv: line 1"});
  check_refused(run_evo({"replay", kOrders}), 2, {"orders"});
}

TEST_CASE("recorded results that are cut off are refused as damaged") {
  const Bench bench;
  bench.write("cut.gz", std::string("\x1f\x8b\x08\0\0\0\0\0\0\3\x4b", 11));
  check_refused(bench.evo({"replay", "cut.gz"}), 2, {"cut.gz", "damaged or cut off"});
}
