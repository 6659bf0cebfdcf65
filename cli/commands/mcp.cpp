#include <CLI/CLI.hpp>

#include "cli/commands/commands.h"
#include "cli/mcp/mcp_server.h"

namespace evo::cli {
namespace {

struct McpRequest {
  ToolSettings settings;
};

int mcp(const McpRequest& request) {
  parse_duration("--most-time", request.settings.most_time);
  return serve_mcp(request.settings);
}

}  // namespace

void add_mcp(CLI::App& app, Invocation& invocation) {
  auto [command, request] = add_command(
      app, invocation, "mcp",
      "Offer searches to agents: a server of the Model Context Protocol on standard input and output (docs/mcp.md)",
      mcp);
  request.settings.database = kDefaultDatabase;
  add_option(command, "--device", "DEVICE", request.settings.device, "Where a call names no device (default: auto)");
  add_option(command, "--most-time", "DURATION", request.settings.most_time, "Time limit of one search");
  add_database_option(command, request.settings.database);
  add_templates_option(command, request.settings.templates);
}

}  // namespace evo::cli
