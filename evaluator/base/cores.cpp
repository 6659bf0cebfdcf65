#include "evaluator/base/cores.h"

#include <sched.h>
#include <sys/resource.h>

#include <algorithm>
#include <thread>

namespace evo {
namespace {

/// A tenth of the weight of others.
constexpr int kYielding = 10;

}  // namespace

int usable_cores() {
  cpu_set_t mask;
  if (sched_getaffinity(0, sizeof(mask), &mask) == 0) return std::max(1, CPU_COUNT(&mask));
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

void yield_cores() {
  ::setpriority(PRIO_PROCESS, 0, kYielding);  // Linux counts priorities by thread.
}

}  // namespace evo
