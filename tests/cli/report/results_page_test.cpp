// evo results: pages of what a database holds.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>

#include "cli/text/format.h"
#include "cli/text/markdown.h"
#include "tests/cli/bench.h"

using namespace evo::testing;
namespace fs = std::filesystem;

namespace {

const char* const kPage = "pages/nvidia_h200_virtual/toy.md";

/// A search of the toy task.
void search_toy(const Bench& bench, const std::vector<std::string>& more) {
  std::vector<std::string> arguments = {"run", "--task", "toy", "--evals", "6", "--quiet"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  if (std::ranges::find(more, "--device") == more.end()) arguments.insert(arguments.end(), {"--device", "vgpu"});
  REQUIRE(bench.evo(arguments).code == 0);
}

/// A rival that adds two arrays of f32 in 1 us.
const char* const kRival = R"python(import array, json, sys
for line in sys.stdin:
    message = json.loads(line)
    if message["type"] == "task":
        answer = {"rivals": [{"name": "python | adds", "version": "3"}]}
    elif message["type"] == "run":
        for files in message["sets"]:
            a, b = (array.array("f", open(tensor["file"], "rb").read()) for tensor in files["inputs"])
            with open(files["outputs"][0]["file"], "wb") as file:
                array.array("f", [x + y for x, y in zip(a, b)]).tofile(file)
        answer = {}
    else:
        answer = {"us": 1.0}
    print(json.dumps(answer), flush=True)
)python";

bool has_long_line(const std::string& page) {
  std::istringstream lines(page);
  for (std::string line; std::getline(lines, line);)
    if (line.size() > evo::cli::kMarkdownColumns && !line.starts_with("|")) return true;
  return false;
}

}  // namespace

TEST_CASE("a results page has the best kernel of each objective and shape, its search, its genome and its rivals",
          "[long]") {
  const ToyBench bench;
  search_toy(bench, {"--seed", "3"});
  search_toy(bench, {"--seed", "4", "--shapes", "large"});
  search_toy(bench, {"--seed", "5", "--objective", "accurate"});
  bench.write("rival.py", kRival);
  const auto elites = bench.json({"elites"})["elites"];
  const std::string best =
      std::to_string(bench.json({"elites", "--objective", "latency middle"})["elites"][0]["candidate"].get<int>());
  REQUIRE(bench.evo({"baseline", best, "--rival", "python3 rival.py", "--rounds", "3"}).code == 0);

  const Outcome outcome = bench.evo({"results", "-o", "pages"});
  CHECK(outcome.code == 0);
  CHECK(outcome.out == std::string(kPage) + "\n");
  const std::string page = bench.read(kPage);
  CHECK(page.starts_with("# toy: the fastest kernels on NVIDIA H200 (virtual)\n<!-- Written by evo results"));
  CHECK(holds(page, "\n## latency, mode=exact\n"));
  CHECK(holds(page, "\n## accurate, mode=exact\n"));
  CHECK(holds(page, "evo run --task toy --device vgpu:h200 --objective latency --option mode=exact --shapes SHAPE"));
  // A row for each best elite: its latency, and the candidate of the run that it was.
  for (const auto& elite : elites) {
    if (elite["rank"] != 1) continue;
    const std::string latency = "| **" + evo::cli::microseconds(elite["latency_us"].get<double>()) + "** |";
    INFO(latency);
    CHECK(holds(page, latency));
  }
  CHECK(holds(page, "(middle) | **"));
  CHECK(holds(page, "(large) | **"));
  CHECK(holds(page, " of 6 in "));
  CHECK(holds(page, ", seed 3, "));
  CHECK(holds(page, "\nTheir genomes:\n"));
  // The rival: in the row of its kernel and in the table of the sitting.
  CHECK(holds(page, " of python \\| adds (1.000 us) |"));
  CHECK(holds(page, "(middle).** 1 round in turns on "));
  CHECK(holds(page, "| **candidate " + best + "** | evo "));
  // A modelled latency has no interval.
  CHECK_FALSE(holds(page, "95 % interval"));
  CHECK(holds(page, "modelled us"));
  CHECK_FALSE(has_long_line(page));

  // The same database gives the same page, and a filter a part of it.
  REQUIRE(bench.evo({"results", "-o", "pages"}).code == 0);
  CHECK(bench.read(kPage) == page);
  REQUIRE(bench.evo({"results", "-o", "pages", "--objective", "accurate"}).code == 0);
  CHECK_FALSE(holds(bench.read(kPage), "## latency"));
}

TEST_CASE("a results page shows latency over error where kernels leave a choice", "[long]") {
  const Bench bench;
  const char* const page = "pages/nvidia_h200_virtual/softmax.md";
  REQUIRE(bench
              .evo({"run", "--task", "softmax", "--device", "vgpu", "--shapes", "small", "--evals", "4", "--seed", "1",
                    "--quiet"})
              .code == 0);
  const auto fronts = bench.json({"front", "--task", "softmax"})["fronts"];
  REQUIRE(fronts.size() == 1);
  REQUIRE(fronts[0]["candidates"][1]["on_front"] == true);
  REQUIRE(bench.evo({"results", "-o", "pages"}).code == 0);
  CHECK(holds(bench.read(page), "![latency over error, small](pictures/softmax_small.svg)"));
  const std::string picture = bench.read("pages/nvidia_h200_virtual/pictures/softmax_small.svg");
  CHECK(holds(picture, "evo, the front"));
  // The same as evo front draws of that shape.
  REQUIRE(bench.evo({"front", "--task", "softmax", "--svg", "front.svg"}).code == 0);
  CHECK(bench.read("front.svg") == picture);
  // A page that is written again takes its former pictures with it, and nothing else.
  bench.write("pages/nvidia_h200_virtual/pictures/mine.svg", "by hand");
  bench.write("pages/nvidia_h200_virtual/pictures/former.svg", "of before");
  bench.write(page,
              bench.read(page) + "\n![latency over error, gone](pictures/former.svg)\n![above](../../front.svg)\n");
  REQUIRE(bench.evo({"results", "-o", "pages"}).code == 0);
  CHECK_FALSE(fs::exists(bench / "pages/nvidia_h200_virtual/pictures/former.svg"));
  CHECK(bench.read("pages/nvidia_h200_virtual/pictures/mine.svg") == "by hand");
  CHECK(bench.read("front.svg") == picture);
  CHECK(bench.read("pages/nvidia_h200_virtual/pictures/softmax_small.svg") == picture);

  // Another task of the same device has a page of its own.
  const std::string of_softmax = bench.read(page);
  REQUIRE(bench.evo({"run", "--task", "quantise", "--device", "vgpu", "--evals", "2", "--quiet"}).code == 0);
  CHECK(bench.evo({"results", "-o", "pages", "--task", "quantise"}).out == "pages/nvidia_h200_virtual/quantise.md\n");
  CHECK(bench.read(page) == of_softmax);
}

TEST_CASE(
    "a page for each task and model of device; a page that was written by hand stays, and nothing else is written") {
  const ToyBench bench;
  CHECK(bench.evo({"results", "-o", "pages"}).code == 2);  // No database yet.
  search_toy(bench, {"--seed", "1"});
  search_toy(bench, {"--seed", "1", "--device", "vgpu:l4"});
  fs::create_directories(bench / "pages/nvidia_l4_virtual");
  bench.write("pages/nvidia_l4_virtual/toy.md", "# Mine\nby hand\n");
  check_refused(bench.evo({"results", "-o", "pages"}), 2,
                {"pages/nvidia_l4_virtual/toy.md was not written by evo results"});
  CHECK_FALSE(fs::exists(bench / kPage));
  CHECK(bench.read("pages/nvidia_l4_virtual/toy.md") == "# Mine\nby hand\n");
  CHECK(bench.evo({"results", "-o", "others"}).out ==
        "others/nvidia_h200_virtual/toy.md\nothers/nvidia_l4_virtual/toy.md\n");
  CHECK(bench.evo({"results", "-o", "one", "--device", "l4"}).out == "one/nvidia_l4_virtual/toy.md\n");
  bench.write("file", "");
  check_refused(bench.evo({"results", "-o", "file/pages"}), 3, {"cannot make the folder file/pages"});
}

TEST_CASE("kernels of an older version of a task are shown on demand, and marked") {
  const ToyBench bench;
  search_toy(bench, {"--seed", "1"});
  bench.write("templates/toy/more.cuh", "// changed\n");
  search_toy(bench, {"--seed", "1"});
  REQUIRE(bench.evo({"results", "-o", "now"}).code == 0);
  CHECK_FALSE(holds(bench.read("now/nvidia_h200_virtual/toy.md"), "older version"));
  REQUIRE(bench.evo({"results", "-o", "all", "--all"}).code == 0);
  CHECK(holds(bench.read("all/nvidia_h200_virtual/toy.md"),
              "\nOf an older version of the task, which has changed since.\n"));
}

TEST_CASE("Markdown: cells are escaped, and lines are wrapped between words") {
  using namespace evo::cli;
  CHECK(markdown_row({"a|b", "c\nd"}) == "| a\\|b | c d |\n");
  CHECK(markdown_heading_row({"a", "b"}) == "| a | b |\n|---|---|\n");
  const std::string word(59, 'x');
  CHECK(wrapped(word + "  " + word + "\n" + word, 2) == word + " " + word + "\n  " + word + "\n");
  const std::string longest(130, 'y');
  CHECK(wrapped("a " + longest + " b") == "a\n" + longest + "\nb\n");
  CHECK(wrapped("") == "\n");
}
