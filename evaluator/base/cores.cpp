#include "evaluator/base/cores.h"

#include <sched.h>

#include <algorithm>
#include <thread>

namespace evo {

int usable_cores() {
  cpu_set_t mask;
  if (sched_getaffinity(0, sizeof(mask), &mask) == 0) return std::max(1, CPU_COUNT(&mask));
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

}  // namespace evo
