#include "evaluator/base/parallel.h"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
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

void parallel_each(std::size_t count, const std::function<std::function<void(std::size_t index)>()>& make_worker) {
  std::atomic<std::size_t> next{0};
  std::exception_ptr failure;
  std::mutex failing;
  const auto drain = [&] {
    try {
      const auto work = make_worker();
      for (std::size_t i = next++; i < count; i = next++) work(i);
    } catch (...) {
      const std::lock_guard lock(failing);
      failure = std::current_exception();
      next = count;
    }
  };
  {
    std::vector<std::jthread> threads;
    const std::size_t most = std::min(static_cast<std::size_t>(usable_cores()), count);
    for (std::size_t i = 0; i < most; ++i) threads.emplace_back(drain);
  }
  if (failure) std::rethrow_exception(failure);
}

}  // namespace evo
