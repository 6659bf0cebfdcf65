#pragma once

#include <atomic>

namespace evo::cli {

/// While it exists, the first Ctrl-C (also SIGTERM or SIGHUP) sets a flag that asks for a clean end; the second ends
/// the process at once with exit code 130. Whatever the database has committed is kept in both cases. Only one may
/// exist at a time.
class InterruptGuard {
 public:
  InterruptGuard();
  ~InterruptGuard();
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;

  const std::atomic<bool>& requested() const;
};

/// For worker processes. The terminal sends Ctrl-C to them, too, but their parent ends them.
void ignore_interrupts();

}  // namespace evo::cli
