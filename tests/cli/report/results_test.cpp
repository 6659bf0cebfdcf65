// Runs over several shapes, results for other tools, and several runs at once.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <cstdio>

#include "tests/cli/bench.h"

using namespace evo::testing;

namespace {

std::vector<std::string> toy_run(std::vector<std::string> more) {
  std::vector<std::string> arguments = {"run", "--task", "toy", "--device", "vgpu", "--quiet"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

void run_toy_quietly(const Bench& bench, const std::vector<std::string>& more) {
  const Outcome outcome = bench.evo(toy_run(more));
  REQUIRE(outcome.code == 0);
}

/// The content of a file, decompressed by gzip.
std::string unzipped(const std::filesystem::path& path) {
  std::FILE* pipe = ::popen(("gzip -dc '" + path.string() + "'").c_str(), "r");
  REQUIRE(pipe != nullptr);
  std::string text;
  char block[4096];
  for (std::size_t count; (count = std::fread(block, 1, sizeof block, pipe)) > 0;) text.append(block, count);
  CHECK(::pclose(pipe) == 0);
  return text;
}

}  // namespace

TEST_CASE("a random sweep is exported for other tools, compressed when the file name ends in .gz") {
  const Bench bench;
  write_toy_task(bench, true);
  run_toy_quietly(bench, {"--strategy", "random", "--evals", "30", "--seed", "1"});
  const Outcome cache = bench.evo({"export", "--format", "kerneltuner"});
  REQUIRE(cache.code == 0);
  const nlohmann::json file = nlohmann::json::parse(cache.out);
  CHECK(file["cache"].size() == 30);
  CHECK(holds(cache.out, "\"RuntimeFailedConfig\""));

  const Outcome packed = bench.evo({"export", "--format", "kerneltuner", "-o", "sweep.json.gz", "--run", "1"});
  CHECK(packed.code == 0);
  CHECK(holds(packed.out, "sweep.json.gz: 30 candidates ("));
  CHECK(unzipped(bench / "sweep.json.gz") == cache.out);
  CHECK(bench.read("sweep.json.gz").size() < cache.out.size() / 3);

  CHECK(nlohmann::json::parse(bench.evo({"export", "--format", "t4"}).out)["results"].size() == 30);
  const std::string csv = bench.evo({"export", "--format", "csv", "--task", "toy"}).out;
  CHECK(std::count(csv.begin(), csv.end(), '\n') == 31);
}

TEST_CASE("an exported sweep is imported into another database, where it makes no elites") {
  const Bench bench, other_folder;
  write_toy_task(bench, true);
  run_toy_quietly(bench, {"--strategy", "random", "--evals", "12", "--seed", "1"});
  REQUIRE(bench.evo({"export", "--format", "kerneltuner", "-o", "sweep.json.gz"}).code == 0);
  other_folder.write("sweep.json.gz", bench.read("sweep.json.gz"));
  const Outcome imported = other_folder.evo({"import", "sweep.json.gz", "--db", "other.db"});
  REQUIRE(imported.code == 0);
  CHECK(holds(imported.out, "12 candidates of toy"));
  const nlohmann::json run = other_folder.json({"runs", "--db", "other.db"})["runs"][0];
  CHECK(run["strategy"] == "import");
  // A copy of a valid candidate is a valid result here.
  std::size_t valid = 0;
  const nlohmann::json file = nlohmann::json::parse(bench.evo({"export", "--format", "kerneltuner"}).out);
  for (const auto& entry : file["cache"]) valid += entry["time"].is_number() ? 1 : 0;
  CHECK(run["valid"] == valid);
  CHECK(other_folder.json({"elites", "--db", "other.db"})["elites"].empty());
  other_folder.write("cut.json.gz", bench.read("sweep.json.gz").substr(0, 200));
  check_refused(other_folder.evo({"import", "cut.json.gz"}), 2, {"cut.json.gz", "damaged or cut off"});
  check_refused(other_folder.evo({"import", "absent.json"}), 2, {"no file absent.json"});
}

TEST_CASE("an export of results without a matching run, or with an unsuitable option, is refused") {
  const ToyBench bench;
  run_toy_quietly(bench, {"--evals", "2", "--seed", "1"});
  check_refused(bench.evo({"export", "--format", "csw"}), 2, {"unknown format 'csw'", "csv"});
  check_refused(bench.evo({"export", "--format", "csv", "--run", "7"}), 2, {"no run 7"});
  check_refused(bench.evo({"export", "--format", "csv", "--device", "cuda"}), 2, {"no run in", "matches"});
  check_refused(bench.evo({"export", "--format", "csv", "1"}), 2,
                {"--format csv writes the results of runs", "not an ID"});
  check_refused(bench.evo({"export", "--run", "1"}), 2, {"--run goes with --format"});
}

TEST_CASE("a run over several shapes ranks by their geometric mean, and each shape's latency is shown") {
  const ToyBench bench;
  run_toy_quietly(bench, {"--shapes", "tiny,900,N=3000", "--evals", "4", "--seed", "1"});
  const nlohmann::json best = bench.json({"elites"})["elites"][0];
  CHECK(best["objective"] == "latency tiny N=900 N=3000 mode=exact");
  REQUIRE(best["timings"].size() == 3);
  double product = 1;
  for (const auto& timing : best["timings"]) product *= timing["median_us"].get<double>();
  CHECK(std::abs(best["latency_us"].get<double>() / std::cbrt(product) - 1) < 1e-9);

  const std::string elites = bench.evo({"elites"}).out;
  for (const char* part : {"tiny", "N=900", "N=3000"}) CHECK(holds(elites, part));
  const std::string id = std::to_string(best["candidate"].get<int>());
  CHECK(holds(bench.evo({"show", id}).out, "N=3000  warm"));
  CHECK(holds(bench.evo({"export", id}).out, "warm N=900: "));
  CHECK(holds(bench.evo({"export", "--format", "csv"}).out, "time_N=900_ms"));
}

TEST_CASE("shapes may be given one option each, and sizes all in one") {
  const Bench bench;
  const std::string templates = EVO_SOURCE_DIR "/templates";
  const nlohmann::json space = bench.json({"space", "--task", "fp8_sdpa", "--device", "vgpu", "--templates", templates,
                                           "--shapes", "1,2,16,64,1,1,33,64", "--shapes", "small"});
  const nlohmann::json timed = space["target"]["timed"];
  REQUIRE(timed.size() == 3);
  CHECK(timed[1]["sizes"] == nlohmann::json({{"B", 1}, {"H", 1}, {"S", 33}, {"D", 64}}));
  CHECK(timed[2]["name"] == "small");
}

TEST_CASE("simultaneous runs on one new database keep their results apart") {
  const ToyBench bench;
  ProcessOptions options;
  options.folder = bench.folder();
  EvoProcess first(toy_run({"--evals", "10", "--seed", "1"}), options);
  EvoProcess second(toy_run({"--evals", "10", "--seed", "2", "--shapes", "tiny"}), options);
  for (EvoProcess* process : {&first, &second}) {
    const Outcome outcome = process->finish();
    CHECK(outcome.code == 0);
  }
  const nlohmann::json runs = bench.json({"runs"})["runs"];
  REQUIRE(runs.size() == 2);
  for (const auto& run : runs) {
    CHECK(run["status"] == "finished");
    CHECK(run["evaluated"] == 10);
  }
  // Each run gives the same results as alone.
  const Bench alone;
  write_toy_task(alone);
  run_toy_quietly(alone, {"--evals", "10", "--seed", "1"});
  const auto of_seed_1 = [](const nlohmann::json& runs) {
    for (const auto& run : runs) {
      if (run["seed"] == 1) return run["best_us"];
    }
    return nlohmann::json();
  };
  CHECK(of_seed_1(runs) == of_seed_1(alone.json({"runs"})["runs"]));
}

TEST_CASE("commands that would run a candidate of an imported run report that it has no sources") {
  const ToyBench bench;
  REQUIRE(bench.evo({"run", "--task", "toy", "--device", "vgpu", "--evals", "3", "--seed", "1", "--quiet"}).code == 0);
  REQUIRE(bench.evo({"export", "--format", "t4", "-o", "sweep.json"}).code == 0);
  REQUIRE(bench.evo({"import", "sweep.json", "--db", "other.db"}).code == 0);
  const std::vector<std::vector<std::string>> commands = {
      {"verify", "1"}, {"sanitize", "1"}, {"compare", "1", "2"}, {"model", "1"}, {"run", "--resume", "1"}};
  for (std::vector<std::string> command : commands) {
    INFO(command.front());
    command.insert(command.end(), {"--db", "other.db"});
    check_refused(bench.evo(command), 2, {"run 1 was imported without sources", "docs/store.md"});
  }
}
