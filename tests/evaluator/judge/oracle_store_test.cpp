#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <exception>
#include <future>
#include <memory>
#include <optional>

#include "engine/base/error.h"
#include "evaluator/judge/oracle.h"

using namespace evo;

namespace {

Expected answer(std::byte value) {
  return {{DType::s8, {value}}};
}

}  // namespace

TEST_CASE("an oracle that nobody computes is an error, not waited for") {
  OracleStore store(2);
  CHECK_THROWS_AS(store.get(0), Error);
  {
    OracleStore::Filling filling(store);
    filling.put(0, answer(std::byte{7}));
  }
  CHECK(store.get(0)->front().bytes.front() == std::byte{7});
  CHECK_THROWS_AS(store.get(1), Error);
}

TEST_CASE("whoever waits for an oracle learns that its computation ended without it") {
  OracleStore store(2);
  std::optional<OracleStore::Filling> filling(store);
  auto first = std::async(std::launch::async, [&] { return store.get(0); });
  auto second = std::async(std::launch::async, [&] { return store.get(1); });
  auto finished = std::async(std::launch::async, [&] { store.wait_until_finished(); });
  filling->put(0, answer(std::byte{7}));
  CHECK(first.get()->front().bytes.front() == std::byte{7});
  filling.reset();
  CHECK_THROWS_AS(second.get(), Error);
  finished.get();
}

TEST_CASE("whoever waits for an oracle gets the error of its computation") {
  OracleStore store(1);
  OracleStore::Filling filling(store);
  auto waiting = std::async(std::launch::async, [&] { return store.get(0); });
  filling.fail(std::make_exception_ptr(usage_error("the reference fails")));
  CHECK_THROWS_WITH(waiting.get(), "the reference fails");
}

TEST_CASE("an oracle is computed once by whoever asks first") {
  int computed = 0;
  OracleStore store(2, [&](std::size_t number) {
    ++computed;
    return std::make_shared<const Expected>(answer(static_cast<std::byte>(number)));
  });
  CHECK(store.get(1)->front().bytes.front() == std::byte{1});
  CHECK(store.get(1)->front().bytes.front() == std::byte{1});
  CHECK(computed == 1);
  store.wait_until_finished();
}
