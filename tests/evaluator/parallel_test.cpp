#include "evaluator/base/parallel.h"

#include <sys/resource.h>

#include <atomic>
#include <catch2/catch_test_macros.hpp>
#include <cstdint>
#include <cstdio>
#include <future>
#include <thread>
#include <vector>

#include "evaluator/base/cores.h"
#include "evaluator/base/thread_pool.h"

using namespace evo;

TEST_CASE("every element is in one chunk, whoever else cuts up work at the same time") {
  constexpr std::uint64_t kCount = 1000;
  const auto cover = [] {
    for (int repeat = 0; repeat < 200; ++repeat) {
      std::vector<std::atomic<int>> seen(kCount);
      parallel_chunks(kCount, 7, [&](std::uint64_t begin, std::uint64_t end) {
        for (std::uint64_t i = begin; i < end; ++i) ++seen[i];
      });
      for (const std::atomic<int>& times : seen)
        if (times != 1) return false;
    }
    return true;
  };
  std::vector<std::future<bool>> others;
  for (int i = 0; i < 4; ++i) others.push_back(std::async(std::launch::async, cover));
  CHECK(cover());
  for (std::future<bool>& other : others) CHECK(other.get());
}

TEST_CASE("chunks within chunks end") {
  std::atomic<std::uint64_t> sum{0};
  parallel_chunks(64, 1, [&](std::uint64_t begin, std::uint64_t) {
    parallel_chunks(64, 1, [&](std::uint64_t inner, std::uint64_t) { sum += begin * 64 + inner; });
  });
  CHECK(sum == 4096 * 4095 / 2);
}

TEST_CASE("a pool does what it was given, and its end waits for what has begun") {
  std::promise<void> begun;
  std::atomic<bool> ended{false};
  {
    ThreadPool pool(2);
    CHECK(pool.size() == 2);
    pool.post([&] {
      begun.set_value();
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      ended = true;
    });
    begun.get_future().wait();
  }
  CHECK(ended);
}

TEST_CASE("a thread that yields cores, and what it starts, have a lower priority; others keep theirs") {
  const auto priority = [] { return ::getpriority(PRIO_PROCESS, 0); };
  const int before = priority();
  int own = 0;
  int of_started = 0;
  std::thread([&] {
    yield_cores();
    own = priority();
    FILE* started = ::popen("nice", "r");
    if (std::fscanf(started, "%d", &of_started) != 1) of_started = -1;
    ::pclose(started);
  }).join();
  CHECK(own == 10);
  CHECK(of_started == 10);
  CHECK(priority() == before);
}
