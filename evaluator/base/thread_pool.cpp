#include "evaluator/base/thread_pool.h"

#include <algorithm>
#include <optional>

#include "evaluator/base/cores.h"

namespace evo {

ThreadPool::ThreadPool(int threads) {
  for (int i = 0; i < threads; ++i) {
    threads_.emplace_back([this] {
      while (const std::optional<std::function<void()>> work = queue_.next()) (*work)();
    });
  }
}

ThreadPool::~ThreadPool() {
  queue_.close();
  for (std::thread& thread : threads_) thread.join();
}

ThreadPool& shared_pool() {
  constexpr int kMost = 15;
  // Never destroyed: a process may end while its threads wait.
  static auto* const pool = new ThreadPool(std::clamp(usable_cores() - 1, 1, kMost));
  return *pool;
}

}  // namespace evo
