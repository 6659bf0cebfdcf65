// evo mcp: a client that speaks the Model Context Protocol, in both of its forms, well and badly.
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <memory>

#include "evaluator/worker/process.h"
#include "tests/cli/bench.h"

using namespace evo::testing;

namespace {

using Json = nlohmann::json;

const Json kModernMeta = {{"io.modelcontextprotocol/protocolVersion", "2026-07-28"},
                          {"io.modelcontextprotocol/clientCapabilities", Json::object()}};

/// A client of `evo mcp` in a bench's folder.
class Client {
 public:
  explicit Client(const Bench& bench, const std::string& templates = "templates") {
    evo::SocketPair sockets = evo::make_socket_pair();
    const std::string command = "cd " + bench.folder().string() +
                                " && exec " EVO_BINARY " mcp --device vgpu --most-time 5m --templates " + templates +
                                " <&3 >&3";
    process_ = std::make_unique<evo::Process>(std::vector<std::string>{"/bin/sh", "-c", command}, sockets.theirs.get(),
                                              2, std::vector<std::string>{"EVO_CHECK_TIME=0", "CUDA_VISIBLE_DEVICES="});
    socket_ = std::move(sockets.ours);
  }

  void send_line(const std::string& line) {
    const std::string text = line + "\n";
    REQUIRE(::write(socket_.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size()));
  }
  void send(const Json& message) { send_line(message.dump()); }
  void request(const Json& id, const std::string& method, const Json& params = Json::object()) {
    send({{"jsonrpc", "2.0"}, {"id", id}, {"method", method}, {"params", params}});
  }

  /// The next message.
  Json receive() {
    while (received_.find('\n') == std::string::npos) {
      char buffer[1 << 16];
      const ssize_t count = ::read(socket_.get(), buffer, sizeof buffer);
      REQUIRE(count > 0);
      received_.append(buffer, static_cast<std::size_t>(count));
    }
    const std::size_t end = received_.find('\n');
    const Json message = Json::parse(received_.substr(0, end));
    received_.erase(0, end + 1);
    CHECK(message["jsonrpc"] == "2.0");
    return message;
  }
  /// The answer to a request; what else comes meanwhile is kept.
  Json answer_to(const Json& id) {
    for (Json message = receive();; message = receive()) {
      if (message.contains("id") && message["id"] == id) return message;
      others.push_back(message);
    }
  }
  Json ask(const Json& id, const std::string& method, const Json& params = Json::object()) {
    request(id, method, params);
    return answer_to(id);
  }
  Json call(const Json& id, const std::string& tool, const Json& arguments = Json::object()) {
    return ask(id, "tools/call", {{"name", tool}, {"arguments", arguments}});
  }
  void initialize() {
    ask("i", "initialize", {{"protocolVersion", "2025-06-18"}, {"capabilities", Json::object()}});
    send({{"jsonrpc", "2.0"}, {"method", "notifications/initialized"}});
  }
  /// Closes the input, and waits for the end.
  evo::ExitStatus close() {
    ::shutdown(socket_.get(), SHUT_WR);
    const auto ended = process_->wait(std::chrono::minutes(2));
    REQUIRE(ended);
    return *ended;
  }

  std::vector<Json> others;

 private:
  std::unique_ptr<evo::Process> process_;
  evo::UniqueFd socket_;
  std::string received_;
};

std::string text_of(const Json& answer) {
  return answer["result"]["content"][0]["text"].get<std::string>();
}

}  // namespace

TEST_CASE("an agent's client initializes, lists the tools with their schemas, pings, and ends the server") {
  const ToyBench bench;
  Client client(bench);
  const Json begun = client.ask(1, "initialize",
                                {{"protocolVersion", "2025-06-18"},
                                 {"capabilities", Json::object()},
                                 {"clientInfo", {{"name", "c"}, {"version", "1"}}}});
  CHECK(begun["result"]["protocolVersion"] == "2025-06-18");
  CHECK(begun["result"]["capabilities"].contains("tools"));
  CHECK(begun["result"]["serverInfo"]["name"] == "evo");
  client.send({{"jsonrpc", "2.0"}, {"method", "notifications/initialized"}});
  CHECK(client.ask("p", "ping")["result"] == Json::object());
  const Json tools = client.ask(2, "tools/list")["result"]["tools"];
  std::vector<std::string> names;
  for (const Json& tool : tools) {
    names.push_back(tool["name"]);
    CHECK(tool["inputSchema"]["type"] == "object");
    CHECK(!tool["description"].get<std::string>().empty());
    for (const auto& [name, schema] : tool["inputSchema"]["properties"].items()) CHECK(schema.contains("description"));
  }
  CHECK(names == std::vector<std::string>{"tasks", "run", "elites", "show", "diagnose", "model", "propose"});
  const evo::ExitStatus ended = client.close();
  CHECK(ended.code == 0);
  CHECK(ended.signal == 0);
}

TEST_CASE("an unknown version of the protocol is answered with one that is spoken") {
  const ToyBench bench;
  Client client(bench);
  CHECK(client.ask(1, "initialize", {{"protocolVersion", "1999-01-01"}})["result"]["protocolVersion"] == "2025-11-25");
  CHECK(client.ask(2, "initialize", Json::object())["error"]["code"] == -32602);
}

TEST_CASE("requests that stand for themselves are served without a handshake") {
  const ToyBench bench;
  Client client(bench);
  const Json found = client.ask(1, "server/discover", {{"_meta", kModernMeta}})["result"];
  CHECK(found["supportedVersions"][0] == "2026-07-28");
  CHECK(found["resultType"] == "complete");
  CHECK(found["_meta"]["io.modelcontextprotocol/serverInfo"]["name"] == "evo");
  const Json listed = client.ask(2, "tools/list", {{"_meta", kModernMeta}})["result"];
  CHECK(listed["tools"].size() == 7);
  CHECK(listed["cacheScope"] == "public");
  Json params = {{"name", "elites"}, {"arguments", Json::object()}, {"_meta", kModernMeta}};
  CHECK(client.ask(3, "tools/call", params)["result"]["resultType"] == "complete");
  Json wrong = kModernMeta;
  wrong["io.modelcontextprotocol/protocolVersion"] = "2030-01-01";
  const Json refused = client.ask(4, "tools/list", {{"_meta", wrong}})["error"];
  CHECK(refused["code"] == -32022);
  CHECK(refused["data"]["supported"][0] == "2026-07-28");
  CHECK(client.ask(5, "tools/list")["error"]["code"] == -32600);
  CHECK(client.ask(6, "ping", {{"_meta", kModernMeta}})["error"]["code"] == -32601);
}

TEST_CASE("messages that are none get an error each, and the server goes on") {
  const ToyBench bench;
  Client client(bench);
  const auto code_of = [&](const std::string& line) {
    client.send_line(line);
    return client.receive()["error"]["code"].get<int>();
  };
  CHECK(code_of("no JSON") == -32700);
  CHECK(code_of("{") == -32700);
  CHECK(code_of("[]") == -32600);
  CHECK(code_of("7") == -32600);
  CHECK(code_of(R"({"id": 1, "method": "ping"})") == -32600);
  CHECK(code_of(R"({"jsonrpc": "2.0", "id": null, "method": "ping"})") == -32600);
  CHECK(code_of(R"({"jsonrpc": "2.0", "id": {}, "method": "ping"})") == -32600);
  CHECK(code_of(R"({"jsonrpc": "2.0", "id": 1, "method": 7})") == -32600);
  CHECK(code_of(R"({"jsonrpc": "2.0", "id": 1})") == -32600);
  CHECK(code_of(R"({"jsonrpc": "2.0", "id": 1, "method": "ping", "params": []})") == -32602);
  CHECK(code_of(R"({"jsonrpc": "2.0", "id": 1, "method": "resources/list"})") == -32601);
  CHECK(code_of(std::string(200, '[')) == -32600);
  CHECK(code_of(std::string(17 << 20, 'x')) == -32600);
  // Neither notifications nor answers are answered.
  client.send_line(R"({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 99}})");
  client.send_line(R"({"jsonrpc": "2.0", "method": "notifications/cancelled"})");
  client.send_line(R"({"jsonrpc": "2.0", "id": 4, "result": {}})");
  client.send_line("");
  CHECK(client.ask(5, "ping")["result"] == Json::object());
}

TEST_CASE("an agent searches with progress, reads what was found, and proposes kernels that pass the same gates",
          "[long]") {
  const Bench bench;
  write_toy_with_slot(bench);
  Client client(bench);
  client.initialize();
  CHECK(holds(text_of(client.call(1, "tasks")), "\"toy\""));
  client.request(2, "tools/call",
                 {{"name", "run"},
                  {"arguments", {{"task", "toy"}, {"evals", 20}, {"seed", 1}}},
                  {"_meta", {{"progressToken", "t"}}}});
  const Json run = client.answer_to(2)["result"];
  CHECK(run["isError"] == false);
  CHECK(run["structuredContent"]["run"]["evaluated"] == 20);
  CHECK(Json::parse(run["content"][0]["text"].get<std::string>()) == run["structuredContent"]);
  double last = 0;
  CHECK(!client.others.empty());
  for (const Json& progress : client.others) {
    CHECK(progress["method"] == "notifications/progress");
    CHECK(progress["params"]["progressToken"] == "t");
    CHECK(progress["params"]["progress"].get<double>() > last);
    CHECK(progress["params"]["total"] == 20);
    last = progress["params"]["progress"];
  }
  const Json elites = client.call(3, "elites", {{"task", "toy"}})["result"]["structuredContent"]["elites"];
  REQUIRE(!elites.empty());
  const int best = elites[0]["candidate"];
  CHECK(client.call(4, "show", {{"candidate", best}})["result"]["structuredContent"]["evaluation"]["verdict"] ==
        "valid");
  CHECK(holds(text_of(client.call(5, "model", {{"candidate", best}, {"explain", true}})), "busiest SM"));
  CHECK(client.call(6, "model", {{"candidate", best}})["result"]["structuredContent"]["shapes"].is_array());
  CHECK(client.call(7, "diagnose", {{"candidate", best}})["result"].contains("isError"));

  const Json quick = {{"note", "sums at once"},
                      {"slot",
                       {{"family", "plain"},
                        {"gene", "sum"},
                        {"allele", "quick"},
                        {"text", "if (i${item} < N) c[i${item}] = a[i${item}] + b[i${item}];\n"}}},
                      {"genome", {{"like", 0}, {"genes", {{"sum", "quick"}}}}}};
  Json wrong = quick;
  wrong["slot"]["allele"] = wrong["genome"]["genes"]["sum"] = "wrong";
  wrong["slot"]["text"] = "if (i${item} < N) c[i${item}] = a[i${item}] - b[i${item}];\n";
  const Json refused = {{"genome", {{"like", 0}, {"genes", {{"threads", 4096}}}}}};
  const Json result = client.call(8, "propose", {{"run", 1}, {"proposals", {quick, wrong, refused}}})["result"];
  INFO(result.dump());
  REQUIRE(result["isError"] == false);
  const Json& document = result["structuredContent"];
  REQUIRE(document["proposed"].size() == 2);
  CHECK(document["proposed"][0]["verdict"] == "valid");
  CHECK(document["proposed"][1]["verdict"] == "wrong_answer");
  REQUIRE(document["refused"].size() == 1);
  CHECK(holds(document["refused"][0].dump(), "4096"));
  CHECK(document["run"]["evaluated"] == 22);
}

TEST_CASE("arguments that a tool does not take are results that say so, and name no file and no option") {
  const ToyBench bench;
  Client client(bench);
  client.initialize();
  const auto error_of = [&](const std::string& tool, const Json& arguments) {
    const Json answer = client.call("e", tool, arguments);
    CHECK(answer["result"]["isError"] == true);
    return text_of(answer);
  };
  CHECK(holds(error_of("show", Json::object()), "candidate: it is missing"));
  CHECK(holds(error_of("show", {{"candidate", "--help"}}), "candidate: expected a whole number"));
  CHECK(holds(error_of("show", {{"candidate", 1}, {"db", "/etc/passwd"}}), "show takes no 'db'"));
  CHECK(holds(error_of("show", {{"candidate", 7}}), "runs/evo.db"));
  CHECK(holds(error_of("run", {{"evals", 3}}), "task: it is missing"));
  CHECK(holds(error_of("run", {{"task", "nothing"}, {"evals", 3}}), "nothing"));
  CHECK(holds(error_of("run", {{"task", "toy"}, {"time", "6h"}}), "time: at most 5m here"));
  CHECK(holds(error_of("propose", {{"task", "toy"}, {"proposals", Json::array()}}), "1 to 64 proposals"));
  CHECK(holds(error_of("run", {{"task", {"toy"}}}), "task: expected a string"));
  CHECK(client.call(2, "rm", Json::object())["error"]["code"] == -32602);
  CHECK(client.ask(3, "tools/call", Json::object())["error"]["code"] == -32602);
}

TEST_CASE("a search that an agent cancels ends cleanly and is not answered, and so do those of a client that leaves") {
  const Bench bench;
  {
    Client client(bench, kTemplates);
    client.initialize();
    const Json search = {{"name", "run"},
                         {"arguments", {{"task", "rms_norm"}, {"time", "5m"}, {"seed", 1}}},
                         {"_meta", {{"progressToken", 1}}}};
    client.request(1, "tools/call", search);
    CHECK(client.receive()["method"] == "notifications/progress");
    client.send({{"jsonrpc", "2.0"}, {"method", "notifications/cancelled"}, {"params", {{"requestId", 1}}}});
    CHECK(client.ask(2, "ping")["result"] == Json::object());
    for (const Json& other : client.others) CHECK(other["method"] == "notifications/progress");
    CHECK(client.close().code == 0);
  }
  const Json runs = bench.json({"runs"})["runs"];
  REQUIRE(runs.size() == 1);
  CHECK(runs[0]["status"] != "running");
}
