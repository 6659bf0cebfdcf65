#include "engine/base/csv.h"

#include "tests/engine/support.h"

using namespace evo;
using namespace evo::test;
using Catch::Matchers::ContainsSubstring;

TEST_CASE("commas separate cells, and quotation marks enclose cells that hold commas, quotation marks or line breaks") {
  const Csv csv = read_csv("a,b\r\n1,\"x, y\"\n\n \n\"say \"\"so\"\"\",\"two\nlines\"\n,", "f");
  CHECK(csv.names == std::vector<std::string>{"a", "b"});
  REQUIRE(csv.rows.size() == 3);
  CHECK(csv.rows[0].cells == std::vector<std::string>{"1", "x, y"});
  CHECK(csv.rows[1].cells == std::vector<std::string>{"say \"so\"", "two\nlines"});
  CHECK(csv.rows[2].cells == std::vector<std::string>{"", ""});
  CHECK(csv.rows[0].line == 2);
  CHECK(csv.rows[1].line == 5);
  CHECK(csv.rows[2].line == 7);
  CHECK(csv.column("b") == 1);
  CHECK(!csv.column("c"));
}

TEST_CASE("a row of another length, or a quotation mark that is never closed, is refused with its line") {
  CHECK_THAT(complaint_of([] { read_csv("a,b\n1,2\n3\n", "f"); }), ContainsSubstring("f: line 3: 1 cells, not 2"));
  CHECK_THAT(complaint_of([] { read_csv("a,b\n1,\"2\n3,4\n", "f"); }),
             ContainsSubstring("f: line 2: a quotation mark is never closed"));
}
