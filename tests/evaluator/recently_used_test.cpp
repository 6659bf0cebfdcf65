#include "evaluator/base/recently_used.h"

#include <catch2/catch_test_macros.hpp>
#include <memory>

using evo::RecentlyUsed;

TEST_CASE("the most recently used values stay when not all fit") {
  RecentlyUsed<int> values(300);
  values.put("a", 1, 100);
  values.put("b", 2, 100);
  values.put("c", 3, 100);
  REQUIRE(values.find("a"));
  values.put("d", 4, 100);
  CHECK(values.find("b") == nullptr);
  CHECK(*values.find("a") == 1);
  CHECK(*values.find("c") == 3);
  CHECK(*values.find("d") == 4);
}

TEST_CASE("a key that is put twice keeps its first value and counts once") {
  RecentlyUsed<int> values(300);
  values.put("a", 1, 100);
  values.put("a", 2, 100);
  CHECK(*values.find("a") == 1);
  values.put("b", 3, 200);
  CHECK(values.find("a"));
}

TEST_CASE("a value that exceeds the budget alone stays until the next value is put") {
  RecentlyUsed<int> values(300);
  values.put("a", 1, 100);
  values.put("huge", 2, 1000);
  CHECK(values.find("a") == nullptr);
  CHECK(*values.find("huge") == 2);
  values.put("b", 3, 100);
  CHECK(values.find("huge") == nullptr);
  CHECK(*values.find("b") == 3);
}

TEST_CASE("values can be evicted before a new one is made, because they may hold device memory") {
  RecentlyUsed<std::shared_ptr<int>> values(300);
  const auto held = std::make_shared<int>(1);
  values.put("a", held, 200);
  values.make_room(100);
  CHECK(held.use_count() == 2);
  values.make_room(101);
  CHECK(held.use_count() == 1);
}
