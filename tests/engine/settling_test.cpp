#include "engine/search/settling.h"

#include <catch2/catch_test_macros.hpp>

using namespace evo;

namespace {

/// Adds answers of this latency until there are so many.
void observe_until(Settling& settling, std::uint64_t& ticket, std::uint64_t answers, std::optional<double> latency_us) {
  while (ticket < answers) settling.observe(ticket++, latency_us);
}

}  // namespace

TEST_CASE("a search says nothing of its chances before it has a few answers, one of them valid") {
  Settling settling;
  std::uint64_t ticket = 0;
  observe_until(settling, ticket, 23, 10);
  CHECK_FALSE(settling.chance());
  settling.observe(ticket++, 10);
  CHECK(settling.chance().value() > Settling::kUnlikely);
  Settling failing;
  ticket = 0;
  observe_until(failing, ticket, 100, std::nullopt);
  CHECK_FALSE(failing.chance());
}

TEST_CASE("without gains the chance falls until it is unlikely, and a gain raises it again") {
  Settling settling;
  std::uint64_t ticket = 0;
  observe_until(settling, ticket, 30, 10);
  double last = settling.chance().value();
  while (settling.chance().value() >= Settling::kUnlikely) {
    REQUIRE(ticket < 400);
    settling.observe(ticket++, 10);
    CHECK(settling.chance().value() < last);
    last = settling.chance().value();
  }
  CHECK(ticket > 80);
  settling.observe(ticket++, 9.95);  // Less than 1 % faster: no gain.
  CHECK(settling.chance().value() < Settling::kUnlikely);
  settling.observe(ticket++, 9.5);
  CHECK(settling.chance().value() > Settling::kUnlikely);
}

TEST_CASE("a gain that was retracted is none") {
  Settling with, without;
  for (std::uint64_t ticket = 0; ticket < 120; ++ticket) {
    with.observe(ticket, ticket == 110 ? 5 : 10);
    without.observe(ticket, ticket == 110 ? std::nullopt : std::optional(10.0));
  }
  CHECK(with.chance() > without.chance());
  with.retract(110);
  CHECK(with.chance() == without.chance());
}
