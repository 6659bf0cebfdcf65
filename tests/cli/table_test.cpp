#include "cli/text/table.h"

#include <catch2/catch_test_macros.hpp>

#include "cli/subject/elite_table.h"
#include "cli/text/format.h"
#include "cli/text/spread.h"

using namespace evo::cli;

namespace {
const Terminal kNoTerminal;

Table example_table() {
  Table table({"name", ">us", "genes"});
  table.add({"first", "4.573", "a=1 b=2"});
  table.add({"x", "12.34", ""}, Style::good);
  return table;
}

evo::EliteRow elite(int rank, const std::string& family, const evo::Bindings& genes) {
  evo::EliteRow row;
  row.rank = rank;
  row.candidate = 10 + rank;
  row.genome = {family, genes};
  row.latency_us = 4 + rank;
  row.worst_relative_l2 = 0.03;
  row.registers = 128;
  evo::Timing& timing = row.timings.emplace_back();
  timing.shape = "mission";
  timing.median_us = 4 + rank;
  timing.low_us = 3.9 + rank;
  timing.high_us = 4.2 + rank;
  for (const std::string_view check : evo::kEliteChecks) row.checks.push_back({.name = std::string(check), .note = ""});
  return row;
}

const evo::Value kTwo = std::int64_t{2};
const evo::Value kThree = std::int64_t{3};
}  // namespace

TEST_CASE("columns are aligned, without trailing spaces and without colour outside a terminal") {
  CHECK(example_table().text(kNoTerminal) == "name      us  genes\nfirst  4.573  a=1 b=2\nx      12.34\n");
  CHECK(example_table().text(kNoTerminal, 2).starts_with("  name "));
}

TEST_CASE("headings never stand over nothing") {
  CHECK(Table({"name", ">us"}).text(kNoTerminal, 2) == "");
}

TEST_CASE("a terminal shows colour") {
  CHECK(example_table().text({.interactive = true, .colour = true, .columns = 0}).find("\x1b[32mx") !=
        std::string::npos);
}

TEST_CASE("the last column is wrapped to the terminal with a hanging indent") {
  Table table({"id", "genome"});
  table.add({"17", "alpha=1 beta=2 gamma=3 delta=4 epsilon=5"});
  CHECK(table.text({.interactive = true, .colour = false, .columns = 30}) ==
        "id  genome\n17  alpha=1 beta=2 gamma=3\n    delta=4 epsilon=5\n");
}

TEST_CASE("the width of a column counts characters, not bytes") {
  Table table({"a", "b"});
  table.add({"\xC2\xB5s", "1"});
  table.add({"xyz", "2"});
  CHECK(table.text(kNoTerminal) == "a    b\n\xC2\xB5s   1\nxyz  2\n");
}

TEST_CASE("control characters of stored text do not reach the terminal") {
  Table table({"reason"});
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

TEST_CASE("elites are shown with the genes in which they differ, and the others once") {
  const std::string text = elite_table({elite(1, "wgmma", {{"copy", true}, {"stages", kTwo}, {"tile", kTwo}}),
                                        elite(2, "wgmma", {{"copy", true}, {"stages", kThree}, {"tile", kTwo}})},
                                       kNoTerminal);
  CHECK(text ==
        "  rank  id  measured us  95 % interval   error  registers  genome\n"
        "     1  11        5.000  4.900 to 5.200   0.03        128  wgmma: stages=2\n"
        "     2  12        6.000  5.900 to 6.200   0.03        128  wgmma: stages=3\n"
        "  all wgmma  copy=true tile=2\n");
}

TEST_CASE("an elite that stands for several genomes says for how many") {
  std::vector<evo::EliteRow> rows = {elite(1, "wgmma", {{"stages", kTwo}}), elite(2, "wgmma", {{"stages", kThree}})};
  CHECK(elite_table(rows, kNoTerminal).find("genomes") == std::string::npos);
  rows[1].genomes = 12;
  CHECK(elite_table(rows, kNoTerminal).find("128       12  wgmma: stages=3") != std::string::npos);
}

TEST_CASE("only elites of one family are taken together") {
  const std::string text = elite_table(
      {elite(1, "wgmma", {{"copy", true}, {"stages", kTwo}}), elite(2, "mma_sync", {{"copy", true}, {"stages", kTwo}}),
       elite(3, "wgmma", {{"copy", true}, {"pdl", kTwo}, {"stages", kThree}})},
      kNoTerminal);
  CHECK(text.find("  wgmma: stages=2\n") != std::string::npos);
  CHECK(text.find("  mma_sync: copy=true stages=2\n") != std::string::npos);
  CHECK(text.find("  wgmma: pdl=2 stages=3\n") != std::string::npos);
  CHECK(text.ends_with("  all wgmma  copy=true\n"));
}

TEST_CASE("a single elite, and elites that share nothing, are shown with their whole genomes") {
  const std::string one = elite_table({elite(1, "wgmma", {{"copy", true}, {"stages", kTwo}})}, kNoTerminal);
  CHECK(one.ends_with("  wgmma: copy=true stages=2\n"));
  CHECK(one.find("genome\n") != std::string::npos);
  const std::string two =
      elite_table({elite(1, "a", {{"stages", kTwo}}), elite(2, "b", {{"stages", kThree}})}, kNoTerminal);
  CHECK(two.find("  a: stages=2\n") != std::string::npos);
  CHECK(two.ends_with("  b: stages=3\n"));
}

TEST_CASE("a modelled latency has no interval, nor has a mean over shapes") {
  evo::EliteRow row = elite(1, "wgmma", {{"stages", kTwo}});
  row.modelled = true;
  CHECK(elite_table({row}, kNoTerminal).find("interval") == std::string::npos);
  row.modelled = false;
  row.timings.push_back(row.timings.front());
  CHECK(elite_table({row}, kNoTerminal).find("interval") == std::string::npos);
}

TEST_CASE("the spread of samples is a bar whose ends are their 1st and 99th percentile") {
  CHECK(spread_bar({2, 1, 3, 4}, 4) == "████");
  CHECK(spread_bar({1, 1, 1, 1, 1, 1, 1, 1, 5}, 4) == "█  ▁");
  std::vector<double> samples(98, 1);
  samples.insert(samples.end(), {2, 1000});
  CHECK(spread_bar(samples, 3) == "█ ▁");  // The outlier is left out.
  CHECK(spread_bar({3, 3, 3}).empty());
  CHECK(spread_bar({}).empty());
}
