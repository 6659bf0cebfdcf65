#include <CLI/CLI.hpp>
#include <algorithm>
#include <nlohmann/json.hpp>

#include "cli/commands/commands.h"
#include "cli/edits/edit_words.h"
#include "cli/subject/genome_change.h"
#include "cli/subject/json.h"
#include "engine/search/proposer.h"

namespace evo::cli {
namespace {

/// How a candidate differs from its first parent: "stages 2 -> 3", "k.cu:12: statement deleted: ...".
std::string change_text(const LineageRow& row, const std::vector<LineageRow>& rows, const Store& store) {
  const auto is_parent = [&](const LineageRow& other) {
    return !row.parents.empty() && other.candidate == row.parents.front();
  };
  const auto parent = std::find_if(rows.begin(), rows.end(), is_parent);
  if (parent == rows.end()) return to_text(row.genome);
  if (row.op == kEditOperator)
    return one_line(
        edit_change(find_candidate(store, parent->candidate).files, find_candidate(store, row.candidate).files));
  return genome_change(parent->genome, row.genome);
}

std::string lineage_text(const std::vector<LineageRow>& rows, const Store& store, const Terminal& terminal) {
  Table table({">id", ">back", "operator", "parents", ">latency us", "verdict", "change from the first parent"});
  for (const LineageRow& row : rows) {
    table.add({std::to_string(row.candidate), std::to_string(row.distance), row.op,
               row.parents.empty() ? "-" : fmt::format("{}", fmt::join(row.parents, " ")),
               row.latency_us ? microseconds(*row.latency_us) : "-", std::string(name_of(row.verdict)),
               change_text(row, rows, store)});
  }
  return table.text(terminal);
}

std::string lineage_document(CandidateId candidate, const std::vector<LineageRow>& rows, const Store& store) {
  Json json = json_document("lineage");
  json["candidate"] = candidate;
  json["ancestors"] = Json::array();
  for (const LineageRow& row : rows) {
    json["ancestors"].push_back({{"candidate", row.candidate},
                                 {"distance", row.distance},
                                 {"op", row.op},
                                 {"parents", row.parents},
                                 {"genome", genome_json(row.genome)},
                                 {"verdict", name_of(row.verdict)},
                                 {"latency_us", or_null(row.latency_us)},
                                 {"edits", edits_json(find_candidate(store, row.candidate).files)}});
  }
  return json_text(json);
}

int lineage(const EntryRequest& request) {
  const CandidateId id = parse_id("candidate", request.id);
  const Store store = Store::open(request.database, Store::Mode::read);
  find_candidate(store, id);
  const std::vector<LineageRow> rows = store.lineage(id);
  print("{}", request.json ? lineage_document(id, rows, store) : lineage_text(rows, store, terminal_of(stdout)));
  return kDone;
}

}  // namespace

void add_lineage(CLI::App& app, Invocation& invocation) {
  auto [command, request] =
      add_command(app, invocation, "lineage", "Show the ancestors of a candidate and what each step changed", lineage);
  add_option(command, "ID", "", request.id, "The candidate's number")->required();
  add_usual_options(command, request);
}

}  // namespace evo::cli
