#include "evaluator/base/cores.h"

#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <thread>

namespace evo {
namespace {

/// A tenth of the weight of others.
constexpr int kYielding = 10;
/// The shortest slice that Linux grants (6.12 and newer; sched(7)). It keeps a core from those who wake for so long.
constexpr std::uint64_t kSliceNanoseconds = 100'000;

/// Of sched_setattr(2), first version.
struct SchedulingAttributes {
  static constexpr std::uint64_t kKeepPolicy = 8;
  std::uint32_t size = sizeof(SchedulingAttributes);
  std::uint32_t policy = 0;
  std::uint64_t flags = kKeepPolicy;
  std::int32_t nice = 0;
  std::uint32_t priority = 0;
  std::uint64_t runtime = 0;
  std::uint64_t deadline = 0;
  std::uint64_t period = 0;
};

}  // namespace

int usable_cores() {
  cpu_set_t mask;
  if (sched_getaffinity(0, sizeof(mask), &mask) == 0) return std::max(1, CPU_COUNT(&mask));
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

void yield_cores() {
  constexpr int kThisThread = 0;  // Linux counts priorities by thread.
  SchedulingAttributes attributes;
  attributes.nice = kYielding;
  attributes.runtime = kSliceNanoseconds;
  if (::syscall(SYS_sched_setattr, kThisThread, &attributes, 0) != 0)
    ::setpriority(PRIO_PROCESS, kThisThread, kYielding);
}

}  // namespace evo
