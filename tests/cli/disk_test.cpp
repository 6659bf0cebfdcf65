// Searches whose database is shared with other processes, or finds no room.
#include <signal.h>
#include <sys/resource.h>

#include "bench.h"
#include "population/store/store.h"

using namespace evo::testing;

namespace {

namespace fs = std::filesystem;

std::vector<std::string> run_with_seed(const std::string& seed) {
  return {"run", "--task", "toy", "--device", "vgpu", "--evals", "24", "--seed", seed, "--quiet"};
}

/// While it exists, new processes cannot write files of more than `bytes`, as if the disk were full.
class SmallDisk {
 public:
  explicit SmallDisk(rlim_t bytes) : handler_(::signal(SIGXFSZ, SIG_IGN)) {
    REQUIRE(::getrlimit(RLIMIT_FSIZE, &before_) == 0);
    const rlimit limit = {bytes, before_.rlim_max};
    REQUIRE(::setrlimit(RLIMIT_FSIZE, &limit) == 0);
  }
  ~SmallDisk() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    ::signal(SIGXFSZ, handler_);
  }
  SmallDisk(const SmallDisk&) = delete;
  SmallDisk& operator=(const SmallDisk&) = delete;

 private:
  rlimit before_{};
  void (*handler_)(int);
};

}  // namespace

TEST_CASE("a run on a full disk ends with a message of one line, keeps its results and can be resumed") {
  const ToyBench bench;
  {
    const SmallDisk disk(700'000);
    const Outcome outcome = bench.evo(run_with_seed("3"));
    CHECK(outcome.code == 3);
    for (const char* part : {"evo.db", "check the disk", "evo run --resume 1"}) {
      CHECK(outcome.err.find(part) != std::string::npos);
    }
  }
  std::uint64_t kept = 0;
  {
    const evo::Store store = evo::Store::open(bench / "runs/evo.db", evo::Store::Mode::read);
    CHECK(store.check().empty());
    kept = store.runs().front().evaluated;
    CHECK(kept > 0);
    CHECK(kept < 24);
  }
  REQUIRE(bench.evo({"run", "--resume", "1", "--quiet"}).code == 0);
  CHECK(bench.json({"runs", "1"})["runs"][0]["evaluated"] == 24);
}

TEST_CASE("two searches that share a database give the same results as each alone, also while it is read", "[long]") {
  const Bench alone, shared;
  for (const Bench* bench : {&alone, &shared}) write_toy_task(*bench);
  REQUIRE(alone.evo(run_with_seed("1")).code == 0);
  REQUIRE(alone.evo(run_with_seed("2")).code == 0);
  EvoProcess first(run_with_seed("1"), {.folder = shared.folder()});
  EvoProcess second(run_with_seed("2"), {.folder = shared.folder()});
  bool is_created = false;
  for (int i = 0; i < 20; ++i) {
    const bool answers = shared.evo({"elites", "--json"}).code == 0;
    CHECK((answers || !is_created));
    is_created = is_created || answers;
  }
  REQUIRE(first.finish().code == 0);
  REQUIRE(second.finish().code == 0);
  CHECK(shared.evo({"db", "check"}).code == 0);
  const auto latencies = [](const Bench& bench) {
    nlohmann::json rows = nlohmann::json::array();
    const nlohmann::json elites = bench.json({"elites"});
    for (const auto& elite : elites["elites"]) rows.push_back(elite["latency_us"]);
    return rows;
  };
  CHECK(latencies(shared) == latencies(alone));
  const nlohmann::json runs = shared.json({"runs"});
  REQUIRE(runs["runs"].size() == 2);
  for (const auto& run : runs["runs"]) CHECK(run["evaluated"] == 24);
}

TEST_CASE("readers and a run refuse a truncated database, or report it as damaged, in one line") {
  const ToyBench bench;
  REQUIRE(bench.evo(run_with_seed("1")).code == 0);
  fs::resize_file(bench / "runs/evo.db", fs::file_size(bench / "runs/evo.db") / 2);
  const Outcome check = bench.evo({"db", "check"});
  CHECK(check.code != 0);
  const Outcome run = bench.evo(run_with_seed("2"));
  CHECK(run.code == 3);
  CHECK(run.err.find("evo.db") != std::string::npos);
}
