#include "cli/run/progress.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "cli/text/format.h"
#include "cli/text/streams.h"

namespace evo::cli {
namespace {

constexpr std::uint64_t kPlainEvery = 10;  // Evaluations between plain lines.

constexpr std::size_t kRejections = 2;          // Below the live line.
constexpr const char* kClear = "\r\x1b[J";      // From the beginning of the line to the end of the screen.
constexpr const char* kClearLine = "\r\x1b[K";  // The line alone.

/// Cut to the terminal: a live line that wraps cannot be overwritten.
std::string fitted(const std::string& line, std::size_t columns) {
  return columns <= 1 ? line : clipped(line, columns - 1);
}

}  // namespace

ProgressReport::ProgressReport(Settings settings)
    : settings_(std::move(settings)),
      started_(Clock::now()),
      shown_(started_),
      standing_("no candidate is evaluated yet") {
  if (settings_.quiet) return;
  now_and_then_ = std::thread([this] { is_live() ? keep_moving() : show_now_and_then(); });
}

ProgressReport::~ProgressReport() {
  finish();
  if (now_and_then_.joinable()) now_and_then_.join();
}

void ProgressReport::show_now_and_then() {
  std::unique_lock lock(mutex_);
  while (!over_) {
    const Clock::time_point next = shown_ + std::max<Clock::duration>(settings_.pause, (shown_ - started_) / 10);
    if (Clock::now() >= next)
      show(fmt::format("{}, {}", duration_text(elapsed_s()), waited_for_.empty() ? standing_ : waited_for_));
    else
      ended_.wait_until(lock, next);
  }
}

void ProgressReport::keep_moving() {
  constexpr auto kStep = std::chrono::seconds(1);
  std::unique_lock lock(mutex_);
  while (!over_) {
    if (Clock::now() >= shown_ + kStep) {
      const std::string& now = waited_for_.empty() ? standing_ : waited_for_;
      write_to_terminal(kClearLine + fitted(fmt::format("{}, {}", duration_text(elapsed_s()), one_line(now)),
                                            settings_.terminal.columns));
      live_lines_open_ = true;
      shown_ = Clock::now();
    }
    ended_.wait_until(lock, shown_ + kStep);
  }
}

void ProgressReport::show(const std::string& line) {
  shown_ = Clock::now();
  write_to_stderr(fmt::format("{}\n", line));
}

void ProgressReport::update(const SearchProgress& progress) {
  if (settings_.quiet || progress.answered == 0) return;
  const std::lock_guard lock(mutex_);
  if (progress.last != nullptr && progress.last_evaluation != nullptr)
    rejections_.add(progress.last_evaluation->verdict, progress.last_evaluation->reason,
                    progress.last_evaluation->mismatch, progress.last->genome.family, 0);
  const bool recalled = progress.answered <= settings_.recalled;
  if (!recalled && !first_fresh_) first_fresh_ = Clock::now();
  const bool improved = progress.best_us && (!best_us_ || *progress.best_us < *best_us_);
  best_us_ = progress.best_us;
  if (recalled && progress.answered < settings_.recalled) return;

  standing_ = line(progress);
  if (is_live()) {
    write_to_terminal(live_lines(progress));
    live_lines_open_ = true;
    shown_ = Clock::now();
    return;
  }
  if (settings_.lines && (improved || progress.answered % kPlainEvery == 0))
    show(standing_ + (improved ? "  (new best)" : ""));
}

void ProgressReport::say(const std::string& line) {
  const std::lock_guard lock(mutex_);
  clear();
  show(line);
}

void ProgressReport::note(const std::string& line) {
  if (!settings_.quiet) say(line);
}

void ProgressReport::wait(const std::string& line) {
  if (settings_.quiet) return;
  const std::lock_guard lock(mutex_);
  waited_for_ = line;
  if (line.empty()) clear();
  if (line.empty() || !is_live()) return;
  write_to_terminal(kClear + fitted(line, settings_.terminal.columns));
  live_lines_open_ = true;
  shown_ = Clock::now();
}

void ProgressReport::finish() {
  const std::lock_guard lock(mutex_);
  clear();
  over_ = true;
  ended_.notify_all();
}

void ProgressReport::clear() {
  if (live_lines_open_) write_to_terminal(kClear);
  live_lines_open_ = false;
}

std::string ProgressReport::live_lines(const SearchProgress& progress) const {
  const std::size_t columns = settings_.terminal.columns;
  std::string text = kClear + fitted(one_line(line(progress)), columns);
  const std::vector<Rejection> last = rejections_.last(kRejections);
  for (Rejection one : last) {
    if (settings_.placed) one.reason = settings_.placed(one.reason);
    std::string rejection = rejection_text(one);
    rejection.pop_back();  // Its newline.
    text += "\n" + styled(settings_.terminal, Style::dim, fitted(one_line(rejection), columns));
  }
  return last.empty() ? text : text + fmt::format("\x1b[{}A\r", last.size());
}

std::string ProgressReport::line(const SearchProgress& progress) const {
  std::string text = settings_.evaluations > 0
                         ? fmt::format("{}/{} evaluated", progress.answered, settings_.evaluations)
                         : fmt::format("{} evaluated", progress.answered);
  // The clock starts with the first answer, which therefore does not count for the rate.
  const std::uint64_t fresh = progress.answered - std::min(progress.answered, settings_.recalled + 1);
  if (first_fresh_ && fresh > 0) {
    const double since = std::chrono::duration<double>(Clock::now() - *first_fresh_).count();
    if (since > 0) text += fmt::format(", {:.1f}/min", 60.0 * static_cast<double>(fresh) / since);
  }
  text +=
      fmt::format(", {} valid", percent(static_cast<double>(progress.valid) / static_cast<double>(progress.answered)));
  if (progress.best_us) {
    text += fmt::format(", best {} us {}", microseconds(*progress.best_us), timing_word(settings_.modelled));
  }
  if (const std::string left = time_left(progress); !left.empty()) text += fmt::format(", {} left", left);
  return text;
}

std::string ProgressReport::time_left(const SearchProgress& progress) const {
  std::optional<double> seconds;
  const std::uint64_t fresh = progress.answered - std::min(progress.answered, settings_.recalled);
  if (settings_.evaluations > progress.answered && fresh > 0) {
    seconds = elapsed_s() / static_cast<double>(fresh) * static_cast<double>(settings_.evaluations - progress.answered);
  }
  if (settings_.time_limit) {
    const double until_limit = std::chrono::duration<double>(*settings_.time_limit).count() - elapsed_s();
    seconds = std::min(seconds.value_or(until_limit), until_limit);
  }
  return seconds ? duration_text(*seconds) : "";
}

}  // namespace evo::cli
