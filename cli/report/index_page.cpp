#include "cli/report/index_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "cli/report/page_json.h"
#include "cli/report/report_page.h"
#include "cli/subject/lookup.h"
#include "cli/text/files.h"
#include "cli/text/format.h"
#include "cli/text/json_text.h"
#include "engine/base/error.h"
#include "engine/device/device_kind.h"
#include "engine/record/enumerators.h"

namespace evo::cli {
namespace {

Json run_entry(const IndexedRun& one) {
  const RunInfo& info = one.run.info;
  return {{"id", one.run.id},
          {"database", one.database},
          {"page", one.page},
          {"problem", one.problem},
          {"task", info.task},
          {"device", info.device.name},
          {"objective", info.objective},
          {"status", enumerator_name(one.run.status)},
          {"started_at", one.run.started_at},
          {"evaluated", one.run.evaluated},
          {"valid", one.run.valid},
          {"best_us", number_json(one.run.best_us)},
          {"timing", timing_word(kind_named(info.device.kind).modelled)},
          {"strategy", info.strategy},
          {"seed", info.seed},
          {"evo_version", info.evo_version},
          {"command_line", info.command_line}};
}

Json board_entry(const IndexedBoard& board) {
  const RunInfo& info = board.runs.front().info;
  Json json = {{"database", board.database},  {"page", board.page},
               {"task", info.task},           {"device", info.device.name},
               {"objective", info.objective}, {"timing", timing_word(kind_named(info.device.kind).modelled)}};
  std::uint64_t evaluated = 0;
  const RunRow* best = nullptr;
  json["runs"] = Json::array();
  for (const RunRow& run : board.runs) {
    evaluated += run.evaluated;
    json["runs"].push_back(run.id);
    if (run.best_us && (best == nullptr || *run.best_us < *best->best_us)) best = &run;
  }
  json["evaluated"] = evaluated;
  json["best_us"] = best != nullptr ? number_json(best->best_us) : Json(nullptr);
  json["best_run"] = best != nullptr ? Json(best->id) : Json(nullptr);
  return json;
}

/// A folder's name that no other database has.
std::string folder_name(const std::string& database, std::set<std::string>& taken) {
  const std::string stem = std::filesystem::path(database).stem().string();
  std::string name = stem.empty() ? "database" : stem;
  for (int i = 2; !taken.insert(name).second; ++i) name = fmt::format("{}_{}", stem, i);
  return name;
}

/// The pages of one database.
class Writer {
 public:
  Writer(std::string database, std::filesystem::path folder, std::string name, const PageWishes& wanted)
      : database_(std::move(database)), folder_(std::move(folder)), name_(std::move(name)), wanted_(wanted) {}

  void write(std::vector<IndexedRun>& runs, std::vector<IndexedBoard>& boards, WrittenPages& written) {
    const Store store = Store::open(database_, Store::Mode::read);
    const std::vector<RunRow> rows = store.runs();
    if (!rows.empty()) make_folder(folder_ / name_);
    for (const std::vector<RunRow>& board : boards_of(rows)) {
      std::string page;
      for (const RunRow& row : board) {
        IndexedRun one{database_, row, fmt::format("{}/run_{}.html", name_, row.id)};
        one.problem = problem_of(store, {row.id}, one.page);
        if (one.problem.empty()) {
          ++written.runs;
          page = one.page;
        } else {
          one.page.clear();
          written.problems.push_back(fmt::format("run {} of {} has no page: {}", row.id, database_, one.problem));
        }
        runs.push_back(std::move(one));
      }
      boards.push_back({database_, board, page});
      if (board.size() == 1 || page.empty()) continue;
      std::vector<RunId> ids;
      for (const RunRow& row : board) ids.push_back(row.id);
      const std::string all = fmt::format("{}/ranking_{}.html", name_, board.front().id);
      if (!problem_of(store, ids, all).empty()) continue;
      ++written.boards;
      boards.back().page = all;
    }
  }

 private:
  /// Writes a page. Returns why it could not be made.
  std::string problem_of(const Store& store, const std::vector<RunId>& runs, const std::string& page) {
    std::string text;
    try {
      auto data = page_data(store, runs, wanted_, &space_);
      data["index"] = "../index.html";
      text = report_page(data);
    } catch (const Error& error) {
      if (error.fault() == Fault::machine) throw;
      return error.what();
    }
    write_file(folder_ / page, text);
    return "";
  }

  std::string database_;
  std::filesystem::path folder_;
  std::string name_;
  const PageWishes& wanted_;
  PageSpace space_;
};

}  // namespace

std::vector<std::vector<RunRow>> boards_of(const std::vector<RunRow>& runs) {
  std::vector<std::vector<RunRow>> boards;
  for (const RunRow& run : runs) {
    const auto own = std::ranges::find_if(
        boards, [&](const std::vector<RunRow>& board) { return of_one_board(board.front().info, run.info); });
    if (own != boards.end())
      own->push_back(run);
    else
      boards.push_back({run});
  }
  return boards;
}

std::string index_page(const std::vector<IndexedRun>& runs, const std::vector<IndexedBoard>& boards) {
  Json json = json_document("report");
  std::set<std::string> databases;
  json["runs"] = Json::array();
  for (const IndexedRun& run : runs) {
    json["runs"].push_back(run_entry(run));
    databases.insert(run.database);
  }
  json["boards"] = list_json(boards, board_entry);
  json["databases"] = databases;
  return filled_index(json);
}

WrittenPages write_all_pages(const std::vector<std::string>& databases, const std::filesystem::path& folder,
                             const PageWishes& wanted) {
  make_folder(folder);
  WrittenPages written;
  std::vector<IndexedRun> runs;
  std::vector<IndexedBoard> boards;
  std::set<std::string> taken, known;
  for (const std::string& database : databases) {
    if (!known.insert(std::filesystem::weakly_canonical(database).string()).second) continue;
    Writer(database, folder, folder_name(database, taken), wanted).write(runs, boards, written);
    ++written.databases;
  }
  write_file(folder / "index.html", index_page(runs, boards));
  return written;
}

}  // namespace evo::cli
