// How a language model is found at the start of a run, and how its session is recorded and repeated.
#include <set>

#include "tests/cli/bench.h"
#include "tests/cli/run/llm_server.h"

using namespace evo::testing;

namespace {

using Json = nlohmann::json;

Outcome run_at(const Bench& bench, const std::string& url, std::vector<std::string> more = {}) {
  std::vector<std::string> arguments = {"run", "--task",    "toy", "--device",    "vgpu",   "--evals",
                                        "16",  "--seed",    "1",   "--db",        "run.db", "--llm",
                                        "m-1", "--llm-url", url,   "--llm-share", "50"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  ProcessOptions options;
  options.environment = {{"EVO_LLM_KEY", kLlmTestKey}, {"no_proxy", "127.0.0.1"}};
  return bench.evo(arguments, options);
}

void check_fails_at_once(const Bench& bench, const std::string& url, const std::vector<std::string>& parts) {
  const Outcome outcome = run_at(bench, url);
  check_refused(outcome, 3, parts);
  CHECK(!holds(outcome.err, kLlmTestKey));
  CHECK(!std::filesystem::exists(bench / "run.db"));
}

const Json kTile = {{"note", "a larger tile"}, {"genome", {{"like", 0}, {"genes", {{"threads", 256}}}}}};

}  // namespace

TEST_CASE("a wrong address, key or model of a language model ends a run at its start, in one line") {
  const ToyBench bench;
  check_fails_at_once(bench, "http://127.0.0.1:1",
                      {"--llm m-1", "no server at http://127.0.0.1:1/v1/chat/completions"});
  const auto check_mode = [&](const std::string& mode, const std::vector<std::string>& parts) {
    INFO(mode);
    const LlmServer server(bench, mode);
    if (mode == "redirect") bench.write(server.folder() + "/location", "http://127.0.0.1:1/");
    check_fails_at_once(bench, server.url(), parts);
  };
  check_mode("refuses", {"refuses the key (401: wrong key: Bearer ***)", "EVO_LLM_KEY"});
  check_mode("no_model", {"knows no such model or address (404: the model 'm-1' does not exist)"});
  check_mode("no_completion", {"answers something else than chat completions"});
  check_mode("redirect", {"answered 307"});
}

TEST_CASE("each model is asked for one word at the start, and a busy server is there") {
  const ToyBench bench;
  const LlmServer server(bench, "busy");
  const Outcome outcome = run_at(bench, server.url());
  CHECK(outcome.code == 0);
  CHECK(holds(outcome.err, "the server answered 429: too many requests; asked again in 1 min 17 s"));
  REQUIRE(server.requests("greetings").size() == 1);
  CHECK(server.requests("greetings")[0]["body"]["max_tokens"] == 16);
  CHECK(server.requests().size() == 1);
}

TEST_CASE("a base with a path of its own is tried as it is, then with /v1", "[long]") {
  const ToyBench bench;
  for (const char* base : {"/api", "/api/v1", "/api/v1/chat/completions"}) {
    INFO(base);
    const LlmServer server(bench, "under_path", {Json::array({kTile})});
    const Outcome outcome = run_at(bench, server.url() + base);
    CHECK(outcome.code == 0);
    REQUIRE(!server.requests().empty());
    CHECK(server.requests().back()["path"] == "/api/v1/chat/completions");
    CHECK(holds(outcome.out, "model m-1: "));
    std::filesystem::remove(bench / "run.db");
    std::filesystem::remove_all(bench / server.folder());
  }
}

TEST_CASE("several models of a server are asked, with the temperature that was named") {
  const ToyBench bench;
  const LlmServer server(bench, "well", {Json::array({kTile}), Json::array({{{"genome", {{"like", 0}}}}})});
  ProcessOptions options;
  options.environment = {{"no_proxy", "127.0.0.1"}};
  const Outcome outcome =
      bench.evo({"run", "--task", "toy", "--device", "vgpu", "--evals", "16", "--seed", "1", "--llm", "m-1,m-2",
                 "--llm-url", server.url(), "--llm-share", "50", "--llm-temperature", "0.5", "--db", "run.db"},
                options);
  CHECK(outcome.code == 0);
  std::set<std::string> models;
  for (const Json& request : server.requests()) {
    models.insert(request["body"]["model"].get<std::string>());
    CHECK(request["body"]["temperature"] >= 0.5);
  }
  CHECK(models == std::set<std::string>{"m-1", "m-2"});
  CHECK(server.requests("greetings").size() == 2);
}

TEST_CASE("a model that repeats a refused genome is asked something else, then left alone until there is a new best") {
  const ToyBench bench;
  const Json illegal = {{"note", "again"}, {"genome", {{"like", 0}, {"genes", {{"threads", 4096}}}}}};
  const LlmServer server(bench, "well", {Json::array({illegal})});
  const Outcome outcome = run_at(bench, server.url(), {"--llm-refusals", "5"});
  CHECK(outcome.code == 0);
  CHECK(holds(outcome.err, "3 answers of m-1 were alike; it is asked something else"));
  CHECK(holds(outcome.err, "refused proposals without a candidate (--llm-refusals)"));
  CHECK(holds(server.prompts(), "Your last answers were alike"));
  CHECK(holds(server.prompts(), "4096"));
  CHECK(server.requests().size() < 12);
}

TEST_CASE("a recorded session is repeated without its server, and holds no key") {
  const ToyBench bench;
  {
    const LlmServer server(bench, "well", {Json::array({kTile}), Json::array({{{"genome", {{"like", 77}}}}})});
    CHECK(run_at(bench, server.url(), {"--llm-record", "session.jsonl"}).code == 0);
    CHECK(run_at(bench, server.url(), {"--llm-record", "refused.jsonl", "--shapes", "nowhere"}).code == 2);
    CHECK(!std::filesystem::exists(bench / "refused.jsonl"));
  }
  const std::string record = bench.read("session.jsonl");
  CHECK(!holds(record, kLlmTestKey));
  const Outcome again = bench.evo({"llm", "--replay", "session.jsonl"});
  INFO(again.out << again.err);
  CHECK(again.code == 0);
  CHECK(holds(again.out, "1  m-1: "));
  CHECK(holds(again.out, "a larger tile"));
  CHECK(holds(again.out, "as they were recorded"));

  // What the model has answered was changed.
  std::string changed = record;
  const std::size_t at = changed.find("a larger tile", changed.find("\"reply\""));
  REQUIRE(at != std::string::npos);
  changed.replace(at, 13, "another tile!");
  bench.write("changed.jsonl", changed);
  const Outcome other = bench.evo({"llm", "--replay", "changed.jsonl"});
  CHECK(other.code == 1);
  CHECK(holds(other.out, "differ from the record"));

  check_refused(run_at(bench, "http://127.0.0.1:1", {"--llm-record", "session.jsonl"}), 3, {"no server"});
  bench.write("wrong.jsonl", "{\"at\": 1}\n");
  check_refused(bench.evo({"llm", "--replay", "wrong.jsonl"}), 2, {"wrong.jsonl:1: ", "does not begin with"});
  bench.write("no.jsonl", "nothing");
  check_refused(bench.evo({"llm", "--replay", "no.jsonl"}), 2, {"no.jsonl:1: no line of a session"});
}

TEST_CASE("a file of proposals is evaluated alone, beginning with candidates of a run, and refusals are told") {
  const Bench bench;
  write_toy_with_slot(bench);
  REQUIRE(
      bench.evo({"run", "--task", "toy", "--device", "vgpu", "--evals", "6", "--seed", "1", "--db", "run.db"}).code ==
      0);
  const Json patch = {
      {"patch", {{{"file", "rendered"}, {"find", "__global__"}, {"replace", "__launch_bounds__(256) __global__"}}}},
      {"genome", {{"like", 5}}}};
  const Json unfit = {{"patch", {{{"file", "include/none.cuh"}, {"find", "a"}, {"replace", "b"}}}},
                      {"genome", {{"like", 0}}}};
  bench.write("proposals.json", Json{{"proposals", {patch, unfit, kTile}}}.dump());
  const Outcome outcome =
      bench.evo({"run", "--resume", "1", "--proposals", "proposals.json", "--db", "run.db", "--json"});
  INFO(outcome.out << outcome.err);
  REQUIRE(outcome.code == 0);
  CHECK(holds(outcome.err, "the proposals of proposals.json"));
  CHECK(holds(outcome.err, "refused: "));
  const Json document = Json::parse(outcome.out);
  CHECK(document["exhausted"] == false);
  REQUIRE(document["proposed"].size() == 2);
  for (const Json& one : document["proposed"]) CHECK((one["verdict"] == "valid" || one["verdict"] == "duplicate"));
  const Json shown = bench.json({"show", document["proposed"][0]["candidate"].dump(), "--db", "run.db"});
  CHECK(shown["genome"]["family"].get<std::string>().starts_with("patch_"));
  REQUIRE(document["refused"].size() == 1);
  CHECK(holds(document["refused"][0]["why"], "there is no file toy/plain/include/none.cuh"));
  for (const auto& row : outcomes(bench, "run.db")) CHECK((row["ticket"] < 6 || row["op"] == "proposer"));
  check_refused(bench.evo({"run", "--task", "toy", "--proposals", "none.json"}), 2, {"none.json"});
  bench.write("wrong.json", "[]");
  check_refused(bench.evo({"run", "--task", "toy", "--proposals", "wrong.json"}), 2,
                {"--proposals wrong.json: expected"});
  check_refused(bench.evo({"run", "--task", "toy", "--proposals", "proposals.json", "--proposer", "cat"}), 2,
                {"leave out --proposer and --llm"});
}
