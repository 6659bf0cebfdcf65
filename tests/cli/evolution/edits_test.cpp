#include <catch2/matchers/catch_matchers_string.hpp>
#include <fstream>
#include <iterator>

#include "cli/check/further_trials.h"
#include "cli/subject/restore.h"
#include "population/store/store.h"
#include "tests/cli/bench.h"

using namespace evo;
using namespace evo::testing;
using Catch::Matchers::ContainsSubstring;

namespace {

void take_edited(const Bench& bench, const std::string& name) {
  std::ifstream file(std::string(EVO_TEST_DATA) + "/edited/" + name);
  bench.write(name, {std::istreambuf_iterator<char>(file), {}});
}

std::vector<std::string> editing(const std::string& file, const std::string& evaluations, const std::string& seed) {
  return {"tune",   file, "--edits",       "--device", "vgpu", "--evals", evaluations,
          "--seed", seed, "--edits-share", "90",       "--db", "evo.db"};
}

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

/// What a row of an outcome says that repeats.
std::string signature(const nlohmann::json& row) {
  return row["op"].dump() + row["verdict"].dump() + row["latency_us"].dump();
}

/// The sources of elites.
std::vector<std::string> edited_elites(const Bench& bench) {
  std::vector<std::string> sources;
  const nlohmann::json board = bench.json({"elites", "--db", "evo.db"});
  for (const auto& elite : board["elites"]) {
    CHECK_FALSE(elite["provisional"].get<bool>());
    sources.push_back(
        bench.evo({"show", std::to_string(elite["candidate"].get<int>()), "--source", "--db", "evo.db"}).out);
  }
  return sources;
}

}  // namespace

TEST_CASE("edits find what a kernel does not need, and say it in words", "[sweep]") {
  const Bench bench;
  take_edited(bench, "waste.cu");
  const Outcome outcome = bench.evo(editing("waste.cu", "80", "1"), kChecksElites);
  REQUIRE(outcome.code == 0);
  CHECK_THAT(outcome.out, ContainsSubstring("edits by"));
  CHECK_THAT(outcome.out, ContainsSubstring("best edited kernel: candidate"));
  const std::vector<std::string> elites = edited_elites(bench);
  REQUIRE(!elites.empty());
  CHECK(count(elites.front(), "spare[threadIdx.x] = sum") == 0);
  const std::string best =
      std::to_string(bench.json({"elites", "--db", "evo.db"})["elites"][0]["candidate"].get<int>());
  const std::string shown = bench.evo({"show", best, "--db", "evo.db"}).out;
  CHECK_THAT(shown, ContainsSubstring("waste.cu:11: statement deleted: "));
  CHECK_THAT(bench.evo({"lineage", best, "--db", "evo.db"}).out, ContainsSubstring("waste.cu:11: statement deleted"));
  CHECK_THAT(bench.evo({"diff", "1", best, "--db", "evo.db"}).out, ContainsSubstring("-  "));
  CHECK(bench.json({"show", best, "--db", "evo.db"})["edits"][0]["file"] == "waste/source/waste.choices.cu");
  REQUIRE(bench.evo({"export", best, "-o", "best.cu", "--db", "evo.db"}).code == 0);
  CHECK(bench.evo({"verify", "best.cu", "--kernels-only"}).code == 0);
  CHECK(bench.evo({"verify", best, "--db", "evo.db"}).code == 0);
}

TEST_CASE("a barrier that only some shapes need is dropped in no elite", "[long]") {
  for (const std::string seed : {"2", "3"}) {
    const Bench bench;
    take_edited(bench, "shift.cu");
    REQUIRE(bench.evo(editing("shift.cu", "60", seed), kChecksElites).code == 0);
    for (const std::string& source : edited_elites(bench)) CHECK(count(source, "__syncthreads();") > 0);
    bool tried = false;
    for (const auto& row : outcomes(bench, "evo.db")) {
      if (row["op"] != "edit") continue;
      const auto shown = bench.json({"show", std::to_string(row["candidate"].get<int>()), "--db", "evo.db"});
      const std::string source = shown["programs"].empty() ? "" : shown["programs"][0]["source"].get<std::string>();
      if (source.empty() || count(source, "__syncthreads();") > 0) continue;
      tried = true;
      CHECK(row["verdict"] != "valid");
    }
    CHECK(tried);
  }
}

TEST_CASE("kernels made by edits are watched by the sanitiser in all regimes, others in one") {
  const Bench bench;
  take_edited(bench, "seldom.cu");
  REQUIRE(bench.evo({"tune", "seldom.cu", "--device", "vgpu", "--evals", "1", "--seed", "1", "--db", "evo.db"}).code ==
          0);
  cli::Claim claim = cli::claim_of(cli::restore(Store::open(bench / "evo.db", Store::Mode::read), 1));
  CHECK_FALSE(claim.by_edits);
  const auto watching = cli::watching_device(claim.device);
  REQUIRE(watching);
  const auto watched = [&](std::optional<EliteFinding>& finding) {
    cli::FurtherTrials trials({.device = *watching, .worker_command = {EVO_BINARY, "worker"}});
    return trials.watch(claim, finding);
  };
  std::optional<EliteFinding> finding;
  const EliteCheck in_one = watched(finding);
  INFO(in_one.note << (finding ? finding->reason : ""));
  CHECK(in_one.outcome == EliteCheck::Outcome::passed);
  CHECK_FALSE(finding);
  claim.by_edits = true;
  watched(finding);
  REQUIRE(finding);
  CHECK_THAT(finding->reason, ContainsSubstring("race"));
}

TEST_CASE("without time for its checks a kernel made by edits is no elite") {
  const Bench bench;
  take_edited(bench, "waste.cu");
  std::vector<std::string> command = editing("waste.cu", "24", "1");
  command.insert(command.end(), {"--check-time", "0"});
  const Outcome outcome = bench.evo(command);
  CHECK(outcome.code == 0);
  CHECK_THAT(outcome.err, ContainsSubstring("made by edits"));
  const nlohmann::json board = bench.json({"elites", "--db", "evo.db"});
  for (const auto& elite : board["elites"])
    CHECK(bench.json({"show", std::to_string(elite["candidate"].get<int>()), "--db", "evo.db"})["edits"].empty());
}

TEST_CASE("a search by edits repeats with its seed, is resumed, and is off unless it is asked for") {
  const auto run = [](const Bench& bench, std::vector<std::string> command) {
    take_edited(bench, "waste.cu");
    REQUIRE(bench.evo(command).code == 0);
    std::vector<std::string> rows;
    for (const auto& row : outcomes(bench, "evo.db")) rows.push_back(signature(row));
    return rows;
  };
  const Bench a, b, plain;
  const auto whole = run(a, editing("waste.cu", "16", "5"));
  CHECK(whole == run(b, editing("waste.cu", "16", "5")));
  const auto none =
      run(plain, {"tune", "waste.cu", "--device", "vgpu", "--evals", "8", "--seed", "5", "--db", "evo.db"});
  for (const std::string& row : none) CHECK(row.find("\"edit\"") == std::string::npos);
  REQUIRE(a.evo({"run", "--resume", "1", "--edits", "--evals", "24", "--db", "evo.db"}).code == 0);
  const auto rows = outcomes(a, "evo.db");
  CHECK(rows.size() == 24);
  for (std::size_t i = 0; i < 16; ++i) CHECK(signature(rows[i]) == whole[i]);
  check_refused(a.evo({"run", "--resume", "1", "--edits", "--proposer", "true", "--db", "evo.db"}), 2,
                {"--edits is a proposer of its own"});
  check_refused(a.evo({"run", "--resume", "1", "--edits", "--edits-share", "0", "--db", "evo.db"}), 2,
                {"--edits-share"});
}
