// Pages of `evo report --all`, of imported runs, and what pages say of fronts, language models and genes.
#include "cli/report/index_page.h"

#include <SQLiteCpp/SQLiteCpp.h>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "browser_check.h"
#include "cli/text/scatter_svg.h"
#include "population/store/store.h"
#include "tests/cli/bench.h"

using namespace evo;
using namespace evo::testing;
using Catch::Matchers::ContainsSubstring;

namespace {

using Json = nlohmann::json;

void run_toy(const Bench& bench, const std::string& seed, std::vector<std::string> more = {}) {
  more.insert(more.begin(), {"run", "--task", "toy", "--device", "vgpu", "--evals", "8", "--seed", seed, "--quiet"});
  REQUIRE(bench.evo(more).code == 0);
}

Json data_of(const std::string& page) {
  const std::string begin = "id=\"data\">";
  const std::size_t at = page.find(begin) + begin.size();
  return Json::parse(page.substr(at, page.find("</script>", at) - at));
}

Json index_document(const Bench& bench, std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "report");
  arguments.insert(arguments.end(), {"-o", "data.json"});
  const Outcome outcome = bench.evo(arguments);
  REQUIRE(outcome.code == 0);
  return Json::parse(bench.read("data.json"));
}

/// Two databases: one with two runs that compete and one of another objective, one with an imported run.
void make_databases(const Bench& bench) {
  write_toy_task(bench);
  run_toy(bench, "1");
  run_toy(bench, "2");
  run_toy(bench, "3", {"--objective", "accurate"});
  REQUIRE(bench.evo({"export", "--format", "t4", "--run", "1", "-o", "sweep.json"}).code == 0);
  REQUIRE(bench.evo({"import", "sweep.json", "--db", "imported.db"}).code == 0);
}

}  // namespace

TEST_CASE("evo report --all writes a page for each run and each ranking, and an index over all databases", "[long]") {
  const Bench bench;
  make_databases(bench);
  const Outcome outcome =
      bench.evo({"report", "--all", "runs/evo.db", "imported.db", "runs/../imported.db", "-o", "site"});
  CHECK(outcome.code == 0);
  CHECK_THAT(outcome.out, ContainsSubstring("site/index.html: 2 databases, 4 runs, 1 ranking"));
  CHECK(outcome.err.empty());
  const Json index = data_of(bench.read("site/index.html"));
  REQUIRE(index["runs"].size() == 4);
  CHECK(index["boards"].size() == 3);
  CHECK(index["databases"] == Json{"imported.db", "runs/evo.db"});
  for (const Json& run : index["runs"]) {
    const Json page = data_of(bench.read("site/" + run["page"].get<std::string>()));
    CHECK(page["runs"].size() == 1);
    CHECK(page["runs"][0]["id"] == run["id"]);
    CHECK(page["candidates"]["id"].size() == run["evaluated"]);
    CHECK(page["index"] == "../index.html");
  }
  for (const Json& board : index["boards"]) {
    const Json page = data_of(bench.read("site/" + board["page"].get<std::string>()));
    CHECK(page["runs"].size() == board["runs"].size());
    if (!board["best_us"].is_null()) CHECK(page["best"]["latency_us"].get<double>() > 0);
  }
}

TEST_CASE("a run whose page cannot be made stands in the index with the reason") {
  const ToyBench bench;
  run_toy(bench, "1");
  SQLite::Database((bench / "runs/evo.db").string(), SQLite::OPEN_READWRITE)
      .exec("DELETE FROM task_file WHERE path LIKE '%task.json'");
  const Outcome outcome = bench.evo({"report", "--all", "-o", "site"});
  const Json index = data_of(bench.read("site/index.html"));
  REQUIRE(index["runs"].size() == 1);
  CHECK(index["runs"][0]["page"] == "");
  CHECK(index["runs"][0]["problem"] != "");
  CHECK_THAT(outcome.err, ContainsSubstring("run 1"));
}

TEST_CASE("what --all cannot do is refused in one line") {
  const ToyBench bench;
  run_toy(bench, "1");
  check_refused(bench.evo({"report", "--all"}), 2, {"--all", "-o DIR"});
  check_refused(bench.evo({"report", "--all", "none.db", "-o", "site"}), 2, {"none.db"});
  check_refused(bench.evo({"report", "-o", "a.html", "--explain", "4"}), 2, {"--explain"});
  check_refused(bench.evo({"report", "1", "--all", "-o", "site"}), 2, {"1"});
  check_refused(bench.evo({"report", "--task", "toy", "--all", "-o", "site"}), 2, {"--all", "--task"});
  bench.write("taken", "");
  CHECK(bench.evo({"report", "--all", "-o", "taken"}).code == 3);
}

TEST_CASE("an imported run has a page, a report and exports", "[long]") {
  const Bench bench;
  make_databases(bench);
  const Json own = index_document(bench, {"1", "--explain", "0"});
  const Json document = index_document(bench, {"--db", "imported.db"});
  CHECK(document["imported"] == true);
  CHECK(document["task"]["name"] == "toy");
  CHECK(document["candidates"]["latency_us"].size() == own["candidates"]["id"].size());
  CHECK(std::abs(document["best"]["latency_us"].get<double>() / own["best"]["latency_us"].get<double>() - 1) < 1e-3);
  REQUIRE(document["families"].size() == 1);
  // A duplicate was written with its original's result.
  CHECK(document["families"][0]["valid"] >= own["families"][0]["valid"]);
  CHECK(document["floors"].empty());
  CHECK_THAT(document["explanations"]["why_none"].get<std::string>(), ContainsSubstring("imported"));
  CHECK_THAT(document["predictions"]["why_none"].get<std::string>(), ContainsSubstring("imported"));
  REQUIRE(bench.evo({"report", "-o", "page.html", "--db", "imported.db"}).code == 0);
  CHECK_THAT(bench.evo({"report", "--db", "imported.db"}).out, ContainsSubstring("best so far"));
  for (const char* format : {"csv", "t4", "kerneltuner"}) {
    INFO(format);
    REQUIRE(bench.evo({"export", "--format", format, "--db", "imported.db", "-o", "again"}).code == 0);
    REQUIRE(bench.evo({"export", "--format", format, "--run", "1", "-o", "first"}).code == 0);
    if (std::string(format) == "csv") CHECK(bench.read("again").size() > 100);
  }
}

TEST_CASE("a page names the front that its board keeps") {
  const ToyBench bench;
  run_toy(bench, "1");
  CHECK(index_document(bench, {"--explain", "0"})["front"].empty());
  run_toy(bench, "2", {"--objective", "accurate", "--pareto", "error"});
  const Json front = index_document(bench, {"--explain", "0"})["front"];
  REQUIRE(!front.empty());
  const Json kept = bench.json({"report", "2"})["front"];
  REQUIRE(front.size() == kept.size());
  for (std::size_t i = 0; i < kept.size(); ++i) CHECK(front[i] == kept[i]["candidate"]);
}

TEST_CASE("a page has what a language model was asked and what it answered, each line once") {
  const ToyBench bench;
  run_toy(bench, "1");
  {
    Store store = Store::open(bench / "runs/evo.db", Store::Mode::write);
    ExchangeRecord exchange;
    exchange.model = "tiny";
    exchange.prompt = "same\nfirst";
    exchange.answer = "{}";
    exchange.prompt_tokens = 11;
    store.record_exchange(1, exchange);
    exchange.prompt = "same\nsecond";
    exchange.failure = "no JSON";
    store.record_exchange(1, exchange);
  }
  SQLite::Database((bench / "runs/evo.db").string(), SQLite::OPEN_READWRITE)
      .exec("INSERT INTO exchange_candidate SELECT 2, id FROM exchange LIMIT 1");
  const Json exchanges = index_document(bench, {"--explain", "0"})["exchanges"];
  REQUIRE(exchanges["list"].size() == 2);
  const Json& first = exchanges["list"][0];
  CHECK(first["model"] == "tiny");
  CHECK(first["prompt_tokens"] == 11);
  CHECK(first["candidates"] == Json{2});
  CHECK(exchanges["list"][1]["failure"] == "no JSON");
  CHECK(first["prompt"][0] == exchanges["list"][1]["prompt"][0]);
  CHECK(exchanges["lines"][first["prompt"][1].get<std::size_t>()] == "first");
}

TEST_CASE("a page explains the modelled time of the fastest kernels that were asked for") {
  const ToyBench bench;
  run_toy(bench, "1");
  const Json none = index_document(bench, {"--explain", "0"})["explanations"];
  CHECK(none["kernels"].empty());
  CHECK_THAT(none["why_none"].get<std::string>(), ContainsSubstring("--explain"));
  const Json document = index_document(bench, {});
  const Json& kernels = document["explanations"]["kernels"];
  REQUIRE(kernels.size() == 1);
  CHECK(kernels[0]["candidate"] == document["best"]["candidate"]);
  const Json& shape = kernels[0]["shapes"][0];
  CHECK(std::abs(shape["modelled_us"].get<double>() / document["best"]["latency_us"].get<double>() - 1) < 1e-5);
  const Json& launch = shape["launches"][0];
  CHECK(launch["stalls"].size() > 3);
  REQUIRE_FALSE(launch["lines"].empty());
  const Json& dearest = launch["lines"][0];
  CHECK(dearest["text"].get<std::string>().find('=') != std::string::npos);  // Of the kernel's body.
  CHECK_THAT(dearest["place"].get<std::string>(), ContainsSubstring("toy/plain/kernel.cu:"));
  double line_time = 0, all = 0;
  for (const auto& [stall, share] : dearest["stalls"].items()) line_time += share.get<double>();
  for (const Json& line : launch["lines"]) all += line["share"].get<double>();
  CHECK(std::abs(line_time - dearest["share"].get<double>()) < 1e-9);
  CHECK((all > 0.5 && all < 1 + 1e-9));
  CHECK(document["floors"][0]["memory_bytes_per_s"].get<double>() > 1e12);
}

TEST_CASE("the worth of a gene is not stated where no two valid candidates differ in it alone") {
  const ToyBench bench;
  REQUIRE(bench
              .evo({"run", "--task", "toy", "--device", "vgpu", "--strategy", "random", "--evals", "12", "--seed", "1",
                    "--quiet"})
              .code == 0);
  const Json families = bench.json({"report"})["families"];
  const std::string text = bench.evo({"report"}).out;
  for (const Json& gene : families[0]["genes"]) {
    if (gene["alleles"].size() < 2) continue;
    const std::string line = text.substr(text.find("\n  " + gene["gene"].get<std::string>()) + 1);
    INFO(line.substr(0, line.find('\n')));
    CHECK((line.substr(0, line.find('\n')).find(" % ") != std::string::npos) ==
          (gene["pairs"] > 0 && gene["importance"] > 0));
  }
}

TEST_CASE("a front is drawn as steps: no kernel is as fast at an error between two points") {
  const std::string svg = cli::scatter_svg(
      {{.title = "t", .series = {{.name = "front", .note = "", .points = {{4, 1}, {2, 3}, {1, 9}}, .stepped = true}}}},
      {.x_label = "x", .y_label = "y", .same_scale = false});
  const std::size_t at = svg.find("<path fill='none' stroke='#0b62a4' d='M");
  REQUIRE(at != std::string::npos);
  const std::string path = svg.substr(at, svg.find("/>", at) - at);
  CHECK(std::ranges::count(path, 'V') == 2);
  CHECK(std::ranges::count(path, 'H') == 2);
  CHECK(path.find('L') == std::string::npos);
}

TEST_CASE("the index works in a browser, and leads to pages and back", "[long]") {
  const Bench bench;
  make_databases(bench);
  REQUIRE(bench.evo({"report", "--all", "runs/evo.db", "imported.db", "-o", "site"}).code == 0);
  check_in_browser("check_index.py", {bench / "site/index.html"}, bench / "browser.log");
}
