#include "cli/text/table.h"

#include <catch2/catch_test_macros.hpp>

#include "cli/text/format.h"

using namespace evo::cli;

namespace {
const Terminal kNoTerminal;

Table example_table() {
  Table table({{"name"}, {"us", Table::Align::right}, {"genes"}});
  table.add({"first", "4.573", "a=1 b=2"});
  table.add({"x", "12.34", ""}, Style::good);
  return table;
}
}  // namespace

TEST_CASE("columns are aligned, without trailing spaces and without colour outside a terminal") {
  CHECK(example_table().text(kNoTerminal) == "name      us  genes\nfirst  4.573  a=1 b=2\nx      12.34\n");
  CHECK(example_table().text(kNoTerminal, 2).starts_with("  name "));
}

TEST_CASE("a terminal shows colour") {
  CHECK(example_table().text({.interactive = true, .colour = true, .columns = 0}).find("\x1b[32mx") !=
        std::string::npos);
}

TEST_CASE("the last column is wrapped to the terminal with a hanging indent") {
  Table table({{"id"}, {"genome"}});
  table.add({"17", "alpha=1 beta=2 gamma=3 delta=4 epsilon=5"});
  CHECK(table.text({.interactive = true, .colour = false, .columns = 30}) ==
        "id  genome\n17  alpha=1 beta=2 gamma=3\n    delta=4 epsilon=5\n");
}

TEST_CASE("the width of a column counts characters, not bytes") {
  Table table({{"a"}, {"b"}});
  table.add({"\xC2\xB5s", "1"});
  table.add({"xyz", "2"});
  CHECK(table.text(kNoTerminal) == "a    b\n\xC2\xB5s   1\nxyz  2\n");
}

TEST_CASE("control characters of stored text do not reach the terminal") {
  Table table({{"reason"}});
  table.add({"bad\x1b[2Jthing\nnext"});
  CHECK(table.text(kNoTerminal) == "reason\nbad [2Jthing next\n");
}

TEST_CASE("figures have their significant digits") {
  CHECK(microseconds(4.5731) == "4.573");
  CHECK(microseconds(12.345) == "12.35");
  CHECK(microseconds(3482.4) == "3482");
  CHECK(grouped(std::uint64_t{12345678}) == "12,345,678");
  CHECK(grouped(std::uint64_t{999}) == "999");
  CHECK(grouped(1e25) == "1e+25");
  CHECK(percent(0.5) == "50 %");
  CHECK(percent(0.034) == "3.4 %");
  CHECK(duration_text(59.4) == "59 s");
  CHECK(duration_text(185) == "3 min 05 s");
  CHECK(duration_text(7800) == "2 h 10 min");
}
