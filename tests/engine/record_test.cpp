#include "engine/record/record.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers.hpp>
#include <cmath>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "engine/record/enumerators.h"
#include "engine/record/record_json.h"

namespace evo::record_test {

enum class Colour { red, green, dark_blue };

struct Inner {
  int depth = 0;
};

struct Outer {
  std::string name;
  Colour colour = Colour::red;
  std::optional<double> share;
  std::vector<Inner> parts;
  std::map<std::string, bool> flags;
  Inner lent;
  std::uint8_t small = 0;
};

struct Forgetful {
  int listed = 0;
  int forgotten = 0;
};

}  // namespace evo::record_test

namespace evo {

using record_test::Forgetful;
using record_test::Inner;
using record_test::Outer;

EVO_FIELDS(Inner, depth);
template <>
inline constexpr auto kFields<Outer> = std::tuple(Field{"name", &Outer::name}, Field{"colour", &Outer::colour},
                                                  Field{"share", &Outer::share}, Field{"parts", &Outer::parts},
                                                  Field{"flags", &Outer::flags}, Field{"", &Outer::lent},
                                                  Field{"small", &Outer::small});
EVO_FIELDS(Forgetful, listed);

}  // namespace evo

using namespace evo;
using evo::record_test::Colour;
using nlohmann::json;

static_assert(lists_all_fields<Outer>());
static_assert(!lists_all_fields<Forgetful>(), "a member without a field is noticed");

namespace {

json sample() {
  return {
      {"name", "n"}, {"colour", "dark_blue"}, {"share", nullptr}, {"parts", {{{"depth", 3}}}}, {"flags", {{"f", true}}},
      {"depth", -7}, {"small", 200}};
}

std::string why_refused(const char* field, const json& value) {
  json broken = sample();
  broken[field] = value;
  try {
    from_json<Outer>(broken, "outer");
  } catch (const RecordError& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("an enumeration's values and names are those that the compiler knows") {
  CHECK(kEnumerators<Colour> == 3);
  CHECK(enumerator_name(Colour::dark_blue) == "dark_blue");
  CHECK(enumerator_named<Colour>("green") == Colour::green);
  CHECK_FALSE(enumerator_named<Colour>("blue"));
}

TEST_CASE("a record becomes an object of its fields and back, those of an inlined record among them") {
  const auto record = from_json<Outer>(sample(), "outer");
  CHECK(record.colour == Colour::dark_blue);
  CHECK_FALSE(record.share);
  CHECK(record.parts.at(0).depth == 3);
  CHECK(record.lent.depth == -7);
  CHECK(record.small == 200);
  CHECK(to_json<json>(record) == sample());
}

TEST_CASE("a field that is missing, of another type or beyond its range is refused by its name") {
  CHECK(why_refused("small", 256) == "field small is no integer within its range");
  CHECK(why_refused("small", -1) == "field small is no integer within its range");
  CHECK(why_refused("small", 1.5) == "field small is no integer within its range");
  CHECK(why_refused("depth", std::int64_t{1} << 40) == "field depth is no integer within its range");
  CHECK(why_refused("name", 3) == "field name is no text");
  CHECK(why_refused("colour", "pink") == "field colour has no such value");
  CHECK(why_refused("share", "much") == "field share is no number");
  CHECK(why_refused("parts", json::object()) == "field parts is no list");
  CHECK(why_refused("flags", {{"f", 1}}) == "field flags is no boolean");
  json missing = sample();
  missing.erase("depth");
  CHECK_THROWS_AS(from_json<Outer>(missing, "outer"), RecordError);
  CHECK_THROWS_AS(from_json<Outer>(json::array(), "outer"), RecordError);
}

TEST_CASE("a field that may be empty may be missing, and a number that is none is null") {
  json partial = sample();
  partial.erase("share");
  CHECK_FALSE(from_json<Outer>(partial, "outer").share);
  CHECK(std::isnan(from_json<double>(json::parse(to_json<json>(std::nan("")).dump()), "number")));
}
