#include "cli/text/waiting_line.h"

#include <fmt/format.h>

#include <utility>

#include "cli/text/format.h"
#include "cli/text/streams.h"

namespace evo::cli {
namespace {

using namespace std::chrono_literals;

constexpr auto kBeforeFirstLine = 300ms;
constexpr auto kBetweenLines = 200ms;
constexpr const char* kClearWaitingLine = "\r\x1b[K";

}  // namespace

WaitingLine::WaitingLine(const Terminal& terminal, std::string what)
    : terminal_(terminal), what_(std::move(what)), thread_([this] { show(); }) {}

WaitingLine::~WaitingLine() {
  {
    const std::lock_guard lock(mutex_);
    over_ = true;
  }
  over_now_.notify_all();
  thread_.join();
}

void WaitingLine::show() {
  const auto is_over = [this] { return over_; };
  std::unique_lock lock(mutex_);
  if (over_now_.wait_for(lock, kBeforeFirstLine, is_over)) return;
  if (!terminal_.interactive) return write_to_stderr(fmt::format("{}\n", what_));
  do {
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begun_).count();
    const std::string line = fmt::format("{} ({:.1f} s)", what_, seconds);
    write_to_terminal(kClearWaitingLine + (terminal_.columns > 1 ? clipped(line, terminal_.columns - 1) : line));
  } while (!over_now_.wait_for(lock, kBetweenLines, is_over));
  write_to_terminal(kClearWaitingLine);
}

}  // namespace evo::cli
