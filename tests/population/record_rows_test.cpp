// Records as rows: a record that the store has never heard of, in a table with its columns alone.
#include "population/store/record_rows.h"

#include <cmath>
#include <cstdint>
#include <optional>
#include <tuple>
#include <vector>

#include "tests/population/fixture.h"

namespace evo::record_rows_test {

enum class Shade { pale, dark };

struct Place {
  std::string host;
  std::optional<int> port;
};

struct Sample {
  Shade shade = Shade::pale;
  std::uint64_t salt = 0;
  double share = 0;
  std::vector<double> rounds_us;
  Bindings sizes;
  Place place;
  std::vector<std::string> elsewhere;
};

}  // namespace evo::record_rows_test

namespace evo {

using record_rows_test::Place;
using record_rows_test::Sample;

EVO_FIELDS(Place, host, port);
template <>
inline constexpr auto kFields<Sample> = std::tuple(Field{"shade", &Sample::shade}, Field{"salt", &Sample::salt},
                                                   Field{"share", &Sample::share},
                                                   Field{"rounds_us", &Sample::rounds_us},
                                                   Field{"sizes", &Sample::sizes}, Field{"", &Sample::place},
                                                   Field{"elsewhere", &Sample::elsewhere});

}  // namespace evo

using namespace evo;
using namespace evo::test;
using Catch::Matchers::ContainsSubstring;
using evo::record_rows_test::Shade;

namespace {

constexpr const char* kTable =
    "CREATE TABLE sample (run INTEGER, shade TEXT, salt INTEGER, share REAL, rounds_us TEXT, sizes TEXT, host TEXT, "
    "port INTEGER) STRICT";

Database database_of(const TempFolder& folder) {
  return {folder / "rows.db", Database::Access::create, 1000};
}

}  // namespace

TEST_CASE("a record is stored and read by its fields alone; lists of its own are left to others") {
  const TempFolder folder;
  Database database = database_of(folder);
  database.execute(kTable);
  const Sample sample{Shade::dark,
                      UINT64_MAX,
                      std::nan(""),
                      {0.1, 1e300},
                      {{"N", std::int64_t{7}}, {"out", "f16"}},
                      {"here", std::nullopt},
                      {"lost"}};
  RecordInserter::of<Sample>(database, "sample", "run").insert(sample, 3);
  Statement row = database.prepare("SELECT run, " + columns_of<Sample>("sample.") + " FROM sample");
  REQUIRE(row.next());
  int run = 0;
  Sample back;
  read_row(row, run, back);
  CHECK(run == 3);
  CHECK(back.shade == Shade::dark);
  CHECK(back.salt == UINT64_MAX);
  CHECK(std::isnan(back.share));
  CHECK(back.rounds_us == sample.rounds_us);
  CHECK(back.sizes == sample.sizes);
  CHECK(back.place.host == "here");
  CHECK_FALSE(back.place.port);
  CHECK(back.elsewhere.empty());
}

TEST_CASE("a record that a query does not find is empty, and the columns behind it are read all the same") {
  const TempFolder folder;
  Database database = database_of(folder);
  Statement row = database.prepare("SELECT NULL, NULL, 'there', 8, 4");
  REQUIRE(row.next());
  std::optional<Place> missing, found;
  int last = 0;
  read_row(row, missing, found, last);
  CHECK_FALSE(missing);
  CHECK(found.value().port == 8);
  CHECK(last == 4);
}

TEST_CASE("a column that does not hold what its field needs names the database") {
  const TempFolder folder;
  Database database = database_of(folder);
  Statement row = database.prepare("SELECT 'grey', '[1, \"two\"]', '{'");
  REQUIRE(row.next());
  const auto refusal = [&](auto value, int column) {
    return error_of([&] { value = value_of<decltype(value)>(row, column); });
  };
  CHECK_THAT(refusal(Shade{}, 0), ContainsSubstring("rows.db has an unreadable row: unknown value 'grey'"));
  CHECK_THAT(refusal(std::vector<double>{}, 1), ContainsSubstring("is no number"));
  CHECK_THAT(refusal(Bindings{}, 2), ContainsSubstring("unreadable row"));
}
