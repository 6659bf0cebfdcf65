#include "tests/cli/bench.h"

using namespace evo::testing;

namespace {

const std::vector<std::string> kToyRun = {"run", "--task", "toy", "--device", "vgpu", "--evals", "12", "--seed", "1"};

Outcome run_toy(const Bench& bench, std::vector<std::string> more = {}) {
  std::vector<std::string> arguments = kToyRun;
  arguments.insert(arguments.end(), more.begin(), more.end());
  Outcome outcome = bench.evo(arguments);
  REQUIRE(outcome.code == 0);
  return outcome;
}

/// What the same seed must repeat: everything of the elites except their numbers and times.
nlohmann::json essence(const nlohmann::json& elites) {
  nlohmann::json essence = nlohmann::json::array();
  for (const auto& elite : elites["elites"]) {
    essence.push_back(
        {elite["rank"], elite["genome"], elite["latency_us"], elite["relative_l2"], elite["source_hash"]});
  }
  return essence;
}

}  // namespace

TEST_CASE("a run ends with three elites, the improvement, the verdicts and the commands that follow") {
  const ToyBench bench;
  const Outcome outcome = run_toy(bench);
  CHECK(holds(outcome.out, "toy on vgpu:h200"));
  CHECK(holds(outcome.out, "modelled us"));
  CHECK(holds(outcome.out, "faster than the first valid one"));
  CHECK(holds(outcome.out, "12 evaluated: "));
  CHECK(holds(outcome.out, "evo show " + best_of(bench)));
  CHECK(holds(outcome.out, "evo export " + best_of(bench) + " -o best.cu"));
  CHECK(holds(outcome.err, "run 1: toy on vgpu:h200"));
  CHECK(holds(outcome.err, "seed 1"));
  CHECK_FALSE(holds(outcome.out + outcome.err, "\x1b["));
  CHECK(bench.json({"elites"})["elites"].size() == 3);
}

TEST_CASE("without a GPU a run says that it uses the virtual one") {
  const ToyBench bench;
  const Outcome outcome = bench.evo({"run", "--task", "toy", "--evals", "2", "--quiet"});
  CHECK(outcome.code == 0);
  CHECK(outcome.err.starts_with("no CUDA GPU ("));
  CHECK(holds(outcome.err, "using the virtual GPU vgpu:h200; latencies are modelled"));
}

TEST_CASE("a run says how many listed shapes it does not validate, and with --verbose which and why", "[long]") {
  const Bench bench;
  write_toy_task(bench);
  nlohmann::json task = nlohmann::json::parse(bench.read("templates/toy/task.json"));
  task["requires"] = "mode == 'exact' || N > 20";
  task["shapes"]["small"] = {{"N", 20}};
  task["sets"]["vgpu"]["validated"].push_back("small");
  bench.write("templates/toy/task.json", task.dump());
  const std::string brief = run_toy(bench, {"--option", "mode=loose"}).err;
  CHECK(holds(brief, "2 listed shapes are not validated here (--verbose says why)\n"));
  CHECK_FALSE(holds(brief, "tiny"));
  const std::string verbose = run_toy(bench, {"--option", "mode=loose", "--verbose"}).err;
  CHECK(holds(verbose, "not validated: tiny: does not meet 'mode == 'exact' || N > 20'\n"));
  CHECK(holds(verbose, "not validated: small: does not meet 'mode == 'exact' || N > 20'\n"));
  CHECK_FALSE(holds(run_toy(bench, {"--option", "mode=loose", "--quiet"}).err, "not validated"));
  CHECK_FALSE(holds(run_toy(bench).err, "not validated"));
}

TEST_CASE("the same seed gives the same elites") {
  const Bench first, second;
  write_toy_task(first);
  write_toy_task(second);
  run_toy(first);
  run_toy(second);
  CHECK(essence(first.json({"elites"})) == essence(second.json({"elites"})));
  CHECK(first.json({"runs"})["runs"][0]["salt"] == second.json({"runs"})["runs"][0]["salt"]);
}

TEST_CASE("a run without a seed prints one that repeats it") {
  const ToyBench bench;
  const Outcome outcome = bench.evo({"run", "--task", "toy", "--device", "vgpu", "--evals", "3"});
  REQUIRE(outcome.code == 0);
  const auto seed = bench.json({"runs"})["runs"][0]["seed"].get<std::uint64_t>();
  CHECK(holds(outcome.err, "seed " + std::to_string(seed)));
}

TEST_CASE("evo run --json prints the result of the run") {
  const ToyBench bench;
  std::vector<std::string> arguments = kToyRun;
  const nlohmann::json json = bench.json(arguments);
  CHECK(json["command"] == "run");
  CHECK(json["run"]["status"] == "finished");
  CHECK(json["run"]["evaluated"] == 12);
  CHECK(json["elites"] == bench.json({"elites"})["elites"]);
  CHECK(json["improvement"] >= 1.0);
  int counted = 0;
  for (const auto& [verdict, count] : json["verdicts"].items()) counted += count.get<int>();
  CHECK(counted == 12);
}

TEST_CASE("a run with nothing valid exits with 1 and says where to look") {
  const ToyBench bench;
  bench.change("templates/toy/plain/kernel.cu", "'-' : '+'", "'-' : '*'");
  const Outcome outcome =
      bench.evo({"run", "--task", "toy", "--device", "vgpu", "--evals", "3", "--seed", "1", "--quiet"});
  CHECK(outcome.code == 1);
  CHECK(holds(outcome.out, "no candidate was valid"));
  CHECK(holds(outcome.out, "3 wrong_answer"));
  CHECK(holds(outcome.out, "evo runs 1"));
  CHECK(holds(bench.evo({"runs", "1"}).out, "wrong_answer"));
  CHECK(bench.json({"elites"})["elites"].empty());
}

TEST_CASE("wrong candidates are counted and none becomes an elite") {
  const Bench bench;
  write_toy_task(bench, true);
  run_toy(bench, {"--strategy", "random"});
  CHECK(bench.json({"runs", "1"})["runs"][0]["outcomes"].size() == 12);
  const nlohmann::json elites = bench.json({"elites"})["elites"];
  REQUIRE_FALSE(elites.empty());
  for (const auto& elite : elites) CHECK(elite["genome"]["genes"]["wrong"] == false);
  CHECK(holds(bench.evo({"runs", "1"}).out, "wrong_answer"));
}

TEST_CASE("a space that is smaller than the limit is searched completely") {
  const ToyBench bench;
  const Outcome outcome =
      bench.evo({"run", "--task", "toy", "--device", "vgpu", "--evals", "1000", "--strategy", "random", "--quiet"});
  CHECK(outcome.code == 0);
  CHECK(holds(outcome.out, "26 evaluated"));
  CHECK(holds(outcome.out, "every legal genome was tried"));
}

TEST_CASE("a run stops when its time is over") {
  const Bench bench;
  write_toy_task(bench, true);
  const Outcome outcome = bench.evo({"run", "--task", "toy", "--device", "vgpu", "--time", "1ms", "--quiet"});
  CHECK((outcome.code == 0 || outcome.code == 1));
  const auto run = bench.json({"runs"})["runs"][0];
  CHECK(run["evaluated"] < 52);
  CHECK(run["status"] == "finished");
  CHECK(run["evaluation_limit"] == nullptr);
}

TEST_CASE("a terminal shows a live line and colour") {
  const ToyBench bench;
  const Outcome outcome = bench.evo(kToyRun, {.terminal = true});
  CHECK(outcome.code == 0);
  CHECK(holds(outcome.err, "\r\x1b[J12/12 evaluated"));
  CHECK(holds(outcome.err, "valid, best "));
  CHECK_FALSE(holds(outcome.err, "(new best)"));
  // Standard output is no terminal here.
  CHECK_FALSE(holds(outcome.out, "\x1b["));
}

TEST_CASE("a terminal shows rate, best, time left and the last reasons of rejections, cut to its width") {
  const Bench bench;
  write_toy_task(bench, true);
  const Outcome outcome =
      bench.evo({"run", "--task", "toy", "--device", "vgpu", "--evals", "30", "--seed", "1"}, {.terminal = true});
  CHECK(outcome.code == 0);
  const std::size_t rejected = outcome.err.find("wrong_answer: ");
  REQUIRE(rejected != std::string::npos);
  const std::size_t begin = outcome.err.rfind("\r\x1b[J", rejected);
  // Below the live line, in which the cursor stays: one reason, which is counted.
  const std::string lines = outcome.err.substr(begin, outcome.err.find("\x1b[1A\r", begin) - begin);
  CHECK(holds(lines, "/30 evaluated, "));
  CHECK(holds(lines, "/min, "));
  CHECK(holds(lines, " % valid"));
  CHECK(holds(lines, " left\r\n"));
  CHECK(holds(lines, "  1 wrong_answer: shape "));
  CHECK(holds(outcome.err, "  2 wrong_answer: shape "));
  // What stands at the end of the search is cleared. Lines about elites that are still to be checked may follow.
  CHECK_FALSE(holds(outcome.err.substr(outcome.err.rfind("\r\x1b[J")), "evaluated"));
}

TEST_CASE("what is no terminal gets no progress, unless it is asked for") {
  const ToyBench bench;
  const Outcome silent = bench.evo(kToyRun);
  CHECK(silent.code == 0);
  CHECK_FALSE(holds(silent.err, "evaluated"));
  CHECK(holds(silent.err, "run 1: toy on vgpu"));
  std::vector<std::string> logged = kToyRun;
  logged.insert(logged.end(), {"--progress", "--db", "logged.db"});
  const Outcome log = bench.evo(logged);
  CHECK(holds(log.err, "(new best)\n"));
  CHECK(holds(log.err, "10/12 evaluated, "));
  CHECK_FALSE(holds(log.err, "\x1b"));
  logged.push_back("--quiet");
  CHECK(bench.evo(logged).code == 2);
}

TEST_CASE("a finished run that is resumed with a higher limit gives the results of a run with that limit") {
  const Bench resumed, whole;
  write_toy_task(resumed);
  write_toy_task(whole);
  run_toy(whole);
  REQUIRE(resumed.evo({"run", "--task", "toy", "--device", "vgpu", "--evals", "5", "--seed", "1"}).code == 0);
  const Outcome outcome = resumed.evo({"run", "--resume", "1", "--evals", "12"});
  CHECK(outcome.code == 0);
  CHECK(essence(resumed.json({"elites"})) == essence(whole.json({"elites"})));
  CHECK(resumed.json({"runs"})["runs"].size() == 1);
  CHECK(resumed.json({"runs"})["runs"][0]["evaluated"] == 12);
}

TEST_CASE("a run begins with the elites of another run, of other shapes and of a changed task", "[long]") {
  const ToyBench bench;
  run_toy(bench, {"--shapes", "N=64"});
  const nlohmann::json first = bench.json({"elites"})["elites"];
  bench.write("templates/toy/plain/kernel.cu", bench.read("templates/toy/plain/kernel.cu") + "// a later thought\n");
  const auto genomes_of_seeds = [&](const std::string& from, const std::string& database) {
    const Outcome outcome = bench.evo({"run", "--task", "toy", "--device", "vgpu", "--evals", "4", "--seed", "7",
                                       "--shapes", "N=128", "--seed-from", from, "--db", database});
    REQUIRE(outcome.code == 0);
    CHECK(holds(outcome.err, "seeded with 3 of "));
    const nlohmann::json newest = bench.json({"runs", "--db", database})["runs"][0];
    const nlohmann::json run = bench.json({"runs", std::to_string(newest["id"].get<int>()), "--db", database});
    nlohmann::json genomes = nlohmann::json::array();
    for (const auto& outcome_row : run["runs"][0]["outcomes"]) {
      if (outcome_row["op"] != "seed") continue;
      genomes.push_back(
          bench.json({"show", std::to_string(outcome_row["candidate"].get<int>()), "--db", database})["genome"]);
    }
    return genomes;
  };
  nlohmann::json wanted = nlohmann::json::array();
  for (const auto& elite : first) wanted.push_back(elite["genome"]);
  REQUIRE(bench.evo({"export", "--format", "kerneltuner", "-o", "sweep.json"}).code == 0);
  CHECK(genomes_of_seeds("runs/evo.db", "from_database.db") == wanted);
  // Results list equal programs too, which elites do not.
  const nlohmann::json of_results = genomes_of_seeds("sweep.json", "from_results.db");
  CHECK(of_results.size() == 3);
  CHECK(of_results[0] == wanted[0]);
  CHECK(genomes_of_seeds("1", "runs/evo.db") == wanted);
}

TEST_CASE("a seeded run resumes with its seeds, also when their source is gone", "[long]") {
  const ToyBench bench;
  run_toy(bench, {"--db", "source.db"});
  const auto run = [&](const std::string& evaluations, const std::string& database) {
    return bench.evo({"run", "--task", "toy", "--device", "vgpu", "--evals", evaluations, "--seed", "5", "--seed-from",
                      "source.db", "--db", database});
  };
  REQUIRE(run("12", "whole.db").code == 0);
  REQUIRE(run("2", "resumed.db").code == 0);  // in the middle of the seeds
  std::filesystem::remove(bench / "source.db");
  REQUIRE(bench.evo({"run", "--resume", "1", "--evals", "12", "--db", "resumed.db"}).code == 0);
  CHECK(essence(bench.json({"elites", "--db", "resumed.db"})) == essence(bench.json({"elites", "--db", "whole.db"})));
  CHECK(bench.json({"runs", "1", "--db", "resumed.db"})["runs"][0]["seeds"].size() == 3);
}

TEST_CASE("a missing source of seeds, or one without results, is refused in one line") {
  const ToyBench bench;
  const auto run = [&](const std::string& from) {
    return bench.evo({"run", "--task", "toy", "--device", "vgpu", "--evals", "2", "--seed-from", from});
  };
  check_refused(run("missing.db"), 2, {"missing.db"});
  bench.write("notes.txt", "no results");
  check_refused(run("notes.txt"), 2, {"notes.txt"});
}

TEST_CASE("a resumed run uses its stored files when the templates have changed") {
  const ToyBench bench;
  REQUIRE(bench.evo({"run", "--task", "toy", "--device", "vgpu", "--evals", "4", "--seed", "1"}).code == 0);
  bench.write("templates/toy/plain/kernel.cu", bench.read("templates/toy/plain/kernel.cu") + "// a later thought\n");
  const Outcome outcome = bench.evo({"run", "--resume", "1", "--evals", "6"});
  CHECK(outcome.code == 0);
  CHECK(holds(outcome.err, "the templates of toy have changed since"));
  CHECK_FALSE(holds(bench.evo({"show", best_of(bench), "--source"}).out, "a later thought"));
}

TEST_CASE("elites of a task that has changed are listed only on request") {
  const ToyBench bench;
  run_toy(bench);
  bench.write("templates/toy/plain/kernel.cu", bench.read("templates/toy/plain/kernel.cu") + "// a later thought\n");
  run_toy(bench);
  CHECK(bench.json({"elites"})["elites"].size() == 3);
  CHECK(bench.json({"elites", "--all"})["elites"].size() == 6);
  CHECK(holds(bench.evo({"elites", "--all"}).out, "[the task has changed since]"));
}

TEST_CASE("a run of one family is resumed with that family alone") {
  const ToyBench bench;
  for (const char* file : {"family.json", "kernel.cu"}) {
    bench.write(std::string("templates/toy/other/") + file, bench.read(std::string("templates/toy/plain/") + file));
  }
  REQUIRE(bench.evo({"run", "--task", "toy", "--device", "vgpu", "--family", "other", "--evals", "4", "--seed", "3"})
              .code == 0);
  REQUIRE(bench.evo({"run", "--resume", "1", "--evals", "8"}).code == 0);
  const nlohmann::json elites = bench.json({"elites"})["elites"];
  REQUIRE_FALSE(elites.empty());
  for (const auto& elite : elites) CHECK(elite["genome"]["family"] == "other");
  CHECK(bench.json({"runs"})["runs"][0]["family"] == "other");
}

TEST_CASE("elites, show, lineage and diff agree about an elite") {
  const ToyBench bench;
  run_toy(bench);
  const auto elites = bench.json({"elites", "--task", "toy", "--device", "vgpu"})["elites"];
  REQUIRE(elites.size() == 3);
  CHECK(elites[0]["latency_us"] <= elites[1]["latency_us"]);
  CHECK(elites[0]["timing"] == "modelled");
  check_refused(bench.evo({"elites", "--task", "other"}), 2, {"unknown task 'other'", "there are toy"});
  check_refused(bench.evo({"export", "--objective", "slow"}), 2, {"unknown objective 'slow'"});
  const std::string a = std::to_string(elites[0]["candidate"].get<int>());
  const std::string b = std::to_string(elites[1]["candidate"].get<int>());

  const Outcome table = bench.evo({"elites"});
  for (const char* heading : {"rank", "id", "modelled us", "error", "registers", "genome"})
    CHECK(holds(table.out, heading));
  CHECK(holds(table.out, "\n  all plain  "));

  const Outcome shown = bench.evo({"show", a});
  CHECK(shown.code == 0);
  CHECK(holds(shown.out, "candidate " + a));
  CHECK(holds(shown.out, "valid"));
  CHECK(holds(shown.out, "middle"));
  CHECK(holds(bench.evo({"show", a, "--source"}).out, "extern \"C\" __global__ void toy("));
  CHECK_FALSE(holds(bench.evo({"show", a, "--source"}).out, "//%"));
  CHECK(holds(bench.evo({"show", a, "--log"}).out, "registers"));
  CHECK(bench.evo({"show", a, "--samples"}).out.starts_with("shape\tcache\tsample\tus\nmiddle\t"));
  CHECK(nlohmann::json::parse(bench.evo({"show", a, "--genome"}).out) == elites[0]["genome"]);
  const nlohmann::json show = bench.json({"show", a});
  CHECK(show["evaluation"]["verdict"] == "valid");
  CHECK(show["evaluation"]["latency_us"] == elites[0]["latency_us"]);
  CHECK(show["run"]["id"] == 1);

  const nlohmann::json lineage = bench.json({"lineage", a});
  CHECK(lineage["ancestors"][0]["candidate"] == elites[0]["candidate"]);
  CHECK(lineage["ancestors"][0]["distance"] == 0);
  CHECK(holds(bench.evo({"lineage", a}).out, "operator"));

  const nlohmann::json diff = bench.json({"diff", a, b});
  CHECK_FALSE(diff["genes"].empty());
  CHECK(holds(diff["source_diff"], "--- candidate " + a));
  const Outcome diff_text = bench.evo({"diff", a, b});
  CHECK(holds(diff_text.out, diff["genes"][0]["gene"]));
  CHECK(holds(diff_text.out, "@@ -"));
  CHECK(holds(bench.evo({"diff", a, a}).out, "the genomes are equal"));
}

TEST_CASE("a resumed run keeps its time limit unless it is given another limit") {
  const ToyBench bench;
  // Over before the first evaluation.
  bench.evo({"run", "--task", "toy", "--device", "vgpu", "--seed", "1", "--evals", "20", "--time", "1ms"});
  const auto evaluated = [&] { return bench.json({"runs"})["runs"][0]["evaluated"].get<int>(); };
  const int before = evaluated();
  CHECK(before < 20);
  bench.evo({"run", "--resume", "1"});
  CHECK(evaluated() == before);
  CHECK(bench.evo({"run", "--resume", "1", "--evals", "8"}).code == 0);
  CHECK(evaluated() == 8);
  CHECK(bench.evo({"run", "--resume", "1", "--evals", "12", "--time", "10m"}).code == 0);
  CHECK(evaluated() == 12);
}
