#pragma once

#include <atomic>

namespace evo::cli {

/// From its construction on, Ctrl-C (also SIGTERM and SIGHUP) asks for a clean end: the first sets the flag,
/// the second ends the process at once with exit code 130. What is committed stays committed either way. One
/// at a time.
class InterruptGuard {
 public:
  InterruptGuard();
  ~InterruptGuard();
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;

  const std::atomic<bool>& requested() const;
};

/// For worker processes: the terminal sends Ctrl-C to them too, but it is their parent that decides when they
/// end.
void ignore_interrupts();

}  // namespace evo::cli
