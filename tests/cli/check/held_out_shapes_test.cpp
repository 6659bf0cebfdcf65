#include "cli/subject/held_out_shapes.h"

#include <algorithm>
#include <set>
#include <string>

#include "cli/sources/templates.h"
#include "cli/subject/long_shapes.h"
#include "engine/device/device_kind.h"
#include "engine/task/floor.h"
#include "evaluator/judge/cases.h"
#include "tests/cli/bench.h"

using namespace evo;
using namespace evo::testing;

TEST_CASE("held-out shapes are new, bounded, and of the existing specialisations") {
  const SourceTree tree = cli::read_templates(kTemplates);
  for (const char* name : {"fp8_sdpa", "fp8_qkt"}) {
    const Task task = load_task(tree, name);
    const Target target = make_target(task, "vgpu", {}, {});
    std::set<std::string> seen;
    for (std::uint64_t salt = 1; salt <= 20; ++salt) {
      const auto shapes = cli::held_out_shapes(task, target, "vgpu", salt);
      REQUIRE(shapes.size() == 2);
      for (const Shape& shape : shapes) {
        CHECK(shape.parameters.at("D") == Value(std::int64_t{64}));
        CHECK(work_of(task, target.options, shape, kind_named("vgpu")) <= 1e8);
        const auto same = [&](const Shape& known) { return known.parameters == shape.parameters; };
        CHECK(std::ranges::none_of(task.shapes, same));
        std::string text;
        for (const auto& [parameter, value] : shape.parameters) text += expr::to_string(value) + " ";
        seen.insert(text);
      }
    }
    CHECK(seen.size() > 30);
  }
}

TEST_CASE("on a device that measures one head of attention is as long as a case may cost") {
  const SourceTree tree = cli::read_templates(kTemplates);
  const Task task = load_task(tree, "fp8_sdpa");
  const auto longest = [&](const char* device, double most_work) {
    const auto shapes = cli::long_shapes(task, make_target(task, device, {}, {}), device, most_work);
    const auto in_keys = std::ranges::find_if(shapes, [](const Shape& one) { return one.name.starts_with("long_S"); });
    return expr::to_string(in_keys->parameters.at("H")) + " " + expr::to_string(in_keys->parameters.at("S"));
  };
  CHECK(longest("cuda", 1e11) == "1 16384");
  CHECK(longest("cuda", 5e12) == "1 131072");
  // Tries are few there: several heads tell more.
  CHECK(longest("vgpu", 1e8) == "4 256");
}

TEST_CASE("a kernel that is right for the validated shapes alone is no elite") {
  const ToyBench bench;
  // A kernel that is right for the sizes of the task's shapes alone.
  bench.change("templates/toy/plain/kernel.cu", "if (i${item} < N)",
               "if (i${item} < N && (N == 5 || N == 700 || N == 4000))");
  const Outcome outcome =
      bench.evo({"run", "--task", "toy", "--device", "vgpu", "--evals", "3", "--seed", "1", "--quiet"}, kChecksElites);
  CHECK(outcome.code == 1);
  CHECK(holds(outcome.err, "is no elite any more: wrong_answer"));
  CHECK(
      holds(outcome.err, "at a size that it was not validated at (if there are no kernels for it, the task says so: "));
  CHECK(holds(outcome.out, "no candidate was valid"));
}

TEST_CASE("an elite of a finished run is checked, and verify prints the sizes that it tried") {
  const ToyBench bench;
  REQUIRE(
      bench.evo({"run", "--task", "toy", "--device", "vgpu", "--evals", "3", "--seed", "1", "--quiet"}, kChecksElites)
          .code == 0);
  const nlohmann::json elite = bench.json({"elites"})["elites"][0];
  CHECK_FALSE(elite["provisional"].get<bool>());
  CHECK(elite["checks"].size() == 3);
  CHECK(elite["checks"][0]["outcome"] == "passed");
  CHECK(holds(elite["checks"][2]["note"].get<std::string>(), "N=65537"));
  const Outcome outcome = bench.evo({"verify", std::to_string(elite["candidate"].get<int>())});
  CHECK(outcome.code == 0);
  CHECK(holds(outcome.out, "  held out: N="));
  CHECK(holds(outcome.out, "  sizes: "));
}
