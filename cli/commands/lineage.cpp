#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>

#include "cli/commands/commands.h"
#include "cli/commands/json_documents.h"
#include "cli/subject/arguments.h"
#include "cli/subject/lookup.h"
#include "cli/text/exit_code.h"
#include "cli/text/format.h"
#include "cli/text/table.h"

namespace evo::cli {
namespace {

struct Request {
  std::string id;
  std::string database = kDefaultDatabase;
  bool json = false;
};

std::string allele_text(const std::optional<Value>& allele) {
  return allele ? expr::to_string(*allele) : "-";
}

/// What a candidate changed of its first parent: "stages 2 -> 3".
std::string change_text(const LineageRow& row, const std::vector<LineageRow>& rows) {
  const auto is_parent = [&](const LineageRow& other) {
    return !row.parents.empty() && other.candidate == row.parents.front();
  };
  const auto parent = std::find_if(rows.begin(), rows.end(), is_parent);
  if (parent == rows.end()) return to_text(row.genome);
  std::vector<std::string> changes;
  if (parent->genome.family != row.genome.family) {
    changes.push_back(fmt::format("family {} -> {}", parent->genome.family, row.genome.family));
  }
  for (const GeneDifference& difference : differences(parent->genome, row.genome)) {
    changes.push_back(
        fmt::format("{} {} -> {}", difference.gene, allele_text(difference.a), allele_text(difference.b)));
  }
  return changes.empty() ? "nothing" : fmt::format("{}", fmt::join(changes, ", "));
}

std::string lineage_text(const std::vector<LineageRow>& rows, const Terminal& terminal) {
  using Align = Table::Align;
  Table table({{"id", Align::right},
               {"back", Align::right},
               {"operator"},
               {"parents"},
               {"latency us", Align::right},
               {"verdict"},
               {"changed of the first parent"}});
  for (const LineageRow& row : rows) {
    table.add({std::to_string(row.candidate), std::to_string(row.distance), row.op,
               row.parents.empty() ? "-" : fmt::format("{}", fmt::join(row.parents, " ")),
               row.latency_us ? microseconds(*row.latency_us) : "-", std::string(name_of(row.verdict)),
               change_text(row, rows)});
  }
  return table.text(terminal);
}

int lineage(const Request& request) {
  const CandidateId id = parse_id("candidate", request.id);
  const Store store = Store::open(request.database, Store::Mode::read);
  find_candidate(store, id);
  const std::vector<LineageRow> rows = store.lineage(id);
  fmt::print("{}", request.json ? lineage_json(id, rows) : lineage_text(rows, terminal_of(stdout)));
  return kDone;
}

}  // namespace

void add_lineage(CLI::App& app, Action& action) {
  auto request = std::make_shared<Request>();
  CLI::App* command = app.add_subcommand("lineage", "Show a candidate's ancestors and what each step changed");
  command->add_option("ID", request->id, "A candidate")->required()->type_name("");
  command->add_option("--db", request->database, kDatabaseHelp)->capture_default_str()->type_name("FILE");
  command->add_flag("--json", request->json, kJsonHelp);
  command->callback([request, &action] { action = [request] { return lineage(*request); }; });
}

}  // namespace evo::cli
