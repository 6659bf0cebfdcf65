// The page of `evo report -o`: its document, its safety, and the page itself in a browser.
#include "cli/report/report_page.h"

#include <SQLiteCpp/SQLiteCpp.h>
#include <fmt/format.h>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cstdlib>
#include <iterator>
#include <set>

#include "browser_check.h"
#include "cli/report/best_so_far.h"
#include "cli/sources/templates.h"
#include "cli/subject/lookup.h"
#include "engine/base/hash.h"
#include "engine/base/rng.h"
#include "evaluator/hosts/devices.h"
#include "population/store/store.h"
#include "tests/cli/bench.h"

using namespace evo;
using namespace evo::testing;
using Catch::Matchers::ContainsSubstring;

namespace {

using Json = nlohmann::json;

/// What must not end the page's data, its title or its scripts.
const std::string kHostile = "</script></title><!--<script><img src=x onerror=alert(1)> {{style}} \\u003c";

void record_toy_run(const Bench& bench, const std::string& seed) {
  const Outcome outcome =
      bench.evo({"run", "--task", "toy", "--device", "vgpu", "--evals", "26", "--seed", seed, "--quiet"});
  REQUIRE(outcome.code == 0);
}

/// Two runs of a toy task whose summary and kernel hold hostile text.
void make_hostile_runs(const Bench& bench) {
  write_toy_task(bench, true);
  std::string task = bench.read("templates/toy/task.json");
  const std::string summary = "c = a + b";
  std::string quoted = kHostile;
  quoted.replace(quoted.find("\\u003c"), 6, "\\\\u003c");
  bench.write("templates/toy/task.json", task.replace(task.find(summary), summary.size(), quoted));
  std::string harmless = kHostile;  // "${" and "//%" alone mean something to a template.
  bench.write("templates/toy/plain/kernel.cu", "// " + harmless + "\n" + bench.read("templates/toy/plain/kernel.cu"));
  record_toy_run(bench, "1");
  record_toy_run(bench, "2");
}

Json page_document(const Bench& bench, std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "report");
  arguments.insert(arguments.end(), {"-o", "data.json"});
  const Outcome outcome = bench.evo(arguments);
  REQUIRE(outcome.code == 0);
  return Json::parse(bench.read("data.json"));
}

/// The runs of a virtual GPU as if a GPU had been timed, with errors and counters.
void pretend_measured(const Bench& bench) {
  {
    SQLite::Database database((bench / "runs/evo.db").string(), SQLite::OPEN_READWRITE);
    database.exec(
        "UPDATE device SET key = 'cuda NVIDIA H200 sm_90a', kind = 'cuda', id = 'cuda:0', name = 'NVIDIA H200'; "
        "UPDATE board SET device_key = (SELECT key FROM device); "
        "UPDATE timing SET modelled = 0, low_us = median_us * 0.99, high_us = median_us * 1.01; "
        "UPDATE evaluation SET worst_relative_l2 = 1e-5 * (1 + candidate % 7) WHERE verdict = 'valid'");
  }
  Store store = Store::open(bench / "runs/evo.db", Store::Mode::write);
  const EliteRow best = store.elites().front();
  store.record_profile(
      best.candidate,
      {.shape = "middle",
       .modelled = false,
       .launches = {
           {"toy", {{std::string(metric::kDuration), best.latency_us * 500}, {std::string(metric::kMemory), 12.5}}}}});
}

std::string joined_lines(const Json& lineage, const Json& numbers) {
  std::string text;
  for (const Json& number : numbers) text += lineage["lines"][number.get<std::size_t>()].get<std::string>() + "\n";
  return text;
}

std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

/// The genome of a candidate from the columns of its family.
Json genome_at(const Json& document, std::size_t row) {
  const auto family = document["candidates"]["family"][row].get<std::size_t>();
  std::size_t place = 0;
  for (std::size_t i = 0; i < row; ++i) place += document["candidates"]["family"][i] == family;
  Json genes = Json::object();
  for (const auto& [gene, column] : document["genomes"][family]["genes"].items()) {
    const int allele = column["alleles"][place];
    if (allele >= 0) genes[gene] = column["values"][static_cast<std::size_t>(allele)];
  }
  return {{"family", document["genomes"][family]["family"]}, {"genes", genes}};
}

}  // namespace

TEST_CASE("the best latencies of several runs are joined: median, least and largest where they are known") {
  const cli::BestCurves all = cli::curves_together(
      {{.steps = {{1, 8}, {3, 4}}, .end = 4}, {.steps = {{2, 6}}, .end = 6}, {.steps = {}, .end = 5}});
  CHECK(all.at == std::vector<double>{1, 2, 3, 4, 5, 6});
  using Values = std::vector<std::optional<double>>;
  CHECK(all.runs[0] == Values{8, 8, 4, 4, {}, {}});
  CHECK(all.runs[1] == Values{{}, 6, 6, 6, 6, 6});
  CHECK(all.runs[2] == Values{{}, {}, {}, {}, {}, {}});
  CHECK(all.least == Values{8, 6, 4, 4, 4, 4});
  CHECK(all.median == Values{{}, 8, 6, 6, 6, 6});
  CHECK(all.largest == Values{{}, {}, {}, {}, {}, {}});
  CHECK(cli::curves_together({{.steps = {{1, 8}}, .end = 1}, {.steps = {{1, 4}}, .end = 1}}).median == Values{6});
}

TEST_CASE("JSON in a script element cannot end it, and stays the same document") {
  const nlohmann::ordered_json data = {{"a</script>", kHostile}, {"b", "<!--"}, {"c", "a \xff byte"}};
  const std::string text = cli::json_for_script(data);
  CHECK(text.find('<') == std::string::npos);
  const Json read = Json::parse(text);
  CHECK(read["a</script>"] == kHostile);
  CHECK(read["b"] == "<!--");
}

TEST_CASE("the page's document tells of every candidate what the database does", "[long]") {
  const Bench bench;
  make_hostile_runs(bench);
  const Json document = page_document(bench, {"--task", "toy"});
  CHECK(document["command"] == "report");
  CHECK(document["task"]["summary"] == kHostile);
  CHECK(document["timing"] == "modelled");
  REQUIRE(document["runs"].size() == 2);
  CHECK(document["runs"][0]["phases"]["run_s"].get<double>() > 0);

  const Json& columns = document["candidates"];
  std::vector<Json> outcomes;
  for (const char* run : {"1", "2"}) {
    const Json listed = bench.json({"runs", run})["runs"][0]["outcomes"];
    outcomes.insert(outcomes.end(), listed.begin(), listed.end());
  }
  REQUIRE(outcomes.size() > 30);
  for (const char* name : {"id", "run", "evaluation", "seconds", "verdict", "op", "family", "parent", "latency_us",
                           "relative_l2", "reason"}) {
    INFO(name);
    CHECK(columns[name].size() == outcomes.size());
  }
  double least = 1e9;
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    CHECK(columns["id"][i] == outcomes[i]["candidate"]);
    CHECK(document["verdicts"][columns["verdict"][i].get<std::size_t>()]["name"] == outcomes[i]["verdict"]);
    CHECK(columns["ops"][columns["op"][i].get<std::size_t>()] == outcomes[i]["op"]);
    CHECK(columns["latency_us"][i].is_null() == outcomes[i]["latency_us"].is_null());
    if (outcomes[i]["verdict"] == "valid") least = std::min(least, outcomes[i]["latency_us"].get<double>());
  }
  for (const std::size_t row : {std::size_t{0}, outcomes.size() / 2, outcomes.size() - 1}) {
    const Json shown = bench.json({"show", std::to_string(columns["id"][row].get<int>())});
    CHECK(genome_at(document, row) == shown["genome"]);
    CHECK(columns["reasons"][columns["reason"][row].get<std::size_t>()].get<std::string>().substr(0, 100) ==
          shown["evaluation"]["reason"].get<std::string>().substr(0, 100));
  }

  // The first screen.
  const Json& best = document["best"];
  CHECK(best["latency_us"] == least);
  CHECK(best["cases"].get<int>() == 8);  // two shapes, two regimes, two seeds
  CHECK(best["shapes"] == Json{"middle", "tiny"});
  CHECK(best["selftest"].is_null());
  CHECK(best["first_valid"]["latency_us"].get<double>() >= least);
  CHECK(document["limits"][0]["relative_l2"] == 0.0001);

  // Curves end at the best; the funnel at the valid ones.
  CHECK(document["by_evaluations"]["at"].back() == 26);
  CHECK(std::abs(document["by_evaluations"]["least"].back().get<double>() / least - 1) < 1e-5);
  CHECK(document["by_seconds"]["runs"].size() == 2);
  std::size_t valid = 0;
  for (const Json& one : outcomes) valid += one["verdict"] == "valid";
  CHECK(document["funnel"].front()["left"] == outcomes.size());
  CHECK(document["funnel"].back()["left"] == valid);
  CHECK(document["families"][0]["valid"].get<std::size_t>() >= valid);

  // The share of the floor: a launch takes 0.5 us and more.
  REQUIRE(document["floors"].size() == 1);
  CHECK(document["floors"][0]["shape"] == "middle");
  CHECK(document["floors"][0]["flops"] == 700);
  const Json& kernel = document["floors"][0]["kernels"][0];
  CHECK(kernel["candidate"] == best["candidate"]);
  CHECK(kernel["share"].get<double>() ==
        document["floors"][0]["floor_us"].get<double>() / kernel["latency_us"].get<double>());
  CHECK(kernel["share"].get<double>() < 1);
  CHECK(document["predictions"]["candidate"].empty());
  CHECK_THAT(document["predictions"]["why_none"].get<std::string>(), ContainsSubstring("cost model's own"));
}

TEST_CASE("the page's lineage has the changed genes, the changed lines and the sources of the best", "[long]") {
  const Bench bench;
  make_hostile_runs(bench);
  const Json lineage = page_document(bench, {"--task", "toy"})["lineage"];
  std::set<int> before, ranks;
  std::size_t changed = 0;
  for (const Json& node : lineage["nodes"]) {
    ranks.insert(node["rank"].get<int>());
    const std::string id = std::to_string(node["candidate"].get<int>());
    const Json shown = bench.json({"show", id});
    CHECK(joined_lines(lineage, node["source"]) == shown["programs"][0]["source"].get<std::string>());
    CHECK(shown["genome"] == node["genome"]);
    if (!node["parent"].is_null()) {
      CHECK(before.contains(node["parent"].get<int>()));
      const Json difference = bench.json({"diff", std::to_string(node["parent"].get<int>()), id});
      CHECK(node["changes"].size() == difference["genes"].size());
      if (!node["source_change"].is_null()) {
        ++changed;
        const std::string ours = joined_lines(lineage, node["source_change"]);
        const std::string theirs = difference["source_diff"];
        CHECK(ours.substr(ours.find("@@")) == theirs.substr(theirs.find("@@")));
      }
    }
    before.insert(node["candidate"].get<int>());
  }
  CHECK(ranks.contains(1));
  CHECK(ranks.contains(2));
  CHECK(changed > 0);
}

TEST_CASE("of measured runs a page predicts the latencies, and has intervals and counted shares", "[long]") {
  const ToyBench bench;
  record_toy_run(bench, "1");
  pretend_measured(bench);
  const Json document = page_document(bench, {"--predict", "5"});
  CHECK(document["timing"] == "measured");
  const Json& predictions = document["predictions"];
  CHECK(predictions["model"] == "vgpu:h200");
  REQUIRE(predictions["candidate"].size() == 5);
  // What was "measured" is what the same model said, of other blocks.
  for (std::size_t i = 0; i < 5; ++i)
    CHECK(std::abs(predictions["predicted_us"][i].get<double>() / predictions["measured_us"][i].get<double>() - 1) <
          0.05);
  CHECK(predictions["rank_correlation"] == 1);
  CHECK(document["best"]["timings"][0]["low_us"].get<double>() < document["best"]["latency_us"].get<double>());
  const Json& counted = document["floors"][0]["kernels"][0]["counted"];
  CHECK(counted["timing"] == "measured");
  CHECK(std::abs(counted["duration_us"].get<double>() / document["best"]["latency_us"].get<double>() - 0.5) < 1e-6);
  CHECK(counted["memory_percent"] == 12.5);
  CHECK(page_document(bench, {"--predict", "0"})["predictions"]["candidate"].empty());

  // A candidate that was timed faster and yet is no elite is not the fastest.
  CHECK(document["best"]["timed_faster"].is_null());
  const Json latencies = document["candidates"]["latency_us"];
  std::size_t slowest = 0;
  for (std::size_t i = 0; i < latencies.size(); ++i)
    if (!latencies[i].is_null() && latencies[i] > latencies[slowest]) slowest = i;
  const Json& lucky = document["candidates"]["id"][slowest];
  SQLite::Database((bench / "runs/evo.db").string(), SQLite::OPEN_READWRITE)
      .exec("UPDATE evaluation SET latency_us = 0.1 WHERE candidate = " + lucky.dump() +
            "; INSERT INTO elite_comparison VALUES (" + lucky.dump() + ", 1, 'slower', 1.5, 1.4, 1.6, 3, '')");
  const Json disputed = page_document(bench, {"--predict", "0"})["best"];
  CHECK(disputed["candidate"] == document["best"]["candidate"]);
  CHECK(disputed["timed_faster"] ==
        Json{{"candidate", lucky},
             {"latency_us", 0.1},
             {"comparison",
              "SLOWER than elite 1: 1.5000 [1.4000, 1.6000] of its latency over 3 rounds, timed in turns"}});

  CHECK(document["rivals"].empty());
  bench.write("rivals.jsonl", R"({"name": "slow", "shape": "middle", "us": 40, "error": 1e-6}
{"name": "fast", "shape": "middle", "us": 0.1, "error": 1e-6}
{"name": "elsewhere", "shape": "large", "us": 1, "error": 1e-6}
)");
  const Json rivals = page_document(bench, {"--predict", "0", "--rivals", "rivals.jsonl"})["rivals"];
  REQUIRE(rivals.size() == 2);
  CHECK(rivals[0] == Json{{"name", "fast"}, {"latency_us", 0.1}, {"error", 1e-6}});
  bench.write("rivals.jsonl", R"({"name": "elsewhere", "shape": "large", "us": 1, "error": 1e-6})");
  check_refused(bench.evo({"report", "-o", "a.html", "--rivals", "rivals.jsonl"}), 2, {"--rivals", "middle"});
}

TEST_CASE("no text of the data can leave its place in the page, and the page asks for no other file", "[long]") {
  const Bench bench;
  make_hostile_runs(bench);
  REQUIRE(bench.evo({"report", "1", "2", "-o", "page.html"}).code == 0);
  const std::string page = bench.read("page.html");
  CHECK(count_of(page, "</script") == 3);
  CHECK(count_of(page, "<script") == 3);
  CHECK(count_of(page, "<!--") == 0);
  CHECK(count_of(page, "<img") == 0);
  CHECK(count_of(page, "</title>") == 1);
  CHECK(count_of(page, "src=") == count_of(page, "src=x onerror"));
  CHECK(count_of(page, "<link") == 0);
  CHECK(count_of(page, "@import") == 0);
  CHECK_THAT(page, ContainsSubstring("default-src 'none'"));
  CHECK_THAT(page, ContainsSubstring("Permission is hereby granted"));  // uPlot's licence
  const std::string begin = "id=\"data\">";
  const std::size_t data = page.find(begin) + begin.size();
  CHECK(Json::parse(page.substr(data, page.find("</script>", data) - data))["task"]["summary"] == kHostile);
}

TEST_CASE("runs of different boards, names without a kind and missing pages are refused in one line") {
  const ToyBench bench;
  record_toy_run(bench, "1");
  REQUIRE(bench.evo({"run", "--task", "toy", "--device", "vgpu", "--evals", "2", "--objective", "accurate", "--quiet"})
              .code == 0);
  check_refused(bench.evo({"report", "1", "2", "-o", "a.html"}), 2, {"run 2", "objective"});
  check_refused(bench.evo({"report", "1", "2"}), 2, {"-o report.html"});
  check_refused(bench.evo({"report", "1", "-o", "a.pdf"}), 2, {"a.pdf", ".html"});
  check_refused(bench.evo({"report", "7", "-o", "a.html"}), 2, {"7"});
  check_refused(bench.evo({"report", "--task", "toi", "-o", "a.html"}), 2, {"toi"});
  check_refused(bench.evo({"report", "1", "-o", "a.html", "--predict", "x"}), 2, {"--predict"});
  check_refused(bench.evo({"report", "1", "-o", "none/a.html"}), 3, {"none/a.html"});
  CHECK(bench.evo({"report", "1", "-o", "a.html", "--json"}).code == 2);
  // The newest run's board alone.
  CHECK(page_document(bench, {"--task", "toy"})["runs"].size() == 1);
}

namespace {

/// page.html of a run whose every candidate is wrong.
void write_page_without_valid_candidate(const Bench& bench) {
  write_toy_task(bench);
  bench.change("templates/toy/plain/family.json", "[false]", "[true]");
  bench.evo({"run", "--task", "toy", "--device", "vgpu", "--evals", "2", "--quiet"});
  REQUIRE(bench.evo({"report", "-o", "page.html"}).code == 0);
}

}  // namespace

TEST_CASE("a run without a valid candidate has a page, too") {
  const Bench bench;
  write_page_without_valid_candidate(bench);
  const Json document = page_document(bench, {});
  CHECK(document["best"].is_null());
  CHECK(document["funnel"].back()["left"] == 0);
  CHECK(document["rejections"].size() == 1);
}

TEST_CASE("a page has the front that its runs keep, and no other") {
  const ToyBench bench;
  const auto page_of = [&](std::vector<std::string> run) {
    std::vector<std::string> toy = {"run",     "--task", "toy",    "--device", "vgpu",
                                    "--evals", "3",      "--seed", "1",        "--quiet"};
    std::ranges::move(run, std::back_inserter(toy));
    REQUIRE(bench.evo(toy).code == 0);
    return page_document(bench, {})["front"];
  };
  CHECK(page_of({}).empty());
  const Json front = page_of({"--pareto", "error"});
  Json kept = Json::array();
  const Json fronts = bench.json({"front", "--task", "toy"});
  for (const Json& elite : fronts.at("kept")) kept.push_back(elite["candidate"]);
  CHECK_FALSE(kept.empty());
  CHECK(front == kept);
}

TEST_CASE("the page works in a browser", "[long]") {
  const Bench bench;
  make_hostile_runs(bench);
  pretend_measured(bench);
  bench.write("rivals.jsonl", R"({"name": "slow </script>", "shape": "middle", "us": 40, "error": 1e-6}
{"name": "elsewhere", "shape": "large", "us": 1, "error": 1e-6}
)");
  REQUIRE(
      bench.evo({"report", "--task", "toy", "--predict", "6", "--rivals", "rivals.jsonl", "-o", "page.html"}).code ==
      0);
  check_in_browser("check_report.py", {bench / "page.html"}, bench / "browser.log");
}

TEST_CASE("the page of a run without a valid candidate works in a browser", "[long]") {
  const Bench bench;
  write_page_without_valid_candidate(bench);
  check_in_browser("check_report.py", {bench / "page.html"}, bench / "browser.log");
}

namespace {

constexpr std::uint64_t kMany = 10'000;

/// A run of fp8_sdpa with many candidates: genomes of its space, real sources along the line of the best ones, reasons
/// as long as compilers' are. $EVO_TEST_PAGE keeps its page.
void make_many(const Bench& bench) {
  const SourceTree tree = cli::load_templates(kTemplates);
  const DeviceInfo device = resolve_device("vgpu:h200");
  RunInfo info;
  info.task = "fp8_sdpa";
  const Task task = load_task(tree, info.task);
  info.task_hash = task.hash;
  info.files = files_of_task(tree, info.task);
  info.device = cli::record_of(device);
  info.target = make_target(task, "vgpu", {}, {});
  add_default_validation(task, "vgpu", info.target);
  info.objective = objective_of(info.target);
  info.strategy = "evolve";
  const Space space = cli::make_space(tree, task, device, info.target, "");
  Store store = Store::open(bench / "many.db", Store::Mode::write);
  const RunId run = store.begin_run(info);
  const auto archive = store.archive(run);
  Rng rng(1);
  std::set<std::string> known;
  double least = 100;
  std::uint64_t best = 0;
  for (std::uint64_t ticket = 0; ticket < kMany;) {
    const Genome genome = space.sample(rng);
    if (!known.insert(to_text(genome)).second) continue;
    const bool improves = ticket % 100 == 0;
    Proposal proposal{ticket, genome, ticket == 0 ? "random" : "mutate_one", {}};
    if (ticket > 0) proposal.parents = {best};
    Candidate candidate{genome, std::vector<Program>(1)};
    Program& program = candidate.programs.front();
    program.source = fmt::format("// {}\n", ticket);
    program.source_hash = hash_of_source(program.source, program.max_registers);
    if (improves)
      candidate = make_candidate(tree, task, space.family(genome.family), genome, info.target, facts_of(device.limits));
    Evaluation evaluation;
    const std::uint64_t kind = improves ? 0 : rng.below(10);
    if (kind < 6) {
      evaluation.verdict = Verdict::valid;
      evaluation.latency_us = improves ? least *= 0.98 : least * (1 + static_cast<double>(rng.below(3000)) * 1e-3);
      evaluation.worst_relative_l2 = 0.001 + 1e-6 * static_cast<double>(rng.below(30'000));
      evaluation.timings.resize(1);
      evaluation.timings.front().shape = info.target.timed.front().name;
      evaluation.timings.front().modelled = true;
      evaluation.timings.front().median_us = evaluation.latency_us;
    } else {
      evaluation.verdict = kind < 8   ? Verdict::wrong_answer
                           : kind < 9 ? Verdict::compile_failed
                                      : Verdict::over_resources;
      evaluation.reason =
          fmt::format("shape small, regime outliers, seed {}: o: relative L2 error {} ", ticket, rng.below(1'000'000));
      while (evaluation.reason.size() < (kind < 8 ? 400U : 3000U))
        evaluation.reason += fmt::format("row {} ", rng.below(100'000));
    }
    archive->record(proposal, candidate, evaluation);
    if (improves) best = ticket;
    ++ticket;
  }
  store.finish_run(run, RunStatus::finished);
}

}  // namespace

TEST_CASE("a page of ten thousand candidates is smaller than 5 MB and works in a browser", "[sweep]") {
  const Bench bench;
  make_many(bench);
  const Outcome outcome = bench.evo({"report", "-o", "page.html", "--db", "many.db"});
  REQUIRE(outcome.code == 0);
  CHECK_THAT(outcome.out, ContainsSubstring("10,000 candidates"));
  CHECK(std::filesystem::file_size(bench / "page.html") < 5'000'000);
  if (const char* kept = std::getenv("EVO_TEST_PAGE"))
    std::filesystem::copy_file(bench / "page.html", kept, std::filesystem::copy_options::overwrite_existing);
  const Json document = page_document(bench, {"--db", "many.db"});
  CHECK(document["candidates"]["id"].size() == kMany);
  CHECK(document["lineage"]["nodes"].size() >= 100);
  check_in_browser("check_report.py", {bench / "page.html"}, bench / "browser.log");
}
