// Draws as tasks write them.

#include "engine/task/draw.h"

#include <cmath>

#include "tests/engine/support.h"

using namespace evo;
using namespace evo::test;
using Catch::Matchers::ContainsSubstring;

namespace {

std::vector<Number> numbers(std::string_view text, bool floating = true) {
  return evaluate(parse_draw(text, floating), {{"V", std::int64_t{50}}});
}

}  // namespace

TEST_CASE("a draw has a kind and numbers, which are expressions") {
  CHECK(parse_draw("integers(0, V - 1)", false).kind == DrawKind::integers);
  CHECK(numbers("integers(0, V - 1)") == std::vector<Number>{std::int64_t{0}, std::int64_t{49}});
  CHECK(parse_draw("indices(V)", false).kind == DrawKind::indices);
  CHECK(parse_draw("permutation", false).kind == DrawKind::permutation);
  CHECK(parse_draw("@table.npy", true).path == "table.npy");
  CHECK(numbers("{1, 2.5, -3}") == std::vector<Number>{std::int64_t{1}, 2.5, std::int64_t{-3}});
  CHECK(numbers("0.25") == std::vector<Number>{0.25});
  CHECK(std::isnan(as_double(numbers("nan").front())));
}

TEST_CASE("numbers that are left out have their usual values") {
  CHECK(numbers("uniform") == std::vector<Number>{std::int64_t{0}, std::int64_t{1}});
  CHECK(numbers("uniform", false) == std::vector<Number>{std::int64_t{0}, std::int64_t{100}});
  CHECK(numbers("normal(5)") == std::vector<Number>{std::int64_t{5}, std::int64_t{1}});
  CHECK(numbers("ones") == std::vector<Number>{std::int64_t{1}});
  CHECK(numbers("zeros").empty());
}

TEST_CASE("what is no draw is refused with the names there are") {
  const auto complaint = [](std::string_view text) { return complaint_of([&] { parse_draw(text, true); }); };
  CHECK_THAT(complaint("gaussian"), ContainsSubstring("'gaussian' is no filling") && ContainsSubstring("page_table"));
  CHECK_THAT(complaint("integers(1)"), ContainsSubstring("integers takes 2 numbers"));
  CHECK_THAT(complaint("uniform(1,2,3)"), ContainsSubstring("uniform takes 2 numbers"));
  CHECK_THAT(complaint("normal(1"), ContainsSubstring("a bracket is not closed"));
}
