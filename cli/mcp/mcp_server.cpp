#include "cli/mcp/mcp_server.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <utility>

#include "cli/mcp/tool_call.h"
#include "cli/text/exit_code.h"
#include "cli/text/json_members.h"
#include "cli/text/json_text.h"
#include "engine/base/error.h"
#include "engine/base/json_depth.h"

namespace evo::cli {
namespace {

constexpr std::size_t kLongestMessage = 16 << 20;  // bytes
constexpr std::size_t kMostCalls = 8;              // under way
constexpr const char* kModern = "2026-07-28";
constexpr std::array<const char*, 4> kOlder = {"2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"};
constexpr const char* kVersionKey = "io.modelcontextprotocol/protocolVersion";
constexpr const char* kCapabilitiesKey = "io.modelcontextprotocol/clientCapabilities";
constexpr const char* kServerKey = "io.modelcontextprotocol/serverInfo";
constexpr const char* kInstructions =
    "evo searches for fast, correct CUDA kernels. tasks lists what can be computed; run searches; elites, show and "
    "model "
    "say what was found and where its time goes; propose evaluates kernels of your own by the same checks.";

enum Code : int {
  kParseError = -32700,
  kInvalidRequest = -32600,
  kNoMethod = -32601,
  kInvalidParams = -32602,
  kWrongVersion = -32022,
};

/// An answer that is an error of the protocol.
struct ProtocolError {
  int code;
  std::string message;
  Json data = {};
};

bool is_id(const Json& id) {
  return id.is_string() || id.is_number_integer();
}

Json server_info() {
  return {{"name", "evo"}, {"title", "evo: search for CUDA kernels"}, {"version", EVO_VERSION}};
}

Json params_of(const Json& message) {
  if (!message.contains("params")) return Json::object();
  if (!message["params"].is_object()) throw ProtocolError{kInvalidParams, "params: expected an object"};
  return message["params"];
}

Json meta_of(const Json& params) {
  return params.contains("_meta") && params["_meta"].is_object() ? params["_meta"] : Json::object();
}

/// One line; false at the end of the input. A line that is too long is read to its end and not kept.
bool read_message(std::string& line, bool& too_long) {
  line.clear();
  too_long = false;
  for (int c = std::getchar(); c != EOF; c = std::getchar()) {
    if (c == '\n') return true;
    if (line.size() < kLongestMessage)
      line += static_cast<char>(c);
    else
      too_long = true;
  }
  return !line.empty();
}

class McpServer {
 public:
  explicit McpServer(const ToolSettings& settings) : settings_(settings) {}
  ~McpServer() {
    for (const std::unique_ptr<Call>& call : calls_) call->cancelled = true;
  }
  McpServer(const McpServer&) = delete;
  McpServer& operator=(const McpServer&) = delete;

  void take(const std::string& line, bool too_long) {
    Json id;
    try {
      if (too_long)
        throw ProtocolError{kInvalidRequest, fmt::format("a message has more than {} MiB", kLongestMessage >> 20)};
      const Json message = parsed(line);
      if (message.contains("id") && is_id(message["id"])) id = message["id"];
      take(message);
    } catch (const ProtocolError& error) {
      Json json = {{"code", error.code}, {"message", error.message}};
      if (!error.data.is_null()) json["data"] = error.data;
      send({{"jsonrpc", "2.0"}, {"id", id}, {"error", json}});
    }
  }

 private:
  struct Call {
    Json id;
    std::atomic<bool> cancelled = false;
    std::atomic<bool> over = false;
    std::jthread thread = {};
  };

  static Json parsed(const std::string& line) {
    try {
      require_shallow_json(line, "the message");
    } catch (const Error& error) {
      throw ProtocolError{kInvalidRequest, error.what()};
    }
    Json message = Json::parse(line, nullptr, false);
    if (message.is_discarded()) throw ProtocolError{kParseError, "the line is no JSON"};
    if (!message.is_object()) throw ProtocolError{kInvalidRequest, "a message is one object; there are no batches"};
    return message;
  }

  void take(const Json& message) {
    if (member_text(message, "jsonrpc") != "2.0") throw ProtocolError{kInvalidRequest, "jsonrpc: expected \"2.0\""};
    if (!message.contains("method")) {
      if (message.contains("result") || message.contains("error")) return;  // A reply: nothing was asked.
      throw ProtocolError{kInvalidRequest, "method: it is missing"};
    }
    if (!message["method"].is_string()) throw ProtocolError{kInvalidRequest, "method: expected a string"};
    const std::string method = message["method"].get<std::string>();
    if (!message.contains("id")) return notified(method, message);
    if (!is_id(message["id"])) throw ProtocolError{kInvalidRequest, "id: expected a string or an integer"};
    request(method, message["id"], params_of(message));
  }

  /// Notifications have no answer, whatever is wrong with them.
  void notified(const std::string& method, const Json& message) {
    if (method != "notifications/cancelled" || !message.contains("params") || !message["params"].is_object()) return;
    const Json& params = message["params"];
    for (const std::unique_ptr<Call>& call : calls_)
      if (params.contains("requestId") && params["requestId"] == call->id) call->cancelled = true;
  }

  void request(const std::string& method, const Json& id, const Json& params) {
    const Json meta = meta_of(params);
    const bool modern = meta.contains(kVersionKey);
    if (modern) check_modern(meta);
    if (method == "initialize" && !modern) return initialize(id, params);
    if (method == "ping" && !modern) return reply(id, Json::object(), modern);
    if (method == "server/discover" && modern) return reply(id, discovered(), modern);
    if (method != "tools/list" && method != "tools/call")
      throw ProtocolError{kNoMethod, fmt::format("there is no method '{}' here", method)};
    if (!modern && !initialized_)
      throw ProtocolError{kInvalidRequest, fmt::format("initialize first, or name {} in _meta", kVersionKey)};
    if (method == "tools/call") return call(id, params, meta, modern);
    Json result = {{"tools", tool_list()}};
    if (modern) result.update(cacheable());
    reply(id, std::move(result), modern);
  }

  static void check_modern(const Json& meta) {
    if (meta[kVersionKey] != kModern)
      throw ProtocolError{kWrongVersion,
                          "this version of the protocol is not spoken here",
                          {{"supported", Json::array({kModern})}, {"requested", meta[kVersionKey]}}};
    if (!meta.contains(kCapabilitiesKey) || !meta[kCapabilitiesKey].is_object())
      throw ProtocolError{kInvalidParams, fmt::format("_meta: {} is missing", kCapabilitiesKey)};
  }

  static Json cacheable() { return {{"ttlMs", 3'600'000}, {"cacheScope", "public"}}; }

  static Json discovered() {
    Json versions = Json::array({kModern});
    for (const char* version : kOlder) versions.push_back(version);
    Json result = {{"supportedVersions", versions},
                   {"capabilities", {{"tools", Json::object()}}},
                   {"instructions", kInstructions}};
    result.update(cacheable());
    return result;
  }

  void initialize(const Json& id, const Json& params) {
    const std::string wanted = member_text(params, "protocolVersion");
    if (wanted.empty()) throw ProtocolError{kInvalidParams, "protocolVersion: expected a string"};
    const bool known = std::ranges::find(kOlder, wanted) != kOlder.end();
    initialized_ = true;
    reply(id,
          {{"protocolVersion", known ? wanted : kOlder.front()},
           {"capabilities", {{"tools", {{"listChanged", false}}}}},
           {"serverInfo", server_info()},
           {"instructions", kInstructions}},
          false);
  }

  void call(const Json& id, const Json& params, const Json& meta, bool modern) {
    std::erase_if(calls_, [](const std::unique_ptr<Call>& call) { return call->over.load(); });
    const std::string name = member_text(params, "name");
    if (!has_tool(name)) throw ProtocolError{kInvalidParams, fmt::format("there is no tool '{}'", name)};
    for (const std::unique_ptr<Call>& call : calls_)
      if (call->id == id) throw ProtocolError{kInvalidRequest, "id: a request of this id is under way"};
    if (calls_.size() >= kMostCalls)
      return reply(id, tool_error(fmt::format("{} calls are under way: wait for one of them", kMostCalls)), modern);
    const Json arguments = params.contains("arguments") ? params["arguments"] : Json::object();
    calls_.push_back(std::make_unique<Call>());
    Call& call = *calls_.back();
    call.id = id;
    Json token = meta.contains("progressToken") && is_id(meta["progressToken"]) ? meta["progressToken"] : Json();
    call.thread = std::jthread([this, &call, id, name, arguments, token, modern] {
      const auto cancelled = [&call] { return call.cancelled.load(); };
      Json result = call_tool(name, arguments, settings_, progress_to(token, cancelled), cancelled);
      // It is over before the client knows, which may then use its id again. A cancelled request has no answer.
      const bool answers = !call.cancelled;
      call.over = true;
      if (answers) reply(id, std::move(result), modern);
    });
  }

  ProgressTold progress_to(const Json& token, const std::function<bool()>& cancelled) {
    if (token.is_null()) return {};
    return [this, token, cancelled, last = 0.0](double done, double all, const std::string& message) mutable {
      if (done <= last || cancelled()) return;
      last = done;
      Json params = {{"progressToken", token}, {"progress", done}, {"message", message}};
      if (all > 0) params["total"] = all;
      send({{"jsonrpc", "2.0"}, {"method", "notifications/progress"}, {"params", params}});
    };
  }

  void reply(const Json& id, Json result, bool modern) {
    if (modern) {
      result["resultType"] = "complete";
      result["_meta"][kServerKey] = server_info();
    }
    send({{"jsonrpc", "2.0"}, {"id", id}, {"result", std::move(result)}});
  }

  /// A client that does not read any more ends the session soon by closing the input.
  void send(const Json& message) {
    const std::string line = message.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
    const std::lock_guard lock(output_);
    std::fwrite(line.data(), 1, line.size(), stdout);
    std::fflush(stdout);
  }

  ToolSettings settings_;
  std::mutex output_;
  bool initialized_ = false;
  std::list<std::unique_ptr<Call>> calls_;  // last: their threads use the others
};

}  // namespace

int serve_mcp(const ToolSettings& settings) {
  McpServer server(settings);
  std::string line;
  for (bool too_long = false; read_message(line, too_long);)
    if (too_long || line.find_first_not_of(" \t\r") != std::string::npos) server.take(line, too_long);
  return kDone;
}

}  // namespace evo::cli
