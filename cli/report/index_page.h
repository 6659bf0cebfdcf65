#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "cli/report/page_data.h"
#include "population/store/store.h"

namespace evo::cli {

/// A run of the index.
struct IndexedRun {
  std::string database;  ///< As it was named.
  RunRow run;
  std::string page;          ///< Its address; empty: it has none,
  std::string problem = {};  ///< for this reason.
};

/// Runs of one database that compete, with a page of their own. Newest first.
struct IndexedBoard {
  std::string database;
  std::vector<RunRow> runs;
  std::string page;  ///< Empty: it has none.
};

/// The runs of each board, the board with the newest run first.
std::vector<std::vector<RunRow>> boards_of(const std::vector<RunRow>& runs);

/// The index over runs, rankings, tasks, devices and databases, as one HTML file.
std::string index_page(const std::vector<IndexedRun>& runs, const std::vector<IndexedBoard>& boards);

/// What `evo report --all` wrote.
struct WrittenPages {
  std::size_t databases = 0;
  std::size_t runs = 0;
  std::size_t boards = 0;
  std::vector<std::string> problems;  ///< Of runs without a page, a line each.
};

/// Writes index.html and a folder for each database with a page for each run and for each board of several runs. A run
/// whose page cannot be made stands in the index with the reason. Throws as Store::open, and machine_error when
/// something cannot be written.
WrittenPages write_all_pages(const std::vector<std::string>& databases, const std::filesystem::path& folder,
                             const PageWishes& wanted);

}  // namespace evo::cli
