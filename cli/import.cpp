#include <fmt/format.h>
#include <zlib.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>
#include <vector>

#include "cli/commands.h"
#include "cli/exit_code.h"
#include "cli/format.h"
#include "cli/lookup.h"
#include "engine/error.h"
#include "population/results_read.h"

namespace evo::cli {
namespace {

struct Request {
  std::string file;
  std::string database = kDefaultDatabase;
};

/// The whole file, decompressed when it is gzipped.
std::string read_whole(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) throw usage_error(fmt::format("no file {}", path));
  // gzread takes plain files as they are.
  const std::unique_ptr<gzFile_s, int (*)(gzFile)> file(gzopen(path.c_str(), "rb"), gzclose);
  if (!file) throw machine_error(fmt::format("cannot open {}", path));
  std::string text;
  std::vector<char> block(1 << 20);
  int got = 0;
  while ((got = gzread(file.get(), block.data(), static_cast<unsigned>(block.size()))) > 0)
    text.append(block.data(), static_cast<std::size_t>(got));
  int code = Z_OK;
  gzerror(file.get(), &code);
  if (got < 0 || (code != Z_OK && code != Z_STREAM_END))
    throw usage_error(fmt::format("{} cannot be decompressed: it is damaged or cut off", path));
  return text;
}

int import_file(const Request& request, const std::string& command_line) {
  const Results results = read_results(read_whole(request.file), request.file);
  Store store = Store::open(request.database, Store::Mode::write);
  const RunId run = import_results(store, results, command_line);
  fmt::print("run {} in {}: {} candidates of {} on {}, {}, without sources\n", run, request.database,
             grouped(results.rows.size()), results.info.task, results.info.device.name,
             results.info.objective);
  return kDone;
}

}  // namespace

void add_import(CLI::App& app, Action& action, const std::string& command_line) {
  auto request = std::make_shared<Request>();
  CLI::App* command = app.add_subcommand(
      "import",
      "Take results that evo export --format wrote elsewhere into the database, as a run without sources");
  command->add_option("FILE", request->file, "A Kernel Tuner cache or T4 file of evo's; .gz is decompressed")
      ->required()
      ->type_name("");
  command->add_option("--db", request->database, kDatabaseHelp)->capture_default_str()->type_name("FILE");
  command->callback([request, &action, command_line] {
    action = [request, command_line] { return import_file(*request, command_line); };
  });
}

}  // namespace evo::cli
