// evo run --devices
#include <unistd.h>

#include <csignal>
#include <memory>
#include <regex>
#include <set>
#include <sstream>
#include <utility>

#include "cli/run/fixed_width_evaluator.h"
#include "tests/cli/bench.h"

using namespace evo::testing;

namespace {

std::string list_of_devices(int count) {
  std::string list = "vgpu:h200";
  for (int i = 1; i < count; ++i) list += ",vgpu:h200";
  return list;
}

/// Remembers what it was given. One candidate keeps it busy.
class NarrowEvaluator : public evo::Evaluator {
 public:
  explicit NarrowEvaluator(std::vector<std::uint64_t>& submitted) : submitted_(submitted) {}

  std::size_t width() const override { return 1; }
  void submit(std::uint64_t ticket, const evo::Candidate&) override { submitted_.push_back(ticket); }
  Done wait() override { return {submitted_.front(), {}}; }
  std::vector<std::uint64_t> withdraw() override { return std::exchange(submitted_, {}); }

 private:
  std::vector<std::uint64_t>& submitted_;
};

nlohmann::json run_on(const Bench& bench, int devices, std::vector<std::string> more = {}) {
  std::vector<std::string> arguments = {"run",     "--task", "toy",    "--devices", list_of_devices(devices),
                                        "--evals", "16",     "--seed", "3",         "--in-flight",
                                        "8",       "--quiet"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return bench.json(arguments);
}

/// What must not depend on the number of devices.
nlohmann::json essence(const Bench& bench, const nlohmann::json& run) {
  nlohmann::json essence = {{"best", run["best"]["latency_us"]}, {"verdicts", run["verdicts"]}};
  for (const auto& elite : run["elites"])
    essence["elites"].push_back({elite["genome"], elite["latency_us"], elite["candidate"], elite["source_hash"]});
  for (const auto& outcome : outcomes(bench, "runs/evo.db"))
    essence["outcomes"].push_back({outcome["ticket"], outcome["op"], outcome["verdict"], outcome["latency_us"]});
  return essence;
}

}  // namespace

TEST_CASE("a seed gives the same modelled search on one virtual GPU and on eight", "[long]") {
  const Bench one, eight;
  write_toy_task(one, true);
  write_toy_task(eight, true);
  const nlohmann::json on_one = run_on(one, 1), on_eight = run_on(eight, 8);
  CHECK(essence(one, on_one) == essence(eight, on_eight));
  CHECK(on_eight["run"]["answers"] == "asked");
  CHECK(on_eight["run"]["further_devices"].size() == 7);
  CHECK(on_one["run"]["further_devices"].empty());
}

TEST_CASE("a run whose results come as they finish can be resumed") {
  const ToyBench bench;
  const nlohmann::json first = run_on(bench, 3, {"--answers", "finished"});
  CHECK(first["run"]["answers"] == "finished");
  const nlohmann::json second = bench.json({"run", "--resume", "1", "--evals", "22", "--quiet"});
  CHECK(second["run"]["evaluated"] == 22);
  CHECK(second["run"]["further_devices"].size() == 2);
  std::set<int> tickets;
  for (const auto& outcome : outcomes(bench, "runs/evo.db")) tickets.insert(outcome["ticket"].get<int>());
  CHECK(tickets.size() == 22);
  CHECK(*tickets.rbegin() == 21);
}

TEST_CASE("a run says what each device evaluated, and a candidate where it ran") {
  const ToyBench bench;
  const nlohmann::json run = run_on(bench, 2);
  int evaluated = 0;
  for (const auto& device : run["devices"]) {
    CHECK(device["device"] == "vgpu:h200");
    CHECK_FALSE(device["host"].get<std::string>().empty());
    evaluated += device["evaluated"].get<int>();
  }
  const nlohmann::json& verdicts = run["verdicts"];
  CHECK(evaluated == 16 - verdicts.value("duplicate", 0) - verdicts.value("compile_failed", 0));
  const nlohmann::json place = bench.json({"show", best_of(bench)})["evaluation"]["ran_on"];
  CHECK(place["device"] == "vgpu:h200");
}

namespace {

/// A host that has this program.
const std::string kHostWithEvo = "sh -c 'exec \"$0\" \"$@\"'";
/// A host where the program is not at this program's own path.
const std::string kHostWithout =
    "sh -c 'case $0 in */cli/evo) echo no such file >&2; exit 127;; esac; exec \"$0\" \"$@\"'";

/// Where a copy of the program lies on a host without it, which is this one. Removed at the end.
struct FolderOfCopy {
  std::filesystem::path path;
  FolderOfCopy() {
    const Outcome hello = run_evo({"worker", "--hello", "vgpu:h200"});
    std::istringstream words(hello.out);
    std::string greeting, version, hash;
    words >> greeting >> version >> hash;
    REQUIRE(hash.size() == 32);
    path = "/tmp/evo-" + std::to_string(::getuid()) + "-" + hash;
    std::filesystem::remove_all(path);
  }
  ~FolderOfCopy() { std::filesystem::remove_all(path); }
};

}  // namespace

TEST_CASE("workers behind commands give the same modelled search, and evo is copied where it is missing", "[long]") {
  const FolderOfCopy copy;
  const Bench here, there;
  write_toy_task(here);
  write_toy_task(there);
  there.write("hosts", "# two hosts\n" + kHostWithout + "\n\nhere  # and this one\n");
  const std::vector<std::string> search = {"run", "--task", "toy", "--evals", "10", "--seed", "3", "--quiet"};
  std::vector<std::string> alone = search, several = search;
  alone.insert(alone.end(), {"--device", "vgpu"});
  several.insert(several.end(), {"--devices", "vgpu:h200", "--workers", kHostWithEvo, "--hosts", "hosts"});
  CHECK(essence(here, here.json(alone)) == essence(there, there.json(several)));
  CHECK(there.json({"runs"})["runs"][0]["further_devices"].size() == 2);
  CHECK(std::filesystem::exists(copy.path / "evo"));

  // Not into a folder where others may write. (One test for both: they share the folder, and tests run side by side.)
  std::filesystem::remove_all(copy.path);
  std::filesystem::create_directory(copy.path);
  std::filesystem::permissions(copy.path, std::filesystem::perms::all);
  check_refused(there.evo({"run", "--task", "toy", "--evals", "2", "--workers", kHostWithout}), 3,
                {"no such file", "cannot be copied", "File exists"});
  CHECK(std::filesystem::is_empty(copy.path));
}

namespace {

/// A host that has this program, and none of the devices that are wanted of it. Commands run in another folder there.
const std::string kHostWithoutDevice =
    "sh -c 'cd /; case $2 in --hello) exec \"$0\" worker --hello cuda:7;; *) exec \"$0\" \"$@\";; esac'";

int programs_modelled(const nlohmann::json& run) {
  int programs = 0;
  for (const auto& share : run["modelled"]) programs += share["programs"].get<int>();
  return programs;
}

}  // namespace

TEST_CASE("hosts that model give the same screened search, also one without a device", "[long]") {
  const Bench here, there;
  write_toy_task(here);
  write_toy_task(there);
  const std::vector<std::string> search = {"run",    "--task",   "toy", "--evals",     "6", "--seed",    "3",
                                           "--json", "--screen", "4",   "--in-flight", "4", "--devices", "vgpu:h200"};
  std::vector<std::string> alone = search, several = search;
  several.insert(several.end(), {"--workers", kHostWithEvo, "--workers", kHostWithoutDevice, "--workers", "here"});
  const nlohmann::json undisturbed = here.json(alone);
  const Outcome outcome = there.evo(several);
  REQUIRE(outcome.code == 0);
  CHECK(holds(outcome.err, kHostWithoutDevice + " has no device and only models: cuda:7: "));
  const nlohmann::json helped = nlohmann::json::parse(outcome.out);
  CHECK(essence(here, undisturbed) == essence(there, helped));
  CHECK(undisturbed["modelled"].size() == 1);
  CHECK_FALSE(holds(outcome.err, "models nothing"));
  CHECK(helped["modelled"].size() == 3);
  CHECK(helped["run"]["further_devices"].size() == 1);
  CHECK(programs_modelled(undisturbed) > 6);
  // What is under way when the search ends may be left out. None is modelled twice.
  CHECK(programs_modelled(helped) > 6);
  CHECK(programs_modelled(helped) <= 26);  // legal genomes
}

TEST_CASE("a host without a device compiles in a search that models nothing, and the search is the same", "[long]") {
  const Bench here, there;
  write_toy_task(here);
  write_toy_task(there);
  const std::vector<std::string> search = {"run",    "--task", "toy",       "--evals",  "10",
                                           "--seed", "3",      "--devices", "vgpu:h200"};
  std::vector<std::string> alone = search, only = search, both = search;
  alone.emplace_back("--json");
  only.insert(only.end(), {"--workers", kHostWithoutDevice});
  both.insert(both.end(), {"--workers", kHostWithoutDevice, "--workers", "here", "--json"});
  check_refused(there.evo(only), 3, {"cuda:7: "});
  const nlohmann::json undisturbed = here.json(alone);
  const Outcome outcome = there.evo(both);
  REQUIRE(outcome.code == 0);
  CHECK(holds(outcome.err, kHostWithoutDevice + " has no device and only compiles: cuda:7: "));
  CHECK_FALSE(holds(outcome.err, "compiles nothing"));
  const nlohmann::json helped = nlohmann::json::parse(outcome.out);
  CHECK(essence(here, undisturbed) == essence(there, helped));
  CHECK(undisturbed["compiled"].size() == 1);
  CHECK(helped["compiled"].size() == 2);
  CHECK(helped["modelled"].empty());
}

TEST_CASE("a host that joins a run which models nothing compiles from then on", "[long]") {
  const Bench bench;
  bench.write("hosts", "here\n");
  // So many in flight that programs still wait for a compiler when the host joins. It ends when it is told to.
  EvoProcess run({"run", "--task", "fp8_sdpa", "--devices", "vgpu:h200", "--time", "1h", "--seed", "3", "--in-flight",
                  "64", "--hosts", "hosts", "--json", "--log", "evo.log", "--log-level", "debug"},
                 {.folder = bench.folder()});
  run.wait_for_line("run 1: ");
  bench.write("hosts", "here\n" + kHostWithoutDevice + "\n");
  // The first answer is to the sample by which compilers are compared.
  const std::regex second(R"(\(compiles [^)]*\), ([2-9]|\d\d+) answers in \S+ s: compile took)");
  run.wait_until([&] { return std::regex_search(bench.read("evo.log"), second); });
  run.send(SIGINT);
  const Outcome outcome = run.finish();
  REQUIRE(outcome.code == 130);
  CHECK(holds(outcome.err, kHostWithoutDevice + " joins the run; it has no device and only compiles: "));
  const nlohmann::json joined = nlohmann::json::parse(outcome.out);
  REQUIRE(joined["compiled"].size() == 2);
  for (const auto& host : joined["compiled"]) CHECK(host["programs"].get<int>() > 0);
}

TEST_CASE("a host that loses its link in the middle costs nothing", "[long]") {
  const Bench here, there;
  write_toy_task(here);
  write_toy_task(there);
  const std::vector<std::string> search = {"run", "--task", "toy", "--evals", "16", "--seed", "3"};
  std::vector<std::string> alone = search, frail = search;
  frail.emplace_back("--json");
  alone.insert(alone.end(), {"--device", "vgpu"});
  // Every connection of a worker ends after so many bytes.
  const std::string connection =
      "sh -c 'case $* in *relay*) \"$0\" \"$@\" | (stdbuf -o0 head -c 30000; kill 0);; *) exec \"$0\" \"$@\";; esac'";
  frail.insert(frail.end(), {"--devices", "vgpu:h200", "--workers", connection, "--workers", "here"});
  const Outcome outcome = there.evo(frail);
  CHECK(outcome.code == 0);
  CHECK(holds(outcome.err, "the connection ended"));
  CHECK(essence(here, here.json(alone)) == essence(there, nlohmann::json::parse(outcome.out)));
}

TEST_CASE("a host that does not answer is named, and the run goes on without it") {
  const ToyBench bench;
  const std::vector<std::string> search = {"run",    "--task", "toy",     "--evals",   "2",
                                           "--seed", "3",      "--quiet", "--devices", "vgpu:h200"};
  const std::string dead = "sh -c 'echo no route to host >&2; exit 255'";
  std::vector<std::string> both = search, only = search;
  both.insert(both.end(), {"--workers", dead, "--workers", ""});
  only.insert(only.end(), {"--workers", dead});
  const Outcome outcome = bench.evo(both);
  CHECK(outcome.code == 0);
  CHECK(holds(outcome.err, "the run goes on without " + dead));
  CHECK(holds(outcome.err, "no route to host"));
  check_refused(bench.evo(only), 3, {"no route to host", "no command runs there"});
  check_refused(bench.evo({"run", "--task", "toy", "--hosts", "none"}), 2, {"--hosts none: cannot be read"});
}

TEST_CASE("a run can go on on other devices of its model") {
  const ToyBench bench;
  run_on(bench, 1);
  const nlohmann::json run = bench.json(
      {"run", "--resume", "1", "--evals", "20", "--quiet", "--workers", kHostWithEvo, "--devices", "vgpu:h200"});
  CHECK(run["run"]["evaluated"] == 20);
  check_refused(bench.evo({"run", "--resume", "1", "--evals", "24", "--devices", "vgpu:l4"}), 2,
                {"vgpu:l4", "of that model"});
}

TEST_CASE("lists of devices that make no sense are refused") {
  const ToyBench bench;
  const auto refused = [&](std::vector<std::string> arguments, int code, const std::vector<std::string>& parts) {
    arguments.insert(arguments.begin(), {"run", "--task", "toy"});
    check_refused(bench.evo(arguments), code, parts);
  };
  refused({"--devices", "vgpu:h200,vgpu:l4"}, 2, {"vgpu:l4", "devices of one model"});
  refused({"--devices", "vgpu:h200", "--device", "vgpu"}, 2, {"--device cannot be combined with --devices"});
  refused({"--devices", "cuda:all"}, 3, {"cuda:all: "});
  refused({"--devices", "tpu:all"}, 2, {"'tpu:all'", "cuda, vgpu"});
  refused({"--devices", "vgpu:h200,"}, 2, {"is no device"});
  refused({"--devices", "vgpu", "--answers", "sometimes"}, 2, {"--answers sometimes: expected asked or finished"});
  refused({"--devices", "vgpu", "--in-flight", "0"}, 2, {"--in-flight"});
  refused({"--devices", "vgpu", "--answers", "finished", "--proposer", "cat"}, 2, {"--answers finished"});
}

TEST_CASE("a width that was asked for submits as many candidates at once, whatever keeps the devices busy") {
  std::vector<std::uint64_t> submitted;
  evo::cli::FixedWidthEvaluator evaluator(std::make_unique<NarrowEvaluator>(submitted), 16);
  REQUIRE(evaluator.width() == 16);
  std::vector<std::uint64_t> all;
  for (std::uint64_t ticket = 0; ticket < evaluator.width(); ++ticket) {
    evaluator.submit(ticket, {});
    all.push_back(ticket);
  }
  CHECK(submitted == all);
  CHECK(evaluator.wait().ticket == 0);
  CHECK(evaluator.withdraw() == all);
}
