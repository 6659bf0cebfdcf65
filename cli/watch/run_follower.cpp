#include "cli/watch/run_follower.h"

#include <fmt/format.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "cli/report/index_page.h"
#include "cli/report/report_page.h"
#include "cli/subject/lookup.h"
#include "cli/text/svg_text.h"
#include "engine/base/error.h"

namespace evo::cli {
namespace {

using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

constexpr auto kGlance = 200ms;  ///< Between looks at the database and at `stop`.
constexpr int kRest = 4;         ///< Times the processor's time that a page took, before the next is made.
constexpr int kNiceness = 10;
constexpr auto kRestAfterProblem = 1s;
constexpr auto kPatienceAtTheEnd = 3s;  ///< Of the server with viewers that have not got the last event.

/// That this thread has had.
std::chrono::nanoseconds processor_time() {
  timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

}  // namespace

RunFollower::RunFollower(const Store& store, const RunChoice& choice, PageServer& server)
    : store_(store), choice_(choice), server_(server) {
  [[maybe_unused]] const int priority =
      ::nice(kNiceness);  // Of this thread. A higher one is no reason to show nothing.
  make();
}

void RunFollower::make() {
  const auto begun = processor_time();
  version_ = store_.version();  // Before the reading: what changes meanwhile is seen next time.
  auto data = page_data(store_, chosen_runs(store_, choice_), {}, &space_);
  running_.clear();
  for (const auto& run : data["runs"])
    if (run["status"] == "running") running_.push_back(run["id"].get<RunId>());
  data["live"] = {{"revision", revision_ + 1}, {"running", !running_.empty()}};
  data["index"] = "runs";
  page_ = {report_page(data, PageUse::live), json_for_script(data), ""};
  ++revision_;
  problem_.clear();
  page_.state = state();
  server_.show(page_);
  earliest_ = Clock::now() + kRest * (processor_time() - begun);
}

/// Whether the page is no longer right. A run whose process was killed changes without a change of the database.
bool RunFollower::has_changed() const {
  return !problem_.empty() || store_.version() != version_ || std::ranges::any_of(running_, [&](RunId id) {
    const auto run = store_.run(id);
    return !run || run->status != RunStatus::running;
  });
}

/// The index ("runs") and the pages that it leads to: "run/3", and "ranking/3" of all that compete with that run.
std::string RunFollower::further_page(const std::string& path) {
  try {
    const std::vector<RunRow> rows = store_.runs();
    if (path == "runs") {
      std::vector<IndexedRun> runs;
      std::vector<IndexedBoard> boards;
      const std::string database = store_.path().string();
      for (const RunRow& row : rows) runs.push_back({database, row, fmt::format("run/{}", row.id)});
      for (const std::vector<RunRow>& board : boards_of(rows))
        boards.push_back({database, board, fmt::format("ranking/{}", board.front().id)});
      return index_page(runs, boards);
    }
    const auto cut = path.find('/');
    const std::string kind = path.substr(0, cut), number = cut == path.npos ? "" : path.substr(cut + 1);
    const auto named = std::ranges::find(rows, number, [](const RunRow& row) { return std::to_string(row.id); });
    if (named == rows.end() || (kind != "run" && kind != "ranking")) return "";
    std::vector<RunId> shown;
    for (const RunRow& row : rows)
      if (row.id == named->id || (kind == "ranking" && of_one_board(row.info, named->info))) shown.push_back(row.id);
    auto data = page_data(store_, shown, {}, &further_space_);
    data["index"] = "../runs";
    return report_page(data);
  } catch (const Error& error) {
    return fmt::format("<!doctype html><title>evo</title><p>There is no such page: {}</p>", svg_text(error.what()));
  }
}

/// Another page if something has changed and it is time.
void RunFollower::refresh() {
  server_.give_further([&](const std::string& path) { return further_page(path); });
  if (Clock::now() < earliest_) return server_.keep();
  try {
    if (!has_changed()) return server_.keep();
    make();
  } catch (const Error& error) {
    problem_ = error.what();
    page_.state = state();
    server_.show(page_);
    earliest_ = Clock::now() + kRestAfterProblem;
  }
}

/// What the script of the page reads.
std::string RunFollower::state() const {
  return json_for_script({{"revision", revision_}, {"running", !running_.empty()}, {"problem", problem_}});
}

void RunFollower::follow(const std::function<bool()>& stop) {
  while (!stop())
    if (server_.wait_for_viewer(kGlance)) refresh();
  earliest_ = {};
  if (server_.has_followers()) refresh();
  server_.end(kPatienceAtTheEnd);
}

}  // namespace evo::cli
