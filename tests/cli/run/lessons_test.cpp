// What runs have taught: notes of people and proposers, gene effects, failures; and what a warm start brought.

#include "tests/cli/bench.h"

using namespace evo::testing;

namespace {

using Json = nlohmann::json;

Outcome run_toy_with(const Bench& bench, std::vector<std::string> more) {
  std::vector<std::string> arguments = {"run", "--task", "toy", "--device", "vgpu"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  Outcome outcome = bench.evo(arguments);
  REQUIRE(outcome.code == 0);
  return outcome;
}

std::string joined(const Json& lines) {
  std::string text;
  for (const Json& line : lines) text += line.get<std::string>() + "\n";
  return text;
}

}  // namespace

TEST_CASE("a person's note of a candidate is kept, and show, report and a later proposer have it", "[long]") {
  const Bench bench;
  write_toy_task(bench, true);
  run_toy_with(bench, {"--evals", "20", "--seed", "1"});
  const std::string best = best_of(bench);
  const Outcome noted = bench.evo({"note", best, "  small blocks win:\x1b[31m\nthe launch is all  "});
  REQUIRE(noted.code == 0);
  CHECK(holds(noted.out, "evo show " + best));
  REQUIRE(bench.evo({"note", best, "and again"}).code == 0);

  const std::string shown = bench.evo({"show", best}).out;
  CHECK(holds(shown, "small blocks win: [31m the launch is all"));
  CHECK(holds(shown, "and again"));
  CHECK(bench.json({"show", best})["notes"].size() == 2);
  CHECK(holds(bench.evo({"report"}).out, "notes of people"));
  CHECK(bench.json({"report"})["peoples_notes"][0]["note"] == "small blocks win:\x1b[31m\nthe launch is all");

  run_toy_with(bench, {"--evals", "20", "--seed", "2"});
  const Json lessons = bench.json({"report"})["lessons"];
  CHECK(lessons["runs"] == Json::array({1}));
  CHECK(lessons["candidates"] == 20);
  CHECK(lessons["notes"][0]["by"] == "person");
  CHECK(holds(joined(lessons["lines"]), "noted by a person: small blocks win"));
  CHECK(holds(bench.evo({"report"}).out, "lessons of 1 other run of the task (20 candidates)"));
  const std::string prompt = bench.evo({"llm", "--dry-run", "--task", "toy", "--device", "vgpu"}).out;
  CHECK(holds(prompt, "## Lessons of earlier runs"));
  CHECK(holds(prompt, "small blocks win"));
}

TEST_CASE("a note that is empty or too long, or of no candidate, is refused") {
  const ToyBench bench;
  check_refused(bench.evo({"note", "1", "text"}), 2, {"there is no database"});
  run_toy_with(bench, {"--evals", "20", "--seed", "1"});
  check_refused(bench.evo({"note", "1", " \n "}), 2, {"the note is empty"});
  check_refused(bench.evo({"note", "1", std::string(5000, 'x')}), 2, {"5000 bytes", "at most 4096"});
  check_refused(bench.evo({"note", "999", "text"}), 2, {"no candidate 999", "evo elites"});
  check_refused(bench.evo({"note", "1"}), 2, {"TEXT is required"});
}

TEST_CASE("gene effects, failures and notes of earlier runs are told to a proposer and shown about a candidate",
          "[long]") {
  const Bench bench;
  write_toy_task(bench, true);
  bench.write("propose.py", R"python(import json, sys
for line in sys.stdin:
    message = json.loads(line)
    if message["type"] == "task":
        json.dump(message, open("task.json", "w"))
        continue
    genome = {"family": "plain", "genes": {"threads": 256, "items": 1, "padding": 2, "wrong": False}}
    print(json.dumps({"proposals": [{"genome": genome, "note": "padding may help"}]}), flush=True)
)python");
  run_toy_with(bench, {"--evals", "20", "--seed", "1", "--proposer", "python3 propose.py"});
  CHECK(Json::parse(bench.read("task.json"))["lessons"].empty());
  run_toy_with(bench, {"--evals", "20", "--seed", "2", "--proposer", "python3 propose.py"});
  const Json task = Json::parse(bench.read("task.json"));
  const std::string lessons = joined(task["lessons"]);
  INFO(lessons);
  CHECK(holds(lessons, "plain: gene "));
  CHECK(holds(lessons, "% of the differences"));
  CHECK(holds(lessons, "were wrong_answer"));
  CHECK(holds(lessons, "noted by a proposer: padding may help"));
  CHECK(task["floors"][0]["shape"] == "middle");
  CHECK(task["floors"][0]["us"] > 0);

  // About one candidate: its padding is not the best one, and its family failed.
  const std::size_t of = lessons.find("candidate ") + std::string("candidate ").size();
  const Json shown = bench.json({"show", lessons.substr(of, lessons.find(' ', of) - of)});
  CHECK(shown["genome"]["genes"]["padding"] == 2);
  const std::string about = joined(shown["lessons"]);
  INFO(about);
  CHECK(holds(about, "padding 2 is 1."));
  CHECK(holds(about, "at best"));
  CHECK(holds(about, "were wrong_answer"));
}

TEST_CASE("lessons are of the same model of device and the same objective only") {
  const ToyBench bench;
  run_toy_with(bench, {"--evals", "20", "--seed", "1"});
  run_toy_with(bench, {"--evals", "20", "--seed", "2", "--shapes", "tiny"});
  CHECK(bench.json({"report"})["lessons"]["runs"].empty());
  CHECK(!holds(bench.evo({"report"}).out, "lessons of"));
}

TEST_CASE("a warm start says what it took over and what that brought", "[long]") {
  const ToyBench bench;
  run_toy_with(bench, {"--evals", "20", "--seed", "1"});
  const Outcome warm = run_toy_with(bench, {"--evals", "12", "--seed", "2", "--seed-from", "1"});
  CHECK(holds(warm.err, "seeded with 3 of run 1"));
  CHECK(holds(warm.out, "began with 3 genomes from run 1; 3 evaluated, 3 valid, the best candidate 21"));
  const Json told = bench.json({"run", "--task", "toy", "--device", "vgpu", "--evals", "6", "--seed", "3",
                                "--seed-from", "1", "--quiet"})["seeds"];
  CHECK(told["taken"] == 3);
  CHECK(told["origins"] == Json::array({"run 1"}));
  CHECK(told["valid"] == 3);
  CHECK(told["best_us"] > 0);
  CHECK(told["ancestor_of_best"] == told["best"]);
  CHECK(!holds(run_toy_with(bench, {"--evals", "20", "--seed", "4"}).out, "--seed-from"));
}
