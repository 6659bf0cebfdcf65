#include "evaluator/base/parallel.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "evaluator/base/cores.h"
#include "evaluator/base/thread_pool.h"

namespace evo {

namespace {

/// Chunks that several threads take one by one. A helper that comes late finds none left and touches nothing else.
class Chunks {
 public:
  Chunks(std::uint64_t count, std::uint64_t chunk, const std::function<void(std::uint64_t, std::uint64_t)>& work)
      : count_(count), chunk_(chunk), chunks_((count + chunk - 1) / chunk), work_(work) {}

  std::uint64_t chunks() const { return chunks_; }

  void take_all() {
    ++working_;
    for (std::uint64_t i = next_++; i < chunks_; i = next_++) work_(i * chunk_, std::min(count_, (i + 1) * chunk_));
    if (--working_ == 0) working_.notify_all();
  }

  /// To be called by a thread that has found none left.
  void wait_for_others() {
    for (int working = working_; working > 0; working = working_) working_.wait(working);
  }

 private:
  const std::uint64_t count_, chunk_, chunks_;
  const std::function<void(std::uint64_t, std::uint64_t)>& work_;
  std::atomic<std::uint64_t> next_{0};
  std::atomic<int> working_{0};
};

}  // namespace

void parallel_chunks(std::uint64_t count, std::uint64_t chunk,
                     const std::function<void(std::uint64_t begin, std::uint64_t end)>& work) {
  const auto chunks = std::make_shared<Chunks>(count, chunk, work);
  // More than eight threads only compete for memory bandwidth.
  const std::uint64_t threads =
      std::min<std::uint64_t>({chunks->chunks(), static_cast<std::uint64_t>(usable_cores()), 8});
  for (std::uint64_t i = 1; i < threads; ++i) shared_pool().post([chunks] { chunks->take_all(); });
  chunks->take_all();
  chunks->wait_for_others();
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
