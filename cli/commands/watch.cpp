#include <CLI/CLI.hpp>
#include <cstdio>

#include "cli/commands/commands.h"
#include "cli/report/run_choice.h"
#include "cli/text/signals.h"
#include "cli/watch/page_server.h"
#include "cli/watch/run_follower.h"
#include "cli/watch/watch_process.h"

namespace evo::cli {
namespace {

struct WatchRequest {
  RunChoice choice;
  std::string port;
  std::string database = kDefaultDatabase;
};

int watch(const WatchRequest& request) {
  const InterruptGuard interrupt;
  const std::uint16_t port = parse_port("--port", request.port);
  const Store store = Store::open(request.database, Store::Mode::read);
  PageServer server(port);
  RunFollower follower(store, request.choice, server);
  print("{}\n", server.address());
  std::fflush(stdout);
  follower.follow([&] { return interrupt.requested().load(); });
  return kDone;
}

}  // namespace

void add_watch(CLI::App& app, Invocation& invocation) {
  auto [command, request] = add_command(
      app, invocation, "watch",
      "Serve the page of `evo report` live to browsers of this machine, for a run under way or over", watch);
  CLI::Option* runs =
      add_option(command, "RUN", "", request.choice.runs, "The runs' numbers (default: always the newest)");
  add_option(command, "--task", "TASK", request.choice.task, "All runs that compete with the newest of this task")
      ->excludes(runs);
  add_option(command, "--port", "PORT", request.port, "The port to serve it on (default: a free one)");
  add_database_option(command, request.database);
  command.footer(
      "It prints an address that nobody can guess, and serves the page until Ctrl-C. The page changes nothing "
      "(docs/watch.md). evo run --watch does this for the run that it starts.");
}

}  // namespace evo::cli
