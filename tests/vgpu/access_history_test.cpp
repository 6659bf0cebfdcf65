#include "evaluator/vgpu/sanitiser/access_history.h"

#include <catch2/catch_test_macros.hpp>

using namespace evo::vgpu;

namespace {

Accessor thread(std::uint32_t number, std::uint32_t now = 1, const VectorClock* known = nullptr) {
  Accessor by;
  by.thread = number;
  by.now = now;
  by.known = known;
  by.code = number;
  return by;
}

VectorClock knows(std::uint32_t of, std::uint32_t until) {
  VectorClock clock;
  clock.raise(0, of, until);
  return clock;
}

}  // namespace

TEST_CASE("a read conflicts with another thread's write unless they are ordered") {
  AccessHistory history(1024, 32);
  CHECK(!history.write(16, 4, thread(1)));
  CHECK(!history.read(16, 4, thread(1)));
  const auto conflict = history.read(16, 4, thread(2));
  REQUIRE(conflict);
  CHECK(conflict->with_write);
  CHECK(conflict->thread == 1);
  const VectorClock now = knows(1, 1), before = knows(1, 0);
  CHECK(!history.read(16, 4, thread(2, 1, &now)));
  CHECK(history.read(16, 4, thread(3, 1, &before)));
}

TEST_CASE("a write conflicts with each read since the last write") {
  AccessHistory history(1024, 32);
  for (const std::uint32_t reader : {1u, 40u, 80u}) CHECK(!history.read(0, 16, thread(reader)));
  VectorClock two = knows(1, 1);
  two.raise(0, 80, 1);
  const auto conflict = history.write(0, 16, thread(2, 1, &two));
  REQUIRE(conflict);
  CHECK(!conflict->with_write);
  CHECK(conflict->thread == 40);
  CHECK(!history.write(0, 16, thread(2)));  // The reads were before its own write.
}

TEST_CASE("cells become as fine as the accesses need: neighbouring bytes do not conflict") {
  AccessHistory history(4096, 32);
  CHECK(!history.write(0, 16, thread(1)));
  CHECK(!history.write(16, 1, thread(2)));
  CHECK(!history.write(17, 1, thread(3)));
  CHECK(!history.write(18, 2, thread(4)));
  CHECK(history.read(16, 2, thread(2)));
  // The parts of a cell keep its last write.
  CHECK(history.read(15, 1, thread(5)));
  CHECK(history.write(1020, 8, thread(6)) == std::nullopt);
  CHECK(history.read(1024, 4, thread(7)));
}

TEST_CASE("a copy in flight conflicts with every access, even of its own thread") {
  AccessHistory history(1024, 32);
  CHECK(!history.begin_write(32, 16, thread(1)));
  const auto conflict = history.read(32, 4, thread(1));
  REQUIRE(conflict);
  CHECK(conflict->under_way);
  history.end_write(32, 16, thread(1), 0, 1, 3);
  CHECK(!history.read(32, 4, thread(1, 3)));
  CHECK(history.read(32, 4, thread(2)));
}

TEST_CASE("strong accesses conflict with weak ones only, and with strong ones of another block's scope") {
  AccessHistory history(1024, 32);
  Accessor strong = thread(1);
  strong.flags.strong = true;
  CHECK(!history.write(0, 4, strong));
  strong.thread = 2;
  CHECK(!history.write(0, 4, strong));
  CHECK(history.read(0, 4, thread(3)));
  strong.flags.block_scope = true;
  CHECK(!history.read(0, 4, strong));
  strong.block = 1;
  CHECK(history.read(0, 4, strong));
}

TEST_CASE("a plain read conflicts with every earlier strong write, unless an atomic has seen it") {
  SeenWrites sees;
  const auto strong = [&](std::uint32_t number, bool seen) {
    Accessor by = thread(number);
    by.flags.strong = true;
    by.sees = seen ? &sees : nullptr;
    return by;
  };
  AccessHistory unseen(1024, 32), seen(1024, 32);
  for (const std::uint32_t number : {1u, 40u, 2u}) {
    CHECK(!unseen.write(0, 4, strong(number, false)));
    CHECK(!seen.write(0, 4, strong(number, true)));
  }
  VectorClock all = knows(1, 1);
  all.raise(0, 2, 1);
  const auto conflict = unseen.read(0, 4, thread(2, 1, &all));
  REQUIRE(conflict);
  CHECK(conflict->with_write);
  CHECK(conflict->thread == 40);
  CHECK(!seen.read(0, 4, thread(2)));
  // Plain writes begin anew.
  CHECK(unseen.write(0, 4, thread(2)));
  CHECK(!unseen.read(0, 4, thread(2)));
}

TEST_CASE("a thread's own atomic does not hide its plain access from the atomics of others") {
  for (const bool writes : {false, true}) {
    AccessHistory history(1024, 32);
    Accessor first = thread(1), other = thread(40);
    first.flags.strong = other.flags.strong = true;
    CHECK(!(writes ? history.write(0, 4, thread(1)) : history.read(0, 4, thread(1))));
    CHECK(!history.write(0, 4, first));
    const auto conflict = history.write(0, 4, other);
    REQUIRE(conflict);
    CHECK(conflict->with_write == writes);
    CHECK(conflict->thread == 1);
  }
}

TEST_CASE("what a strong read sees comes before what its thread does next, and nothing else does") {
  AccessHistory history(1024, 32);
  SeenWrites seen;
  Accessor adds = thread(1), looks = thread(40);
  adds.flags.strong = looks.flags.strong = true;
  looks.sees = &seen;
  CHECK(!history.write(0, 4, thread(1)));
  AccessHistory lock(1024, 32);
  CHECK(!lock.write(0, 4, adds));
  CHECK(!lock.read(0, 4, looks));
  REQUIRE(seen.fresh.size() == 1);
  VectorClock clock;
  clock.raise(kSeenWrites, seen.fresh[0], 1);
  CHECK(!lock.write(0, 4, thread(40, 1, &clock)));
  CHECK(history.read(0, 4, thread(40, 1, &clock)));
}

TEST_CASE("volatile accesses race where one reads a value that the other writes") {
  AccessHistory history(1024, 32);
  Accessor writes = thread(1), reads = thread(40);
  writes.flags.strong = reads.flags.strong = true;
  writes.flags.writes_value = true;
  CHECK(!history.write(0, 4, writes));
  CHECK(!history.read(0, 4, reads));  // It waits for the value.
  reads.flags.reads_value = true;
  CHECK(history.read(0, 4, reads));
  CHECK(history.write(0, 4, writes));
  writes.thread = 80;
  CHECK(!history.write(0, 4, writes));
}

TEST_CASE("an asynchronous read sees threads' writes only after a proxy fence") {
  AccessHistory history(1024, 32);
  CHECK(!history.write(0, 16, thread(1)));
  const VectorClock known = knows(1, 1);
  Accessor engine = thread(2, 1, &known);
  engine.flags.asynchronous = true;
  const auto conflict = history.begin_read(0, 16, engine);
  REQUIRE(conflict);
  CHECK(conflict->unfenced);
  engine.proxied = &known;
  CHECK(!history.begin_read(0, 16, engine));
}

TEST_CASE("joining vector clocks keeps the later time of each thread") {
  VectorClock a = knows(1, 5), b = knows(2, 7);
  b.raise(3, 0, 2);
  CHECK(!a.covers(b));
  a.join(b);
  CHECK(a.covers(b));
  CHECK(a.time_of(0, 1) == 5);
  CHECK(a.time_of(0, 2) == 7);
  CHECK(a.time_of(3, 0) == 2);
  a.raise(0, 2, 9);
  CHECK(b.time_of(0, 2) == 7);  // A shared clock is cloned before it changes.
}
