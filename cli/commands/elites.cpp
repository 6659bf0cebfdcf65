#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "cli/commands/commands.h"
#include "cli/subject/best_rival.h"
#include "cli/subject/elite_table.h"
#include "cli/subject/json.h"

namespace evo::cli {
namespace {

struct ElitesRequest {
  EliteFilter filter;
  std::string database = kDefaultDatabase;
  bool all = false;
  bool json = false;
};

/// A line for each elite that was timed with rivals on a device of its model.
std::string rivals_text(const Store& store, const std::vector<EliteRow>& rows) {
  std::string text;
  for (const EliteRow& row : rows) {
    const std::string best = best_rival_text(store.sittings(row.candidate), row.device);
    if (!best.empty()) text += fmt::format("  candidate {}: {}\n", row.candidate, best);
  }
  return text;
}

std::string elites_text(const Store& store, const std::vector<EliteRow>& rows, const Terminal& terminal) {
  if (rows.empty()) return "no elites yet: find some with evo run --task T\n";
  std::string text;
  for (const std::vector<EliteRow>& group : by_key(rows)) {
    if (!text.empty()) text += '\n';
    text += styled(terminal, Style::bold, elite_heading(group.front())) + '\n';
    text += elite_table(group, terminal) + rivals_text(store, group);
  }
  return text;
}

std::string elites_document(const std::vector<EliteRow>& rows) {
  Json json = json_document("elites");
  json["elites"] = elites_json(rows);
  return json_text(json);
}

int elites(const ElitesRequest& request) {
  const Store store = Store::open(request.database, Store::Mode::read);
  std::vector<EliteRow> rows = find_elites(store, request.filter);
  if (!request.all) std::erase_if(rows, [](const EliteRow& row) { return !row.current; });
  print("{}", request.json ? elites_document(rows) : elites_text(store, rows, terminal_of(stdout)));
  return kDone;
}

}  // namespace

void add_elites(CLI::App& app, Invocation& invocation) {
  auto [command, request] =
      add_command(app, invocation, "elites", "List the three best kernels of each task, device and objective", elites);
  add_filter_options(command, request.filter);
  command.add_flag("--all", request.all, "Also elites of older versions of a task");
  add_usual_options(command, request);
}

}  // namespace evo::cli
