#include "engine/base/text.h"

#include <catch2/catch_test_macros.hpp>
#include <cstdint>
#include <optional>

using namespace evo;

TEST_CASE("a number is read from a text only where the whole text is one that fits") {
  CHECK(number_in<int>("42") == 42);
  CHECK(number_in<int>("-7") == -7);
  CHECK(number_in<double>("2.5e3") == 2500);
  CHECK(number_in<std::uint64_t>("ff", 16) == 255U);
  for (const char* wrong : {"", " 1", "1 ", "1x", "+1", "x", "99999999999"})
    CHECK(number_in<int>(wrong) == std::nullopt);
  CHECK(number_in<unsigned>("-1") == std::nullopt);
  CHECK(number_in<int>("0x10", 16) == std::nullopt);
}
