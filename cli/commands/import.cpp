#include "population/results/import.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "cli/commands/commands.h"
#include "cli/subject/arguments.h"
#include "cli/subject/lookup.h"
#include "cli/subject/recordings.h"
#include "cli/text/exit_code.h"
#include "cli/text/format.h"
#include "population/results/formats.h"

namespace evo::cli {
namespace {

struct ImportRequest {
  std::string file;
  std::string database = kDefaultDatabase;
};

int import_file(const ImportRequest& request, const std::string& command_line) {
  const Results results = read_results(read_text(request.file), request.file);
  Store store = Store::open(request.database, Store::Mode::write);
  const RunId run = import_results(store, results, command_line);
  fmt::print("run {} in {}: {} candidates of {} on {}, {}, without sources\n", run, request.database,
             grouped(results.rows.size()), results.info.task, results.info.device.name, results.info.objective);
  return kDone;
}

}  // namespace

void add_import(CLI::App& app, Invocation& invocation) {
  auto request = std::make_shared<ImportRequest>();
  CLI::App* command =
      app.add_subcommand("import", "Read results of evo export --format into the database, as a run without sources");
  command->add_option("FILE", request->file, "What evo export wrote: " + readable_formats() + "; .gz is decompressed")
      ->required()
      ->type_name("");
  add_database_option(*command, request->database);
  command->callback([request, &invocation] {
    invocation.action = [request, &invocation] { return import_file(*request, invocation.command_line); };
  });
}

}  // namespace evo::cli
