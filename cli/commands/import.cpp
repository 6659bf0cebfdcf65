#include "population/results/import.h"

#include <CLI/CLI.hpp>
#include <filesystem>
#include <system_error>

#include "cli/commands/commands.h"
#include "cli/rivals/foreign_problem.h"
#include "cli/subject/recordings.h"
#include "cli/text/files.h"
#include "cli/text/shell_words.h"
#include "population/results/formats.h"
#include "population/results/recorded_results.h"

namespace evo::cli {
namespace {

struct ImportRequest {
  std::string file;
  std::string name;
  std::string output = "templates";
  std::string database = kDefaultDatabase;
};

int import_file(const ImportRequest& request, const std::string& command_line) {
  const Results results = read_results(read_text(request.file), request.file);
  Store store = Store::open(request.database, Store::Mode::write);
  const RunId run = import_results(store, results, command_line);
  print(
      "run {} in {}: {} candidates of {} on {}, {}, without sources{}\n", run, request.database,
      grouped(results.rows.size()), results.info.task, results.info.device.name, results.info.objective,
      results.info.device.id == kRecordedElsewhere
          ? fmt::format("; their times are those of {}, and nothing here says that their kernels were right; searches "
                        "in them: evo replay {}",
                        request.file, shell_word(request.file))
          : "");
  return kDone;
}

/// A problem of others becomes a folder of a task.
int import_problem(const ImportRequest& request) {
  const ForeignProblem problem = read_foreign_problem(request.file, request.name);
  const std::filesystem::path folder = std::filesystem::path(request.output) / problem.task;
  std::error_code error;
  if (std::filesystem::exists(folder, error))
    throw usage_error(fmt::format("{} is there already: --name gives the task another name", folder.string()));
  write_files(request.output, problem.files);
  print("{}: the task {}, {}; its reference is torch\n{}judge a solution:  evo verify SOLUTION --task {}{}\n",
        folder.string(), problem.task, problem.kind, problem.remarks, problem.task,
        request.output == "templates" ? "" : " --templates " + shell_word(request.output));
  return kDone;
}

int import_any(const ImportRequest& request, const std::string& command_line) {
  if (is_foreign_problem(request.file)) return import_problem(request);
  if (!request.name.empty()) throw usage_error("--name goes with a problem: results keep the names that they have");
  return import_file(request, command_line);
}

}  // namespace

void add_import(CLI::App& app, Invocation& invocation) {
  auto [command, request] = add_command(
      app, invocation, "import",
      "Make a task from a judge's problem, or read results of evo export --format into the database", import_any);
  add_option(command, "FILE", "", request.file,
             "A problem of KernelBench or robust-kbench (.py) or a Definition of flashinfer-bench "
             "(docs/import.md); or results: " +
                 readable_formats() + ", of evo export or of another tuner; .gz is decompressed")
      ->required();
  add_option(command, "--name", "TASK", request.name, "The task's name (default: the problem's)");
  add_option(command, "-o,--output", "DIR", request.output, "The folder of tasks for the new one");
  add_database_option(command, request.database);
}

}  // namespace evo::cli
