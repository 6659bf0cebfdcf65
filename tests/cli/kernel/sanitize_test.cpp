// Kernels in tests/vgpu/sanitiser: those in planted/ say in their first lines what must be found, those in
// clean/ are right.
#include <optional>
#include <sstream>
#include <utility>

#include "tests/cli/bench.h"

using namespace evo::testing;

namespace {

struct Expected {
  std::string kind;
  std::optional<int> line;
  std::string text;
};

struct Mutant {
  std::filesystem::path path;
  std::vector<std::string> options;
  std::vector<Expected> expected;
};

/// "race line 8: with thread": a kind, perhaps a line, a part of the text.
Expected parse_expected(const std::string& words) {
  const std::size_t colon = words.find(':');
  Expected expected;
  expected.kind = words.substr(0, colon);
  expected.text = words.substr(colon + 2);
  const std::size_t line = expected.kind.find(" line ");
  if (line == std::string::npos) return expected;
  expected.line = std::stoi(expected.kind.substr(line + 6));
  expected.kind.resize(line);
  return expected;
}

std::vector<Mutant> mutants(const std::string& folder) {
  std::vector<Mutant> found;
  for (const auto& entry : std::filesystem::directory_iterator(EVO_SOURCE_DIR "/tests/vgpu/sanitiser/" + folder)) {
    Mutant mutant{entry.path(), {}, {}};
    std::ifstream in(entry.path());
    for (std::string line; std::getline(in, line) && line.starts_with("//");) {
      std::istringstream words(line.substr(2));
      std::string what;
      words >> what;
      if (what == "run:")
        for (std::string word; words >> word;) mutant.options.push_back(word);
      if (what == "finds:") mutant.expected.push_back(parse_expected(line.substr(line.find(':') + 2)));
    }
    REQUIRE(!mutant.options.empty());
    found.push_back(std::move(mutant));
  }
  std::ranges::sort(found, {}, &Mutant::path);
  REQUIRE(!found.empty());
  return found;
}

std::vector<std::string> command(const Mutant& mutant) {
  std::vector<std::string> arguments{"sanitize", mutant.path.string()};
  arguments.insert(arguments.end(), mutant.options.begin(), mutant.options.end());
  return arguments;
}

bool matches(const nlohmann::json& finding, const Expected& expected) {
  return finding["kind"] == expected.kind && (!expected.line || finding["line"] == *expected.line) &&
         finding["text"].get<std::string>().find(expected.text) != std::string::npos;
}

/// The toy task, whose kernels are now compiled for one N each, and a database with a candidate for N=5 alone.
void run_specialised_toy(const Bench& bench) {
  write_toy_task(bench);
  bench.change("templates/toy/task.json", R"("specialised": [])", R"("specialised": ["N"])");
  const Outcome outcome = bench.evo(
      {"run", "--task", "toy", "--device", "vgpu", "--shapes", "tiny", "--evals", "2", "--seed", "1", "--quiet"});
  REQUIRE(outcome.code == 0);
}

}  // namespace

TEST_CASE("evo sanitize reports every planted bug with its line, and nothing else", "[long]") {
  const Bench bench;
  for (const Mutant& mutant : mutants("planted")) {
    INFO(mutant.path.filename().string());
    const auto json = bench.json(command(mutant), 1);
    INFO(json.dump(1));
    REQUIRE(!mutant.expected.empty());
    const auto& findings = json["findings"];
    for (const Expected& expected : mutant.expected) {
      INFO("expected: " << expected.kind << " in line " << expected.line.value_or(0) << ": " << expected.text);
      CHECK(std::ranges::any_of(findings, [&](const auto& finding) { return matches(finding, expected); }));
    }
    for (const auto& finding : findings) {
      CHECK(std::ranges::any_of(mutant.expected,
                                [&](const Expected& expected) { return finding["kind"] == expected.kind; }));
    }
  }
}

TEST_CASE("evo sanitize reports nothing for clean kernels", "[long]") {
  const Bench bench;
  for (const Mutant& mutant : mutants("clean")) {
    INFO(mutant.path.filename().string());
    const auto json = bench.json(command(mutant), 0);
    CHECK(json["clean"] == true);
    CHECK(json["findings"].empty());
    CHECK(json["ran"].size() == 1);
  }
}

TEST_CASE("evo sanitize refuses wrong input with a message of one line") {
  const Bench bench;
  bench.write("broken.cu", "__global__ void k() { return 1 }\n");
  bench.write("k.cu", "__global__ void k(int* x) { *x = 1; }\n");
  check_refused(bench.evo({"sanitize", "none.cu"}), 2, {"none.cu"});
  check_refused(bench.evo({"sanitize", "broken.cu"}), 2, {"broken.cu(1)"});
  check_refused(bench.evo({"sanitize", "k.cu"}), 2, {"takes 1 argument"});
  check_refused(bench.evo({"sanitize", "k.cu", "--device", "cuda:0"}), 3, {"cuda:0"});
  check_refused(bench.evo({"sanitize", "17"}), 2, {"runs/evo.db"});
}

TEST_CASE("evo sanitize refuses a shape that a candidate or an exported file has no program for") {
  const Bench bench;
  run_specialised_toy(bench);
  REQUIRE(bench.evo({"export", "1", "-o", "best.cu"}).code == 0);
  const std::vector<std::pair<std::string, std::string>> subjects = {{"1", "candidate 1"}, {"best.cu", "best.cu"}};
  for (const auto& [subject, name] : subjects) {
    CHECK(bench.json({"sanitize", subject, "--shapes", "tiny"})["ran"].size() == 1);
    check_refused(bench.evo({"sanitize", subject, "--shapes", "large"}), 2, {name, "N=5", "shape large"});
    check_refused(bench.evo({"sanitize", subject, "--shapes", "tiny,large"}), 2, {name, "N=5", "shape large"});
  }
}

TEST_CASE("evo sanitize runs each shape with the program that was compiled for it") {
  const Bench bench;
  run_specialised_toy(bench);
  const Outcome outcome = bench.evo(
      {"run", "--task", "toy", "--device", "vgpu", "--shapes", "tiny,large", "--evals", "2", "--seed", "1", "--quiet"});
  REQUIRE(outcome.code == 0);
  REQUIRE(bench.evo({"export", "--dispatch", "-o", "best.cu"}).code == 0);
  for (const char* subject : {"3", "best.cu"}) {
    CHECK(bench.json({"sanitize", subject})["ran"].size() == 2);
    CHECK(bench.json({"sanitize", subject, "--shapes", "large"})["ran"].size() == 1);
  }
}

TEST_CASE("evo sanitize refuses launch options for a candidate, and --shapes for a plain kernel") {
  const Bench bench;
  run_specialised_toy(bench);
  bench.write("k.cu", "__global__ void k(int* x) { *x = 1; }\n");
  REQUIRE(bench.evo({"export", "1", "-o", "best.cu"}).code == 0);
  for (const char* subject : {"1", "best.cu"}) {
    for (const char* option : {"--grid", "--block", "--smem", "--seed"})
      check_refused(bench.evo({"sanitize", subject, option, "4"}), 2, {option, "candidate"});
    check_refused(bench.evo({"sanitize", subject, "--arg", "int:4"}), 2, {"--arg", "candidate"});
    check_refused(bench.evo({"sanitize", subject, "-D", "X"}), 2, {"--define", "candidate"});
    check_refused(bench.evo({"sanitize", subject, "--then"}), 2, {"--then", "candidate"});
  }
  check_refused(bench.evo({"sanitize", "k.cu", "--arg", "int[1]:unset", "--shapes", "tiny"}), 2, {"--shapes"});
}

TEST_CASE("evo sanitize counts the weaker findings that were not asked for") {
  const Bench bench;
  bench.write("k.cu", "__global__ void k(int* x) { *x = 1; }\n");
  const std::vector<std::string> usual{"sanitize", "k.cu", "--block", "64", "--arg", "x=int[1]:zeros"};
  const auto found = bench.json(usual, 0);
  CHECK(found["clean"] == true);
  CHECK(found["weaker"] == 1);
  CHECK(bench.evo(usual).out.find("no finding; --strict shows 1 more") != std::string::npos);
  std::vector<std::string> strict = usual;
  strict.push_back("--strict");
  const auto all = bench.json(strict, 1);
  CHECK(all["findings"][0]["kind"] == "benign_looking");
  CHECK(all["weaker"] == 0);
}

TEST_CASE(
    "evo sanitize names the lines whose accesses the compiler has removed or merged, where nothing else is found") {
  const Bench bench;
  bench.write("k.cu", R"(__global__ void k(int* out, const int* in) {
  __shared__ int unused, used[64];
  unused = threadIdx.x;
  used[threadIdx.x] = in[threadIdx.x];
  out[threadIdx.x] = used[threadIdx.x];
}
)");
  std::vector<std::string> command{"sanitize", "k.cu",          "--block", "64",
                                   "--arg",    "int[64]:unset", "--arg",   "int[64]:iota"};
  CHECK(bench.json(command, 0)["removed"] == nlohmann::json({3}));
  CHECK(bench.evo(command).out.find("removed the accesses of line 3, or merged them") != std::string::npos);
  command.insert(command.end(), {"--nvrtc-option", "-G"});
  CHECK(bench.json(command, 1)["removed"].empty());
}
