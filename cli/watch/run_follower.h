#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "cli/report/page_data.h"
#include "cli/report/run_choice.h"
#include "cli/watch/page_server.h"
#include "population/store/store.h"

namespace evo::cli {

/// Shows the page of runs on a server, as `evo report` writes it, and keeps it right while viewers look. An index of
/// all runs of the database and their pages are made when a viewer asks for them. The database is only read. Nothing is
/// done while nobody looks, and making pages takes at most a fifth of one core, at a low priority. The choice of runs
/// is made anew for each page, so that those which begin later are taken in.
class RunFollower {
 public:
  /// Shows the first page. Throws like chosen_runs, page_data and report_page. Viewers are told of later errors. All
  /// three must outlive this object.
  RunFollower(const Store& store, const RunChoice& choice, PageServer& server);
  /// Runs until `stop` returns true; it is called a few times a second. Viewers then get the last page.
  void follow(const std::function<bool()>& stop);

 private:
  void make();
  void refresh();
  std::string state() const;
  bool has_changed() const;
  std::string further_page(const std::string& path);

  const Store& store_;
  const RunChoice& choice_;
  PageServer& server_;
  ServedPage page_;
  PageSpace space_, further_space_;
  std::int64_t version_ = 0;  ///< Of the store, when the page was made.
  std::uint64_t revision_ = 0;
  std::vector<RunId> running_;                      ///< The runs of the page that go on.
  std::string problem_;                             ///< Why the page is not of that version.
  std::chrono::steady_clock::time_point earliest_;  ///< No page is made before.
};

}  // namespace evo::cli
