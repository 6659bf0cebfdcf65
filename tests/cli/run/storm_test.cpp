// Searches that are disturbed: harmful candidates, killed workers, a killed search.

#include <signal.h>

#include <set>
#include <sstream>
#include <thread>

#include "engine/base/rng.h"
#include "population/store/store.h"
#include "tests/cli/bench.h"

using namespace evo::testing;

namespace {

namespace fs = std::filesystem;

/// A family whose candidates all misbehave, in different ways.
void add_storm(const Bench& bench) {
  fs::copy(EVO_TEST_DATA "/tasks/toy_storm", bench / "templates/toy/storm", fs::copy_options::recursive);
}

/// The elites without their numbers and task hash: a task with more families has another hash.
nlohmann::json essence(const Bench& bench) {
  nlohmann::json rows = nlohmann::json::array();
  const nlohmann::json elites = bench.json({"elites"});
  for (const auto& elite : elites["elites"])
    rows.push_back({elite["genome"], elite["latency_us"], elite["relative_l2"]});
  return rows;
}

const std::vector<std::string> kWholeSpace = {"run",  "--task",     "toy",    "--device", "vgpu", "--evals",
                                              "1000", "--strategy", "random", "--seed",   "5"};

/// Killed early, a search may have left no database, an empty one, or one without a run.
bool has_run(const Bench& bench) {
  if (!fs::exists(bench / "runs/evo.db")) return false;
  try {
    return !evo::Store::open(bench / "runs/evo.db", evo::Store::Mode::read).runs().empty();
  } catch (const std::exception&) {
    return false;
  }
}

std::uint64_t evaluated(const Bench& bench) {
  if (!fs::exists(bench / "runs/evo.db")) return 0;
  try {
    const auto runs = evo::Store::open(bench / "runs/evo.db", evo::Store::Mode::read).runs();
    return runs.empty() ? 0 : runs.front().evaluated;
  } catch (const std::exception&) {
    return 0;  // It is being created.
  }
}

/// Up to where it can be read: a process may end meanwhile.
std::string bytes_of(const fs::path& path) {
  std::ostringstream bytes;
  bytes << std::ifstream(path, std::ios::binary).rdbuf();
  return bytes.str();
}

/// Device workers of the `evo` that was started in this folder.
std::vector<int> device_workers(const Bench& bench) {
  std::vector<int> found;
  for (const auto& entry : fs::directory_iterator("/proc")) {
    const std::string name = entry.path().filename();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    if (!holds(bytes_of(entry.path() / "cmdline"), std::string("worker\0device", 13))) continue;
    if (holds(bytes_of(entry.path() / "environ"), "PWD=" + bench.folder().string() + '\0'))
      found.push_back(std::stoi(name));
  }
  return found;
}

/// Elites are checked: kills have more time to come.
ProcessOptions beginning_in(const Bench& bench) {
  ProcessOptions options = kChecksElites;
  options.folder = bench.folder();
  return options;
}

/// One search, killed up to `kills` times at moments that may be anywhere between its start and its end, then left to
/// finish. Returns the number of kills that ended it.
int survive(std::uint64_t seed, int kills, evo::Rng& rng) {
  const Bench whole, killed;
  for (const Bench* bench : {&whole, &killed}) write_toy_task(*bench, true);
  const std::vector<std::string> start = {"run",     "--task", "toy",    "--device",           "vgpu",
                                          "--evals", "40",     "--seed", std::to_string(seed), "--quiet"};
  const std::vector<std::string> go_on = {"run", "--resume", "1", "--quiet"};
  const auto began = std::chrono::steady_clock::now();
  REQUIRE(whole.evo(start, kChecksElites).code == 0);
  const std::chrono::microseconds undisturbed =
      std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::steady_clock::now() - began);
  int met = 0;
  std::uint64_t reported = 0;
  while (met < kills && reported < 40) {
    EvoProcess process(has_run(killed) ? go_on : start, beginning_in(killed));
    std::this_thread::sleep_for(std::chrono::microseconds(rng.below(static_cast<std::uint64_t>(undisturbed.count()))));
    process.send(SIGKILL);
    if (process.finish().signal == SIGKILL) ++met;
    if (!has_run(killed)) continue;
    const evo::Store store = evo::Store::open(killed / "runs/evo.db", evo::Store::Mode::read);
    REQUIRE(store.check().empty());
    REQUIRE(store.runs().front().evaluated >= reported);
    reported = store.runs().front().evaluated;
  }
  const Outcome outcome = killed.evo(has_run(killed) ? go_on : start, kChecksElites);
  REQUIRE(outcome.code == 0);
  CHECK(evaluated(killed) == 40);
  CHECK(essence(killed) == essence(whole));
  CHECK(device_workers(killed).empty());
  return met;
}

}  // namespace

TEST_CASE("a search in which a third of the candidates misbehave gives the elites of a search without them", "[long]") {
  const Bench calm, storm;
  write_toy_task(calm);
  write_toy_task(storm);
  add_storm(storm);
  REQUIRE(calm.evo(kWholeSpace).code == 0);
  const Outcome outcome = storm.evo(kWholeSpace);
  REQUIRE(outcome.code == 0);
  CHECK(essence(storm) == essence(calm));
  const nlohmann::json run = storm.json({"runs", "1"})["runs"][0];
  CHECK(run["evaluated"] == 26 + 14);
  std::set<std::string> verdicts;
  for (const auto& row : run["outcomes"]) verdicts.insert(row["verdict"].get<std::string>());
  for (const char* verdict : {"crashed", "timed_out", "compile_failed", "illegal", "wrong_answer", "over_resources"}) {
    INFO(verdict);
    CHECK(verdicts.contains(verdict));
  }
  CHECK_FALSE(verdicts.contains("harness_failed"));
  CHECK(device_workers(storm).empty());
}

TEST_CASE("each killed worker costs a retry and changes no elite", "[long]") {
  const Bench calm;
  write_toy_task(calm);
  REQUIRE(calm.evo(kWholeSpace, kChecksElites).code == 0);
  // A search may be over before anybody looks.
  for (int kills = 0; kills == 0;) {
    const Bench fire;
    write_toy_task(fire);
    EvoProcess process(kWholeSpace, beginning_in(fire));
    for (std::uint64_t count = 2; count <= 20; count += 6) {
      process.wait_until([&] { return evaluated(fire) >= count; });
      for (const int worker : device_workers(fire)) kills += ::kill(worker, SIGKILL) == 0 ? 1 : 0;
    }
    const Outcome outcome = process.finish();
    REQUIRE(outcome.code == 0);
    CHECK(essence(fire) == essence(calm));
  }
}

// Minutes: evo_tests_cli '[storm]' (docs/trust.md).
TEST_CASE("searches that are killed at 200 random moments give the elites of undisturbed searches", "[.][storm]") {
  evo::Rng rng(2026);
  int kills = 0;
  for (std::uint64_t seed = 1; kills < 200; ++seed) kills += survive(seed, std::min(200 - kills, 25), rng);
  CHECK(kills == 200);
}

TEST_CASE("a search that is killed at random moments gives the elites of an undisturbed search", "[long]") {
  evo::Rng rng(7);
  int kills = 0;
  // Where the machine was busy only while the undisturbed search was timed, every kill comes too late.
  for (std::uint64_t seed = 3; seed < 8 && kills == 0; ++seed) kills = survive(seed, 3, rng);
  CHECK(kills > 0);
}

TEST_CASE("a search that is killed repeatedly gives the elites of an undisturbed search", "[long]") {
  const Bench whole, killed;
  const std::vector<std::string> run = {"run",     "--task", "toy",    "--device", "vgpu",
                                        "--evals", "40",     "--seed", "7",        "--quiet"};
  for (const Bench* bench : {&whole, &killed}) write_toy_task(*bench, true);
  REQUIRE(whole.evo(run, kChecksElites).code == 0);
  evo::Rng rng(11);
  std::uint64_t reported = 0;
  for (int round = 0; round < 5; ++round) {
    const bool first = round == 0;
    EvoProcess process(first ? run : std::vector<std::string>{"run", "--resume", "1", "--quiet"}, beginning_in(killed));
    const std::uint64_t enough = std::min<std::uint64_t>(reported + 1 + rng.below(5), 40);
    process.wait_until([&] { return evaluated(killed) >= enough; });
    std::this_thread::sleep_for(std::chrono::microseconds(rng.below(50'000)));
    process.send(SIGKILL);
    process.finish();
    const evo::Store store = evo::Store::open(killed / "runs/evo.db", evo::Store::Mode::read);
    REQUIRE(store.check().empty());
    REQUIRE(store.runs().front().evaluated >= reported);
    reported = store.runs().front().evaluated;
  }
  const Outcome outcome = killed.evo({"run", "--resume", "1", "--quiet"}, kChecksElites);
  REQUIRE(outcome.code == 0);
  CHECK(essence(killed) == essence(whole));
  CHECK(evaluated(killed) == 40);
}
