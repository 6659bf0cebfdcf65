#include "evaluator/timing/comparison_queue.h"

#include <catch2/catch_test_macros.hpp>
#include <memory>
#include <stdexcept>
#include <vector>

using namespace evo;

namespace {

std::shared_ptr<SharedTiming> new_timing() {
  return std::make_shared<SharedTiming>(std::vector<Candidate>(1), 10, EnoughRounds());
}

const SharedTiming* next_for(const ComparisonQueue& queue, std::size_t lane, bool joins = true) {
  const QueuedTiming* const next = queue.next_for(lane, joins);
  return next == nullptr ? nullptr : next->timing.get();
}

}  // namespace

TEST_CASE("a lane takes the oldest comparison that no other works on, and else joins the oldest") {
  ComparisonQueue queue;
  CHECK(next_for(queue, 0) == nullptr);
  const auto first = new_timing(), second = new_timing();
  queue.add(first, std::nullopt);
  queue.add(second, std::nullopt);
  CHECK(next_for(queue, 0) == first.get());
  queue.begin(*first);
  CHECK(next_for(queue, 1) == second.get());
  queue.begin(*second);
  CHECK(next_for(queue, 2) == first.get());
  CHECK(next_for(queue, 2, false) == nullptr);
}

TEST_CASE("a comparison of one lane is left alone by the others") {
  ComparisonQueue queue;
  const auto own = new_timing();
  queue.add(own, 1);
  CHECK(next_for(queue, 0) == nullptr);
  CHECK(next_for(queue, 1) == own.get());
}

TEST_CASE("a comparison whose lane failed waits for another one, and leaves once it has ended") {
  ComparisonQueue queue;
  const auto one = new_timing();
  queue.add(one, std::nullopt);
  queue.begin(*one);
  queue.leave(*one);
  CHECK(queue.next_for(1, false) != nullptr);
  queue.begin(*one);
  queue.begin(*one);
  one->end();
  CHECK(next_for(queue, 2) == nullptr);  // It is not joined any more.
  queue.leave(*one);
  CHECK(queue.empty());
  queue.leave(*one);  // The other lane.
}

TEST_CASE("comparisons of a lane that leaves fail with it, all others when no lane is left") {
  ComparisonQueue queue;
  const auto own = new_timing(), others = new_timing();
  auto result_of_own = own->result(), result_of_others = others->result();
  queue.add(own, 1);
  queue.add(others, std::nullopt);
  const auto why = std::make_exception_ptr(std::runtime_error("it left"));
  queue.fail_those_of(1, why);
  CHECK_THROWS_AS(result_of_own.get(), std::runtime_error);
  CHECK(next_for(queue, 0) == others.get());
  queue.fail_all(why);
  CHECK_THROWS_AS(result_of_others.get(), std::runtime_error);
  CHECK(queue.empty());
}
