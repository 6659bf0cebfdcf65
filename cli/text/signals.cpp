#include "cli/text/signals.h"

#include <signal.h>
#include <unistd.h>

#include <array>
#include <string_view>

#include "cli/text/exit_code.h"

namespace evo::cli {
namespace {

constexpr std::array kSignals = {SIGINT, SIGTERM, SIGHUP};

// A signal handler can reach nothing but globals.
std::atomic<bool> interrupted{false};
std::atomic<bool> on_terminal{false};
static_assert(std::atomic<bool>::is_always_lock_free, "used in a signal handler");

void on_signal(int) {
  if (interrupted.exchange(true)) _exit(kInterrupted);
  constexpr std::string_view kClear = "\r\x1b[J";  // Live lines, and what the terminal shows of the key.
  constexpr std::string_view kNotice = "evo: finishing what is in flight; Ctrl-C again stops at once\n";
  // If the notice cannot be written there is nothing to do about it.
  [[maybe_unused]] ssize_t written = 0;
  if (on_terminal) written = write(STDERR_FILENO, kClear.data(), kClear.size());
  written = write(STDERR_FILENO, kNotice.data(), kNotice.size());
}

/// A signal that was ignored when evo started stays ignored, as nohup expects.
void handle_all(void (*handler)(int)) {
  for (const int number : kSignals) {
    struct sigaction current {};
    if (sigaction(number, nullptr, &current) == 0 && current.sa_handler == SIG_IGN) continue;
    struct sigaction action {};
    action.sa_handler = handler;
    action.sa_flags = SA_RESTART;
    sigemptyset(&action.sa_mask);
    sigaction(number, &action, nullptr);
  }
}

}  // namespace

InterruptGuard::InterruptGuard() {
  interrupted = false;
  on_terminal = isatty(STDERR_FILENO) == 1;
  handle_all(on_signal);
}

InterruptGuard::~InterruptGuard() {
  handle_all(SIG_DFL);
}

const std::atomic<bool>& InterruptGuard::requested() const {
  return interrupted;
}

void ignore_interrupts() {
  // SIGTERM stays: it is how a parent or an administrator ends a worker.
  signal(SIGINT, SIG_IGN);
  signal(SIGHUP, SIG_IGN);
}

}  // namespace evo::cli
