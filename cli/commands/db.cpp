#include <CLI/CLI.hpp>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "cli/commands/commands.h"

namespace evo::cli {
namespace {

struct DbRequest {
  std::string database = kDefaultDatabase;
  std::string other;
  bool repair = false;
  bool json = false;
};

std::string db_check_document(const std::string& database, const std::vector<std::string>& problems) {
  Json json = json_document("db check");
  json["database"] = database;
  json["problems"] = problems;
  return json_text(json);
}

bool is_sound(const std::string& database) {
  const Store store = Store::open(database, Store::Mode::inspect);
  try {
    return store.check().empty();
  } catch (const Error&) {
    return false;  // SQLite cannot read it to its end.
  }
}

/// A sound database stays as it is.
int repair(const DbRequest& request) {
  if (is_sound(request.database)) {
    print("{} is sound\n", request.database);
    return kDone;
  }
  for (const std::string& line : Store::repair(request.database)) print("{}\n", one_line(line));
  const bool sound = is_sound(request.database);
  print("{} {}; the former is {}.before-repair\n", request.database, sound ? "is sound now" : "is still not sound",
        request.database);
  return sound ? kDone : kNothingValid;
}

int check_database(const DbRequest& request) {
  if (request.repair) return repair(request);
  const std::vector<std::string> problems = Store::open(request.database, Store::Mode::inspect).check();
  if (request.json) {
    print("{}", db_check_document(request.database, problems));
  } else if (problems.empty()) {
    print("{} is sound\n", request.database);
  } else {
    for (const std::string& problem : problems) print("{}\n", one_line(problem));
  }
  return problems.empty() ? kDone : kNothingValid;
}

std::uintmax_t database_bytes(const std::string& database) {
  std::error_code error;
  const std::uintmax_t bytes = std::filesystem::file_size(database, error);
  return error ? 0 : bytes;
}

int compact(const DbRequest& request) {
  const std::uintmax_t before = database_bytes(request.database);
  Store::open(request.database, Store::Mode::change).compact();
  print("{}: {} bytes, {} before\n", request.database, grouped(std::uint64_t{database_bytes(request.database)}),
        grouped(std::uint64_t{before}));
  return kDone;
}

std::string db_merge_document(const MergeCounts& counts) {
  Json json = json_document("db merge");
  json["runs"] = counts.runs;
  json["known_runs"] = counts.known_runs;
  json["continued_runs"] = counts.continued_runs;
  json["contradicting_runs"] = counts.contradicting_runs;
  json["candidates"] = counts.candidates;
  json["elites"] = counts.elites;
  return json_text(json);
}

/// Into a database that is made where there is none. A merge that fails leaves no new one behind.
MergeCounts merged(const DbRequest& request) {
  if (has_database(request.database)) return Store::open(request.database, Store::Mode::change).merge(request.other);
  Store::open(request.other, Store::Mode::read);  // Throws before anything is made.
  try {
    return Store::open(request.database, Store::Mode::write).merge(request.other);
  } catch (const Error&) {
    std::filesystem::remove(request.database);
    throw;
  }
}

int merge(const DbRequest& request) {
  const MergeCounts counts = merged(request);
  if (request.json) {
    print("{}", db_merge_document(counts));
    return kDone;
  }
  print("{} runs with {} candidates came from {}; {} of them are elites here\n", counts.runs, counts.candidates,
        request.other, counts.elites);
  if (counts.known_runs > 0) print("{} runs were here already\n", counts.known_runs);
  if (counts.continued_runs > 0)
    print("{} of them continued there: their new results were added\n", counts.continued_runs);
  for (const RunId run : counts.contradicting_runs) {
    print("run {} has other results there than here: it was left as it is, and {} was not merged in full\n", run,
          request.other);
  }
  if (counts.elites > 0) print("their latencies were measured there: evo verify ID checks one\n");
  return kDone;
}

}  // namespace

void add_db(CLI::App& app, Invocation& invocation) {
  CLI::App* db = app.add_subcommand("db", "Check, compact or merge databases");
  db->require_subcommand(1);
  auto [checking, checked] =
      add_command(*db, invocation, "check",
                  "Check the database: print a line for each problem; exit code 1 if there is one", check_database);
  add_usual_options(checking, checked);
  checking
      .add_flag("--repair", checked.repair,
                "Make the database anew of what can be read, print what was dropped, and keep the former beside it")
      ->excludes(checking.get_option("--json"));
  auto [compacting, compacted] =
      add_command(*db, invocation, "compact", "Return unused space to the file system", compact);
  add_database_option(compacting, compacted.database);
  auto [merging, merged] = add_command(*db, invocation, "merge",
                                       "Copy the runs of another database into this one, which is made if necessary; "
                                       "their candidates compete for the elites",
                                       merge);
  add_database_option(merging, merged.database);
  add_option(merging, "OTHER", "", merged.other, "The other database, which is not changed")->required();
  add_json_flag(merging, merged.json);
}

}  // namespace evo::cli
