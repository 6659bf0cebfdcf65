#include <sstream>

#include "tests/cli/bench.h"

using namespace evo::testing;

namespace {

/// The example of docs/proposer.md, as a person would take it from there.
std::string example_proposer() {
  std::ifstream file(std::string(EVO_SOURCE_DIR) + "/docs/proposer.md");
  std::stringstream text;
  text << file.rdbuf();
  const std::string opening = "```python\n";
  const std::size_t begin = text.str().find(opening) + opening.size();
  return text.str().substr(begin, text.str().find("```", begin) - begin);
}

Outcome run(const Bench& bench, const std::string& command, const std::string& database,
            const std::string& evaluations) {
  Outcome outcome = bench.evo({"run", "--task", "toy", "--device", "vgpu", "--evals", evaluations, "--seed", "1",
                               "--db", database, "--proposer", command, "--proposer-deadline", "20s"});
  REQUIRE(outcome.code == 0);
  return outcome;
}

int occurrences(const std::string& text, const std::string& part) {
  int count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

}  // namespace

TEST_CASE("the example proposer makes its share of a run's proposals, and their lineage is stored") {
  const ToyBench bench;
  bench.write("propose.py", example_proposer());
  const Outcome outcome = run(bench, "python3 propose.py", "run.db", "24");
  int proposed = 0;
  for (const auto& row : outcomes(bench, "run.db")) {
    if (row["op"] != "proposer") continue;
    ++proposed;
    const auto shown = bench.json({"show", std::to_string(row["candidate"].get<int>()), "--db", "run.db"});
    CHECK(shown["parents"].size() == 1);
  }
  CHECK(proposed > 0);
  CHECK(proposed <= 6);
  CHECK(occurrences(outcome.err, "proposer: ") == 0);
}

TEST_CASE("with --profile a proposer is told what bounds the elites") {
  const ToyBench bench;
  bench.write("listen.sh", "while read -r line; do echo \"$line\" >> heard; echo '{\"proposals\": []}'; done\n");
  const Outcome outcome = bench.evo({"run", "--task", "toy", "--device", "vgpu", "--evals", "12", "--seed", "1",
                                     "--profile", "1", "--proposer", "sh listen.sh", "--quiet"});
  REQUIRE(outcome.code == 0);
  CHECK(occurrences(bench.read("heard"), "modelled: bound by") > 0);
}

TEST_CASE("a proposer that ends, stalls or answers malformed text is reported, and the run continues without it",
          "[long]") {
  const ToyBench bench;
  REQUIRE(bench.evo({"run", "--task", "toy", "--device", "vgpu", "--evals", "20", "--seed", "1", "--db", "alone.db"})
              .code == 0);
  const auto alone = outcomes(bench, "alone.db");
  const auto check = [&](const std::string& name, const std::string& command, const std::string& says) {
    const std::string database = name + ".db";
    std::filesystem::remove(bench / database);
    const Outcome outcome =
        bench.evo({"run", "--task", "toy", "--device", "vgpu", "--evals", "20", "--seed", "1", "--db", database,
                   "--proposer", command, "--proposer-deadline", name == "stalls" ? "100ms" : "20s"});
    CHECK(outcome.code == 0);
    CHECK(occurrences(outcome.err, "proposer: ") == 3);
    CHECK(occurrences(outcome.err, says) == 3);
    CHECK(occurrences(outcome.err, "the run continues without it") == 1);
    const auto rows = outcomes(bench, database);
    REQUIRE(rows.size() == alone.size());
    for (std::size_t i = 0; i < rows.size(); ++i) CHECK(rows[i]["latency_us"] == alone[i]["latency_us"]);
  };
  check("ends", "exit 1", "it has ended");
  check("nonsense", "while read line; do echo gibberish; done", "its answer is not");
  check("stalls", "sleep 1000", "no answer within");
  bench.write("nest.py", R"python(import sys
nested = "[" * 60000 + "]" * 60000
for line in sys.stdin:
    print('{"proposals": [' + sys.argv[1].replace("NESTED", nested) + "]}", flush=True)
)python");
  for (const char* proposal : {R"(NESTED)", R"({"genome": NESTED})", R"({"genome": {"genes": {"threads": NESTED}}})",
                               R"({"genome": {}, "parents": NESTED})", R"({"source": "", "plan": NESTED})"})
    check("nested", std::string("python3 nest.py '") + proposal + "'", "its answer: nested deeper than 64 levels");
}

TEST_CASE("a run with a proposer resumes with the stored proposals, without asking again") {
  const ToyBench bench;
  bench.write("propose.py", example_proposer());
  run(bench, "python3 propose.py", "run.db", "20");
  const auto before = outcomes(bench, "run.db");
  REQUIRE(before.dump().find("\"proposer\"") != std::string::npos);
  const Outcome outcome = bench.evo({"run", "--resume", "1", "--evals", "24", "--db", "run.db"});
  CHECK(outcome.code == 0);
  const auto after = outcomes(bench, "run.db");
  REQUIRE(after.size() == 24);
  for (std::size_t i = 0; i < before.size(); ++i) CHECK(after[i]["candidate"] == before[i]["candidate"]);
}

namespace {

/// A proposer that answers each question with the next of its lines, then with nothing.
void write_proposer(const Bench& bench, const std::vector<nlohmann::json>& proposals) {
  std::string answers;
  for (const nlohmann::json& proposal : proposals)
    answers += nlohmann::json{{"proposals", nlohmann::json::array({proposal})}}.dump() + "\n";
  bench.write("answers", answers);
  bench.write("propose.py", R"python(import json, sys
answers = iter(open("answers").read().splitlines())
for line in sys.stdin:
    message = json.loads(line)
    if message["type"] == "task":
        json.dump(message, open("task.json", "w"))
        continue
    with open("asked", "a") as asked:
        asked.write(line)
    print(next(answers, '{"proposals": []}'), flush=True)
)python");
}

nlohmann::json quick_sum(const std::string& text) {
  return {{"slot", {{"family", "plain"}, {"gene", "sum"}, {"allele", "quick"}, {"text", text}}},
          {"genome",
           {{"family", "plain"},
            {"genes", {{"threads", 128}, {"items", 1}, {"padding", 0}, {"wrong", false}, {"sum", "quick"}}}}}};
}

nlohmann::json whole_source(const std::string& text) {
  return {{"source", text},
          {"plan",
           {{"launches",
             {{{"kernel", "mine"},
               {"grid", {"ceil_div(N, 128)", 1, 1}},
               {"block", {128, 1, 1}},
               {"arguments", {"a", "b", "c", "N"}}}}}}}};
}

const char* const kQuickSum = "if (i${item} < N) c[i${item}] = a[i${item}] + b[i${item}];\n";
const char* const kSource =
    R"cuda(extern "C" __global__ void mine(const float* a, const float* b, float* c, int N) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < N) c[i] = a[i] + b[i];
}
)cuda";

/// The run's best is a proposal with this file, and the claim of its export holds without the templates.
void check_exported(const Bench& bench, const std::string& file, const std::string& source) {
  const auto elites = bench.json({"elites", "--db", "run.db"})["elites"];
  REQUIRE(!elites.empty());
  const std::string best = std::to_string(elites[0]["candidate"].get<int>());
  const auto shown = bench.json({"show", best, "--db", "run.db"});
  CHECK(shown["op"] == "proposer");
  REQUIRE(!shown["files"].empty());
  CHECK(shown["files"].dump().find(file) != std::string::npos);
  CHECK(shown["programs"][0]["source"].get<std::string>().find(source) != std::string::npos);
  std::filesystem::remove_all(bench / "templates");
  CHECK(bench.evo({"verify", best, "--db", "run.db"}).code == 0);
  REQUIRE(bench.evo({"export", best, "-o", "best.cu", "--db", "run.db"}).code == 0);
  const Outcome verified = bench.evo({"verify", "best.cu"});
  CHECK(verified.code == 0);
  CHECK(bench.evo({"export", "--format", "kerneltuner", "-o", "all.json", "--db", "run.db"}).code == 0);
  CHECK(bench.read("all.json").find("quick") == std::string::npos);
}

}  // namespace

TEST_CASE("a proposer's new allele that becomes the best is stored with its text, exported and verified", "[long]") {
  const Bench bench;
  write_toy_with_slot(bench);
  write_proposer(bench, {quick_sum(kQuickSum)});
  run(bench, "python3 propose.py", "run.db", "8");
  const auto task = nlohmann::json::parse(bench.read("task.json"));
  CHECK(task["files"].contains("toy/plain/sum/careful.cu"));
  CHECK(task["device"]["facts"].contains("smem_per_block"));
  check_exported(bench, "toy/plain/sum/quick.cu", "c[i0] = a[i0] + b[i0]");
}

TEST_CASE("a proposer's whole source that becomes the best is stored with its plan, exported and verified", "[long]") {
  const Bench bench;
  write_toy_with_slot(bench);
  write_proposer(bench, {whole_source(kSource)});
  run(bench, "python3 propose.py", "run.db", "8");
  check_exported(bench, "/kernel.cu", "c[i] = a[i] + b[i]");
}

TEST_CASE("proposed kernels pass the same gates, invalid ones are refused with the reason, and the run continues") {
  const Bench bench;
  write_toy_with_slot(bench);
  const auto wild =
      whole_source(R"cuda(extern "C" __global__ void mine(const float* a, const float* b, float* c, int N) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  c[i] = a[i] + b[i];
}
)cuda");
  const auto wrong =
      whole_source(R"cuda(extern "C" __global__ void mine(const float* a, const float* b, float* c, int N) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < N) c[i] = a[i];
}
)cuda");
  write_proposer(bench, {quick_sum("${item"),
                         quick_sum("#include \"/etc/passwd\"\n"),
                         5,
                         whole_source("no kernel at all"),
                         wild,
                         wrong,
                         whole_source("extern"),
                         {{"source", 1}}});
  const Outcome outcome = run(bench, "python3 propose.py", "run.db", "24");
  CHECK(occurrences(outcome.err, "proposer: ") == 0);
  const std::string asked = bench.read("asked");
  for (const char* why : {"'${' without '}'", "complete without headers", "it cannot be read"}) {
    INFO(why);
    CHECK(asked.find(why) != std::string::npos);
  }
  std::vector<std::string> verdicts;
  for (const auto& row : outcomes(bench, "run.db")) {
    if (row["op"] == "proposer") verdicts.push_back(row["verdict"]);
  }
  CHECK(verdicts == std::vector<std::string>{"compile_failed", "crashed", "wrong_answer", "compile_failed"});
}

TEST_CASE("a run with alleles and sources of a proposer is resumed, merged and compacted", "[long]") {
  const Bench bench;
  write_toy_with_slot(bench);
  write_proposer(bench, {quick_sum(kQuickSum), whole_source(kSource)});
  run(bench, "python3 propose.py", "run.db", "10");
  const auto before = outcomes(bench, "run.db");
  const Outcome outcome = bench.evo({"run", "--resume", "1", "--evals", "12", "--db", "run.db"});
  CHECK(outcome.code == 0);
  const auto after = outcomes(bench, "run.db");
  REQUIRE(after.size() == 12);
  for (std::size_t i = 0; i < before.size(); ++i) CHECK(after[i]["candidate"] == before[i]["candidate"]);
  REQUIRE(
      bench.evo({"run", "--task", "toy", "--device", "vgpu", "--evals", "1", "--seed", "7", "--db", "all.db"}).code ==
      0);
  REQUIRE(bench.evo({"db", "merge", "run.db", "--db", "all.db"}).code == 0);
  REQUIRE(bench.evo({"db", "compact", "--db", "all.db"}).code == 0);
  CHECK(bench.evo({"db", "check", "--db", "all.db"}).code == 0);
  const auto best = bench.json({"elites", "--db", "all.db"})["elites"][0]["candidate"];
  const auto shown = bench.json({"show", std::to_string(best.get<int>()), "--db", "all.db"});
  CHECK(!shown["files"].empty());
  CHECK(bench.evo({"verify", std::to_string(best.get<int>()), "--db", "all.db"}).code == 0);
}
