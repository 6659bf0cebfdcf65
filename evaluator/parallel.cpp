#include "evaluator/parallel.h"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

namespace evo {

int usable_cores() {
  cpu_set_t mask;
  if (sched_getaffinity(0, sizeof(mask), &mask) == 0) return std::max(1, CPU_COUNT(&mask));
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

void parallel_chunks(std::uint64_t count, std::uint64_t chunk,
                     const std::function<void(std::uint64_t begin, std::uint64_t end)>& work) {
  const std::uint64_t chunks = (count + chunk - 1) / chunk;
  std::atomic<std::uint64_t> next{0};
  const auto drain = [&] {
    for (std::uint64_t i = next++; i < chunks; i = next++) work(i * chunk, std::min(count, (i + 1) * chunk));
  };
  // More than eight threads only compete for memory bandwidth.
  const std::uint64_t threads = std::min<std::uint64_t>({chunks, static_cast<std::uint64_t>(usable_cores()), 8});
  std::vector<std::thread> helpers;
  for (std::uint64_t i = 1; i < threads; ++i) helpers.emplace_back(drain);
  drain();
  for (std::thread& helper : helpers) helper.join();
}

}  // namespace evo
