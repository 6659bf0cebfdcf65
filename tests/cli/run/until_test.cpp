// When a run ends: at a share of the floor, beside a rival, by itself.
#include <SQLiteCpp/SQLiteCpp.h>

#include <cmath>
#include <fstream>
#include <iterator>

#include "tests/cli/bench.h"

using namespace evo::testing;

namespace {

std::vector<std::string> toy_run(std::vector<std::string> more) {
  std::vector<std::string> run = {"run", "--task", "toy", "--device", "vgpu", "--seed", "1", "--quiet"};
  run.insert(run.end(), more.begin(), more.end());
  return run;
}

/// A rival that says that it takes 8 us.
const char* const kRival = R"python(import array, json, sys
for line in sys.stdin:
    message = json.loads(line)
    answer = {}
    if message["type"] == "task":
        answer = {"rivals": [{"name": "some rival", "version": "1"}]}
    elif message["type"] == "run":
        for files in message["sets"]:
            a, b = (array.array("f", open(tensor["file"], "rb").read()) for tensor in files["inputs"])
            with open(files["outputs"][0]["file"], "wb") as file:
                array.array("f", [x + y for x, y in zip(a, b)]).tofile(file)
    else:
        answer = {"us": 8.0}
    print(json.dumps(answer), flush=True)
)python";

}  // namespace

TEST_CASE("a run ends at a share of the floor, which a resumed run still knows") {
  const ToyBench bench;
  const nlohmann::json near = bench.json(toy_run({"--evals", "8", "--until", "0.001%"}));
  CHECK(near["reached"] == true);
  CHECK(near["run"]["until"] == "0.001%");
  CHECK(bench.json({"run", "--resume", "1", "--evals", "9", "--quiet"})["reached"] == true);
  const nlohmann::json far = bench.json(toy_run({"--evals", "8", "--until", "100%", "--db", "far.db"}));
  CHECK(far["reached"] == false);
  CHECK(far["run"]["evaluated"] == 8);
}

TEST_CASE("a run ends once it is so many times as fast as a stored rival") {
  const ToyBench bench;
  REQUIRE(bench.evo(toy_run({"--evals", "3"})).code == 0);
  bench.write("rival.py", kRival);
  REQUIRE(bench.evo({"baseline", "--rival", "python3 rival.py", "--rounds", "3"}).code == 0);
  CHECK(bench.json(toy_run({"--evals", "6", "--until", "0.001x some rival"}))["reached"] == true);
  CHECK(bench.json(toy_run({"--evals", "6", "--until", "1000x some rival"}))["reached"] == false);
  check_refused(bench.evo(toy_run({"--until", "1.1x torch"})), 2,
                {"no baseline of torch for toy at middle", "there is one of some rival", "evo baseline"});
}

TEST_CASE("a rival that was wrong ends no run, and a run that is resumed keeps the latency that a rival gave it",
          "[long]") {
  const ToyBench bench;
  REQUIRE(bench.evo(toy_run({"--evals", "3"})).code == 0);
  bench.write("rival.py", kRival);
  const std::vector<std::string> baseline = {"baseline", "--rival", "python3 rival.py", "--rounds", "3"};
  REQUIRE(bench.evo(baseline).code == 0);
  const auto until_us = [](const nlohmann::json& run) { return std::lround(run["until_us"].get<double>()); };
  const nlohmann::json run = bench.json(toy_run({"--evals", "6", "--until", "2x some rival"}))["run"];
  CHECK(until_us(run) == 4);
  bench.change("rival.py", "8.0", "6.0");
  REQUIRE(bench.evo(baseline).code == 0);
  const std::string id = std::to_string(run["id"].get<int>());
  CHECK(until_us(bench.json({"run", "--resume", id, "--evals", "7", "--quiet"})["run"]) == 4);
  bench.change("rival.py", "x + y", "x - y");
  bench.change("rival.py", "6.0", "4.0");
  bench.evo(baseline);
  CHECK(until_us(bench.json(toy_run({"--evals", "3", "--until", "2x some rival"}))["run"]) == 3);
}

TEST_CASE("a rival is sought in a database of an older evo, too") {
  const ToyBench bench;
  std::ifstream dump(std::string(EVO_TEST_DATA) + "/schema_14.sql");
  SQLite::Database(bench / "old.db", SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE)
      .exec(std::string(std::istreambuf_iterator(dump), {}));
  check_refused(bench.evo(toy_run({"--until", "1.1x torch", "--db", "old.db"})), 2, {"no baseline of torch"});
}

TEST_CASE("a run whose time is over at once evaluates one candidate") {
  const ToyBench bench;
  CHECK(bench.json(toy_run({"--time", "1ms"}))["run"]["evaluated"] >= 1);
}

TEST_CASE("a rival that is not stored, or a share that no kernel reaches, is refused as --until in one line") {
  const ToyBench bench;
  check_refused(bench.evo(toy_run({"--until", "1.1x torch"})), 2, {"no baseline of torch", "evo baseline"});
  for (const char* wrong : {"0%", "101%", "x%", "0x torch", "fastx torch"})
    check_refused(bench.evo(toy_run({"--until", wrong})), 2, {wrong, "95%"});
}

TEST_CASE("a run without limits ends itself, says how sure it is, and goes on when it is given a limit") {
  const ToyBench bench;
  // Many genomes of few programs: a duplicate costs nothing.
  bench.change("templates/toy/plain/kernel.cu", "${padding} * 8", "${padding > 2 ? 2 : padding} * 8");
  std::string many = "[0";
  for (int padding = 1; padding < 60; ++padding) many += ", " + std::to_string(padding);
  bench.change("templates/toy/plain/family.json", "[0, 1, 2]", many + "]");
  const nlohmann::json run = bench.json(toy_run({}));
  CHECK(run["run"]["settles"] == true);
  CHECK(run["run"]["evaluation_limit"] == nullptr);
  REQUIRE(run["settled"].is_number());
  CHECK(run["settled"].get<double>() < 0.1);
  const auto evaluated = run["run"]["evaluated"].get<int>();
  CHECK(evaluated >= 24);
  CHECK(holds(bench.evo({"run", "--resume", "1", "--quiet"}).out, "would bring 1 % with a chance of"));
  const nlohmann::json longer =
      bench.json({"run", "--resume", "1", "--evals", std::to_string(evaluated + 3), "--quiet"});
  CHECK(longer["settled"] == nullptr);
  CHECK(longer["run"]["evaluated"] == evaluated + 3);
  CHECK(longer["run"]["settles"] == false);
  CHECK(longer["run"]["settled_until"] == evaluated);
}
