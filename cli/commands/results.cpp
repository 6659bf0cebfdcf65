#include <CLI/CLI.hpp>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <system_error>

#include "cli/commands/commands.h"
#include "cli/report/results_page.h"
#include "cli/text/files.h"

namespace evo::cli {
namespace {

namespace fs = std::filesystem;

struct ResultsRequest {
  EliteFilter filter;
  std::string folder = "results";
  std::string database = kDefaultDatabase;
  bool all = false;
};

/// Throws usage_error for a page that this command did not write.
void check_replaceable(const fs::path& page) {
  std::ifstream file(page);
  std::string title, mark;
  if (file && (!std::getline(file, title) || !std::getline(file, mark) || mark != kResultsMark)) {
    throw usage_error(
        fmt::format("{} was not written by evo results and stays as it is: -o names another folder", page.string()));
  }
}

/// Removes the pictures of a page that was written before. The new page may show others.
void remove_pictures_of(const fs::path& page) {
  constexpr std::string_view kEnd = ".svg)";
  std::ifstream file(page);
  for (std::string line; std::getline(file, line);) {
    const std::size_t begin = line.rfind("](");
    if (!line.starts_with("![") || begin == std::string::npos || !line.ends_with(kEnd)) continue;
    const fs::path picture = line.substr(begin + 2, line.size() - begin - 3);
    std::error_code ignored;
    if (picture.parent_path() == kPicturesFolder) fs::remove(page.parent_path() / picture, ignored);
  }
}

int results(const ResultsRequest& request) {
  const Store store = Store::open(request.database, Store::Mode::read);
  const std::vector<ResultsPage> pages = results_pages(store, request.filter, request.all);
  if (pages.empty()) {
    write_to_stderr(fmt::format("no elites in {}: evo run finds some\n", store.path().string()));
    return kNothingValid;
  }
  const fs::path output = request.folder;
  for (const ResultsPage& page : pages) check_replaceable(output / page.folder / page.file);
  for (const ResultsPage& page : pages) {
    const fs::path folder = output / page.folder;
    make_folder(folder);
    remove_pictures_of(folder / page.file);
    if (!page.pictures.empty()) make_folder(folder / kPicturesFolder);
    for (const ResultsPicture& picture : page.pictures) write_file(folder / picture.file, picture.svg);
    write_file(folder / page.file, page.markdown);
    print("{}\n", (folder / page.file).string());
  }
  return kDone;
}

}  // namespace

void add_results(CLI::App& app, Invocation& invocation) {
  auto [command, request] = add_command(
      app, invocation, "results",
      "Write a page for each model of device and task: the fastest kernels, beside rivals, as Markdown", results);
  add_option(command, "-o,--output", "DIR", request.folder,
             "Write the pages into a folder for each model of device, below this one");
  add_filter_options(command, request.filter);
  command.add_flag("--all", request.all, "Also elites of older versions of a task");
  add_database_option(command, request.database);
}

}  // namespace evo::cli
