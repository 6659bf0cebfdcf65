#include <sstream>

#include "tests/cli/bench.h"

using namespace evo::testing;

namespace {

const std::string kScreenedSpace = EVO_TEST_DATA "/replay/synthetic.csv";

/// Modelled latencies of the synthetic space: the measured ones times a constant.
std::string perfect_model() {
  std::ifstream file(kScreenedSpace);
  std::string modelled = "sweep,measured_us,modelled_us,genome,failure\n";
  std::string line;
  std::getline(file, line);
  while (std::getline(file, line)) {
    std::stringstream cells(line);
    std::string x, y, tile, padding, mode, status, time;
    for (std::string* cell : {&x, &y, &tile, &padding, &mode, &status, &time}) std::getline(cells, *cell, ',');
    if (status != "ok") continue;
    modelled += "synthetic,1," + std::to_string(700 * std::stod(time)) + ",\"f: block_x=" + x + " block_y=" + y +
                " mode=" + mode + " padding=" + padding + " tile=" + tile + "\",\"\"\n";
  }
  return modelled;
}

nlohmann::json genomes(const Bench& bench, const std::string& database) {
  nlohmann::json list = nlohmann::json::array();
  const nlohmann::json rows = outcomes(bench, database);
  REQUIRE(!rows.empty());
  for (const auto& row : rows) {
    const std::string id = std::to_string(row["candidate"].get<int>());
    list.push_back(bench.json({"show", id, "--db", database})["genome"]);
  }
  return list;
}

Outcome screened_run(const Bench& bench, const std::string& evaluations, const std::string& database) {
  return bench.evo({"run", "--task", "toy", "--device", "vgpu", "--evals", evaluations, "--seed", "5", "--screen", "4",
                    "--db", database});
}

}  // namespace

TEST_CASE("a screened run evaluates the proposals that are modelled fastest, and resumes identically", "[long]") {
  const ToyBench bench;
  const Outcome outcome = screened_run(bench, "5", "whole.db");
  REQUIRE(outcome.code == 0);
  CHECK(outcome.err.find("evolve, the best modelled of 4") != std::string::npos);
  CHECK(bench.json({"runs", "1", "--db", "whole.db"})["runs"][0]["screen"] == 4);
  REQUIRE(screened_run(bench, "2", "parts.db").code == 0);
  REQUIRE(bench.evo({"run", "--resume", "1", "--evals", "5", "--db", "parts.db"}).code == 0);
  CHECK(genomes(bench, "parts.db") == genomes(bench, "whole.db"));

  // On the virtual GPU predictions are exact, so the first evaluation is the best of the four proposals it is chosen
  // of.
  REQUIRE(
      bench.evo({"run", "--task", "toy", "--device", "vgpu", "--evals", "4", "--seed", "5", "--db", "plain.db"}).code ==
      0);
  double best = 1e9;
  const nlohmann::json plain = outcomes(bench, "plain.db");
  for (const auto& row : plain) {
    if (row["verdict"] == "valid") best = std::min(best, row["latency_us"].get<double>());
  }
  CHECK(outcomes(bench, "whole.db")[0]["latency_us"] == best);
}

TEST_CASE("a run with a pre-search begins with the genomes modelled fastest, and resumes identically", "[long]") {
  const ToyBench bench;
  const auto presearched_run = [&](const std::string& evaluations, const std::string& database) {
    const Outcome outcome = bench.evo({"run", "--task", "toy", "--device", "vgpu", "--evals", evaluations, "--seed",
                                       "5", "--presearch", "20", "--db", database});
    REQUIRE(outcome.code == 0);
    return outcome.err;
  };
  const std::string messages = presearched_run("8", "whole.db");
  CHECK(messages.find("pre-search: 20 genomes are modelled first") != std::string::npos);
  CHECK(messages.find("seeded with 6 of a pre-search") != std::string::npos);
  const nlohmann::json rows = outcomes(bench, "whole.db");
  std::vector<double> opening;
  for (std::size_t i = 0; i < 4; ++i) {
    CHECK(rows[i]["op"] == "seed");
    opening.push_back(rows[i]["latency_us"].get<double>());
  }
  CHECK(std::is_sorted(opening.begin(), opening.end()));  // as predicted: the model is what measures here
  presearched_run("2", "parts.db");
  REQUIRE(bench.evo({"run", "--resume", "1", "--evals", "8", "--db", "parts.db"}).code == 0);
  CHECK(genomes(bench, "parts.db") == genomes(bench, "whole.db"));
  check_refused(bench.evo({"run", "--task", "toy", "--device", "vgpu", "--presearch", "many"}), 2, {"--presearch"});
  check_refused(bench.evo({"run", "--resume", "1", "--presearch", "2", "--db", "parts.db"}), 2,
                {"--presearch cannot be combined with --resume"});
}

TEST_CASE("a run with a pre-search and surrogate screening resumes identically", "[long]") {
  const ToyBench bench;
  const auto run = [&](const std::string& evaluations, const std::string& database) {
    REQUIRE(bench
                .evo({"run", "--task", "toy", "--device", "vgpu", "--evals", evaluations, "--seed", "3", "--screen",
                      "2", "--presearch", "8", "--db", database})
                .code == 0);
  };
  run("12", "whole.db");
  run("6", "parts.db");
  REQUIRE(bench.evo({"run", "--resume", "1", "--evals", "12", "--db", "parts.db"}).code == 0);
  CHECK(genomes(bench, "parts.db") == genomes(bench, "whole.db"));
}

TEST_CASE("an option's former name works, and a message gives the new name") {
  const Bench bench;
  bench.write("model.csv", perfect_model());
  const auto replay = [&](const std::string& option) {
    return bench.evo(
        {"replay", kScreenedSpace, "--runs", "1", "--evals", "5", "--modelled", "model.csv", option, "20"});
  };
  const Outcome former = replay("--rehearse");
  const Outcome now = replay("--presearch");
  CHECK(former.code == 0);
  CHECK(former.out == now.out);
  CHECK(former.err == "--rehearse is now called --presearch\n");
  CHECK(now.err.empty());
}

TEST_CASE("evo run --screen takes a number of proposals, and a resumed run keeps its number") {
  const ToyBench bench;
  check_refused(bench.evo({"run", "--task", "toy", "--device", "vgpu", "--screen", "0"}), 2, {"--screen"});
  REQUIRE(screened_run(bench, "1", "run.db").code == 0);
  check_refused(bench.evo({"run", "--resume", "1", "--screen", "2", "--db", "run.db"}), 2,
                {"--screen cannot be combined with --resume"});
}

TEST_CASE("a run with surrogate screening is seeded with the genomes that the model ranks first for the run's shape",
          "[long]") {
  const ToyBench bench;
  const auto run = [&](std::vector<std::string> more) {
    std::vector<std::string> arguments = {"run", "--task", "toy", "--device", "vgpu", "--seed", "1"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const Outcome outcome = bench.evo(arguments);
    REQUIRE(outcome.code == 0);
  };
  run({"--evals", "12", "--shapes", "N=64", "--db", "there.db"});
  run({"--evals", "6", "--shapes", "N=128", "--screen", "4", "--seed-from", "there.db", "--db", "here.db"});
  const auto modelled_here = [&](const std::string& database, const char* member, const char* wanted) {
    std::vector<double> latencies;
    for (const auto& row : outcomes(bench, database)) {
      if (row[member] != wanted) continue;
      const std::string id = std::to_string(row["candidate"].get<int>());
      const std::string genome = bench.json({"show", id, "--db", database})["genome"].dump();
      const auto model = bench.json({"model", "--task", "toy", "--genome", genome, "--shapes", "N=128"});
      latencies.push_back(model["shapes"][0]["modelled_us"].get<double>());
    }
    return latencies;
  };
  std::vector<double> candidates = modelled_here("there.db", "verdict", "valid");
  REQUIRE(candidates.size() > 5);
  std::sort(candidates.begin(), candidates.end());
  candidates.resize(5);
  CHECK(modelled_here("here.db", "op", "seed") == candidates);
}

TEST_CASE("replay screens proposals with modelled latencies, and comes near the optimum in fewer evaluations") {
  const Bench bench;
  bench.write("model.csv", perfect_model());
  const auto reach = [&](std::vector<std::string> more) {
    std::vector<std::string> arguments = {"replay", kScreenedSpace, "--strategy", "random",
                                          "--runs", "10",           "--evals",    "50"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const auto strategy = bench.json(arguments)["spaces"][0]["strategies"][0];
    return strategy["evaluations_to_5_percent"]["value"].get<double>();
  };
  const double plain = reach({});
  CHECK(reach({"--modelled", "model.csv"}) == plain);
  CHECK(reach({"--modelled", "model.csv", "--screen", "4"}) < 0.8 * plain);
  CHECK(reach({"--modelled", "model.csv", "--presearch", "1000"}) == 1);
}

TEST_CASE("replay refuses --screen without modelled latencies, and files that hold none") {
  const Bench bench;
  bench.write("other.csv", "sweep,measured_us,modelled_us,genome\nunknown,1,2,\"f: a=1\"\n");
  bench.write("cut.csv", "sweep,measured_us,modelled_us,genome\nsynthetic,1,\n");
  bench.write("none.csv", "a,b\n1,2\n");
  const auto refused = [&](std::vector<std::string> more, const std::vector<std::string>& parts) {
    std::vector<std::string> arguments = {"replay", kScreenedSpace, "--runs", "1", "--evals", "5"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    check_refused(bench.evo(arguments), 2, parts);
  };
  refused({"--screen", "2"}, {"no --modelled file knows the space synthetic"});
  refused({"--screen", "2", "--modelled", "other.csv"}, {"no --modelled file knows the space synthetic"});
  refused({"--presearch", "20"}, {"--presearch: no --modelled file knows the space synthetic"});
  refused({"--modelled", "cut.csv"}, {"cut.csv: line 2"});
  refused({"--modelled", "none.csv"}, {"none.csv: line 1", "no column 'sweep'"});
}

TEST_CASE("more proposals than can be screened or pre-searched are refused") {
  const ToyBench bench;
  const std::vector<std::string> before = bench.files();
  for (const char* screen : {"1025", "99999999999999999"})
    check_refused(bench.evo({"run", "--task", "toy", "--device", "vgpu", "--screen", screen}), 2,
                  {"--screen", "at most 1024"});
  for (const char* genomes : {"1000001", "18446744073709551615"})
    check_refused(bench.evo({"run", "--task", "toy", "--device", "vgpu", "--presearch", genomes}), 2,
                  {"--presearch", "at most 1000000"});
  CHECK(bench.files() == before);
}
