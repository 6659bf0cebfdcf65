#include "tests/cli/bench.h"

using namespace evo::testing;

namespace {

/// The toy task, where every second genome errs by less than the task allows, but by more than its objective
/// `accurate` does; on all inputs alike, so that no attack makes it err by more.
void write_imprecise_task(const Bench& bench) {
  write_toy_task(bench, true);
  std::string kernel = bench.read("templates/toy/plain/kernel.cu");
  const std::string sum = "a[i${item}] ${wrong ? '-' : '+'} b[i${item}]";
  const auto place = kernel.find(sum);
  REQUIRE(place != std::string::npos);
  kernel.replace(place, sum.size(), "(a[i${item}] + b[i${item}]) * ${wrong ? '1.00005f' : '1.0f'}");
  bench.write("templates/toy/plain/kernel.cu", kernel);
}

nlohmann::json run_imprecise(const Bench& bench, std::vector<std::string> more) {
  std::vector<std::string> arguments = {"run", "--task", "toy", "--device",   "vgpu",   "--evals",
                                        "10",  "--seed", "1",   "--strategy", "random", "--quiet"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return bench.json(arguments);
}

std::size_t count_of(const nlohmann::json& run, const std::string& verdict) {
  return run["verdicts"].value(verdict, std::size_t{0});
}

}  // namespace

TEST_CASE("an objective has its own limits and elites, and export and verify use them", "[long]") {
  const Bench bench;
  write_imprecise_task(bench);
  const nlohmann::json fast = run_imprecise(bench, {});
  const nlohmann::json accurate = run_imprecise(bench, {"--objective", "accurate"});
  CHECK(count_of(fast, "wrong_answer") == 0);
  CHECK(count_of(accurate, "wrong_answer") > 0);
  CHECK(count_of(accurate, "valid") > 0);
  CHECK(fast["run"]["objective"] == "latency middle mode=exact");
  CHECK(accurate["run"]["objective"] == "accurate middle mode=exact");
  CHECK(accurate["run"]["target"]["objective"] == "accurate");

  const nlohmann::json elites = bench.json({"elites", "--objective", "accurate"})["elites"];
  REQUIRE(!elites.empty());
  for (const nlohmann::json& elite : elites) {
    CHECK(elite["objective"] == "accurate middle mode=exact");
    CHECK(elite["relative_l2"].get<double>() <= 1e-6);
    CHECK(elite["genome"]["genes"]["wrong"] == false);
  }

  // A kernel within the limits of the task alone does not reproduce a claim of the tighter ones.
  REQUIRE(bench.evo({"export", "--objective", "accurate", "-o", "best.cu"}).code == 0);
  CHECK(bench.evo({"verify", "best.cu"}).code == 0);
  std::string text = bench.read("best.cu");
  const std::string honest = "* 1.0f";
  for (auto place = text.find(honest); place != std::string::npos; place = text.find(honest, place)) {
    text.replace(place, honest.size(), "* 1.00005f");
  }
  bench.write("worse.cu", text);
  const nlohmann::json verified = bench.json({"verify", "worse.cu"}, 1);
  CHECK(verified["edited"] == true);
  CHECK(verified["found"]["verdict"] == "wrong_answer");
  CHECK(verified["found"]["reason"].get<std::string>().find("limit 1e-06") != std::string::npos);
}

TEST_CASE("elites of different options never compete") {
  const ToyBench bench;
  run_imprecise(bench, {});
  run_imprecise(bench, {"--option", "mode=loose"});
  const nlohmann::json exact = bench.json({"elites", "--objective", "latency middle mode=exact"})["elites"];
  const nlohmann::json loose = bench.json({"elites", "--objective", "latency middle mode=loose"})["elites"];
  CHECK(exact.size() == 3);
  CHECK(loose.size() == 3);
  CHECK(exact[0]["run"] != loose[0]["run"]);
}

TEST_CASE("an unknown objective is refused, and evo tasks lists the objectives of each task") {
  const ToyBench bench;
  check_refused(bench.evo({"run", "--task", "toy", "--device", "vgpu", "--objective", "acurate"}), 2,
                {"unknown objective 'acurate' of task toy", "did you mean 'accurate'?"});
  const nlohmann::json objectives = bench.json({"tasks"})["tasks"][0]["objectives"];
  REQUIRE(objectives.size() == 2);
  CHECK(objectives[0]["name"] == "latency");
  CHECK(objectives[0]["max_abs"].is_null());
  CHECK(objectives[1]["name"] == "accurate");
  CHECK(objectives[1]["relative_l2"] == 1e-6);
}
