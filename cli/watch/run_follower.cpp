#include "cli/watch/run_follower.h"

#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "cli/report/report_page.h"
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
  auto data = page_data(store_, chosen_runs(store_, choice_), 0, {}, &space_);
  running_ = std::ranges::any_of(data["runs"], [](const auto& run) { return run["status"] == "running"; });
  data["live"] = {{"revision", revision_ + 1}, {"running", running_}};
  page_ = {report_page(data, PageUse::live), json_for_script(data), ""};
  ++revision_;
  problem_.clear();
  page_.state = state();
  server_.show(page_);
  earliest_ = Clock::now() + kRest * (processor_time() - begun);
}

/// Whether no run goes on any more although none has written that it ended.
bool RunFollower::was_killed() const {
  if (!running_) return false;
  return std::ranges::none_of(chosen_runs(store_, choice_), [&](RunId id) {
    const std::optional<RunRow> run = store_.run(id);
    return run && run->status == RunStatus::running;
  });
}

/// Another page if something has changed and it is time.
void RunFollower::refresh() {
  if (Clock::now() < earliest_) return server_.keep();
  try {
    if (problem_.empty() && store_.version() == version_ && !was_killed()) return server_.keep();
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
  return json_for_script({{"revision", revision_}, {"running", running_}, {"problem", problem_}});
}

void RunFollower::follow(const std::function<bool()>& stop) {
  while (!stop())
    if (server_.wait_for_viewer(kGlance)) refresh();
  earliest_ = {};
  if (server_.has_followers()) refresh();
  server_.end(kPatienceAtTheEnd);
}

}  // namespace evo::cli
