#include "bench.h"

using namespace evo::testing;

namespace {

void run(const Bench& bench, std::vector<std::string> arguments) {
  const std::vector<std::string> head = {"run", "--device", "vgpu", "--quiet"};
  arguments.insert(arguments.begin(), head.begin(), head.end());
  const Outcome outcome = bench.evo(arguments);
  REQUIRE(outcome.code == 0);
}

void run_toy_at(const Bench& bench, const std::string& shapes, const std::string& seed,
                std::vector<std::string> more = {}) {
  std::vector<std::string> arguments = {"--task", "toy", "--shapes", shapes, "--evals", "6", "--seed", seed};
  arguments.insert(arguments.end(), more.begin(), more.end());
  run(bench, arguments);
}

std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

}  // namespace

TEST_CASE("the best of several objectives go into one file, which is verified kernel by kernel", "[long]") {
  const Bench bench, other_folder;
  write_toy_task(bench);
  run_toy_at(bench, "tiny", "1");
  run_toy_at(bench, "3000", "2");
  // A cross-shape run of one genome is no faster at a shape than the best of that shape's own run may be.
  run_toy_at(bench, "tiny,large", "3");
  const Outcome exported = bench.evo({"export", "--dispatch", "-o", "best.cu"});
  REQUIRE(exported.code == 0);
  CHECK(exported.err.empty());
  for (const char* part : {"of toy on", "tiny: candidate", "3000: candidate", "large: candidate", "nvcc "})
    CHECK(holds(exported.out, part));
  const std::string text = bench.read("best.cu");
  CHECK(holds(text, "int evo_toy_kernel(int N)"));
  CHECK(holds(text, "// N = 3000"));
  CHECK(bench.evo({"export", "--dispatch", "--task", "toy", "--device", "vgpu"}).out == text);

  other_folder.write("best.cu", text);
  const nlohmann::json verified = other_folder.json({"verify", "best.cu"});
  CHECK(verified["reproduced"] == true);
  // Each kernel is claimed for the shapes that it is the fastest at, and each shape is one kernel's.
  std::size_t timings = 0;
  for (const auto& kernel : verified["kernels"]) timings += kernel["claim"]["timings"].size();
  CHECK(timings == 3);
  CHECK(verified["kernels"].size() >= 2);
  CHECK(verified["kernels"].size() == count_of(text, "// ==== evo kernel"));
}

TEST_CASE("in a file of several kernels each shape has the fastest rank 1 elite that was timed at it") {
  const ToyBench bench;
  run_toy_at(bench, "tiny,large", "1");
  run_toy_at(bench, "large", "2", {"--family", "plain"});
  const nlohmann::json elites = bench.json({"elites"})["elites"];
  double best = 0;
  std::string id;
  for (const auto& elite : elites) {
    if (elite["rank"] != 1) continue;
    const nlohmann::json shown = bench.json({"show", std::to_string(elite["candidate"].get<int>())});
    for (const auto& timing : shown["evaluation"]["timings"]) {
      if (timing["shape"] != "large" || timing["cold"] == true) continue;
      const double us = timing["median_us"].get<double>();
      if (id.empty() || us < best) {
        best = us;
        id = std::to_string(elite["candidate"].get<int>());
      }
    }
  }
  bench.write("best.cu", "");
  const Outcome outcome = bench.evo({"export", "--dispatch", "-o", "best.cu"});
  CHECK(holds(outcome.out, "large: candidate " + id + ","));
}

TEST_CASE("a candidate of several specialisations counts as several kernels, as in the file") {
  const ToyBench bench;
  bench.change("templates/toy/task.json", "\"specialised\": []", "\"specialised\": [\"N\"]");
  run_toy_at(bench, "tiny,large", "1");
  const Outcome exported = bench.evo({"export", "--dispatch", "-o", "best.cu"});
  CHECK(exported.out.starts_with("best.cu: 2 kernels of toy on "));
  CHECK(count_of(bench.read("best.cu"), "// ==== evo kernel") == 2);
}

TEST_CASE("evo verify detects one spoiled kernel of several", "[long]") {
  const ToyBench bench;
  run_toy_at(bench, "tiny", "1");
  run_toy_at(bench, "large", "2");
  const std::string text = bench.evo({"export", "--dispatch"}).out;
  verify_spoiled(bench, text, text.find("Host side"));
}

TEST_CASE("kernels of other options are left out of a file of several kernels, and are named") {
  const ToyBench bench;
  run_toy_at(bench, "tiny", "1", {"--option", "mode=loose"});
  run_toy_at(bench, "large", "2");
  const Outcome newest = bench.evo({"export", "--dispatch"});
  CHECK(newest.code == 0);
  CHECK(holds(newest.err, "not exported: candidate "));
  CHECK(holds(newest.err, "mode=loose"));
  CHECK_FALSE(holds(newest.out, "N = 5"));
  const Outcome loose = bench.evo({"export", "--dispatch", "--option", "mode=loose"});
  CHECK(loose.err.empty());
  CHECK(holds(loose.out, "mode = loose"));
}

TEST_CASE("a file of several kernels without matching elites is refused") {
  const ToyBench bench;
  run_toy_at(bench, "tiny", "1");
  check_refused(bench.evo({"export", "--dispatch", "--device", "cuda"}), 2, {"no elites to choose among on cuda"});
  check_refused(bench.evo({"export", "--dispatch", "--option", "mode=loose"}), 2,
                {"no elites to choose among", "with mode=loose"});
  check_refused(bench.evo({"export", "--dispatch", "--objective", "fastest"}), 2, {"fastest"});
  check_refused(bench.evo({"export", "--dispatch", "--option", "mode=wrong"}), 2, {"wrong", "exact"});
  check_refused(bench.evo({"export", "--dispatch", "1"}), 2, {"not with an ID"});
  check_refused(bench.evo({"export", "--option", "mode=exact"}), 2, {"--option goes with --dispatch"});
}
