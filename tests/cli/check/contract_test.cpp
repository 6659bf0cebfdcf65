// Which task the claim of an exported file is checked against.

#include "tests/cli/bench.h"

using namespace evo::testing;

namespace {

void edit(const Bench& bench, const std::string& file, const std::string& from, const std::string& to) {
  std::string text = bench.read(file);
  const std::size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  bench.write(file, text.replace(at, from.size(), to));
}

/// Has a bench search its toy task and exports the best as best.cu.
void export_best(const Bench& bench) {
  REQUIRE(bench.evo({"run", "--task", "toy", "--device", "vgpu", "--evals", "3", "--seed", "1", "--quiet"}).code == 0);
  REQUIRE(bench.evo({"export", "-o", "best.cu"}).code == 0);
}

}  // namespace

TEST_CASE("a file whose task allows more than the installed one is checked against the installed one", "[long]") {
  const Bench lax, here, without_task;
  write_toy_task(lax);
  write_toy_task(here);
  edit(lax, "templates/toy/task.json", R"("relative_l2": 0.0001, "cosine": 0.9999)",
       R"("relative_l2": 0.4, "cosine": 0.5)");
  // A fifth too much everywhere, whatever the seed.
  edit(lax, "templates/toy/plain/kernel.cu", "c[i${item}] = a", "c[i${item}] = 1.2f * (a");
  edit(lax, "templates/toy/plain/kernel.cu", "b[i${item}];", "b[i${item}]);");
  export_best(lax);
  for (const Bench* bench : {&here, &without_task}) bench->write("best.cu", lax.read("best.cu"));

  const Outcome there = lax.evo({"verify", "best.cu"});
  CHECK(there.code == 0);
  CHECK_FALSE(holds(there.out, "checked against"));
  const Outcome checked = here.evo({"verify", "best.cu"});
  CHECK(checked.code == 1);
  CHECK(holds(checked.out, "checked against the task toy of this machine's templates: the one in the file differs"));
  CHECK(holds(checked.out, "not reproduced: wrong_answer"));
  CHECK(holds(checked.out, "limit 0.0001"));
  CHECK(here.json({"verify", "best.cu"}, 1)["contract"] == "installed");

  // Without an installed task of that name the file's own task counts, and a line reports it.
  const Outcome unknown = without_task.evo({"verify", "best.cu"});
  CHECK(unknown.code == 0);
  CHECK(holds(unknown.out, "checked against the task toy in the file: this machine's templates have no such task"));
  CHECK(without_task.json({"verify", "best.cu"})["contract"] == "brought");
  // The templates may be named.
  CHECK(without_task.evo({"verify", "best.cu", "--templates", (here / "templates").string()}).code == 1);
}

TEST_CASE("a file is validated on the shapes of the installed task, whichever shapes it names") {
  const ToyBench bench;
  edit(bench, "templates/toy/plain/kernel.cu", "if (i${item} < N)", "if (i${item} < N && N != 5)");
  edit(bench, "templates/toy/task.json", R"("timed": ["middle"], "validated": ["tiny", "middle"])",
       R"("timed": ["middle"], "validated": ["middle"])");
  export_best(bench);
  write_toy_task(bench);
  const Outcome outcome = bench.evo({"verify", "best.cu"});
  CHECK(outcome.code == 1);
  CHECK(holds(outcome.out, "wrong_answer: shape tiny"));
}

TEST_CASE("a shape or a kernel that does not fit the installed task is refused in one line") {
  const ToyBench bench;
  edit(bench, "templates/toy/task.json", R"("middle": { "N": 700 })", R"("middle": { "N": 70 })");
  export_best(bench);
  write_toy_task(bench);
  check_refused(
      bench.evo({"verify", "best.cu"}), 2,
      {"best.cu cannot be checked against the task toy of these templates", "its shape middle has other sizes here"});
  export_best(bench);
  edit(bench, "templates/toy/task.json", R"("name": "b")", R"("name": "addend")");
  edit(bench, "templates/toy/task.json", R"("arguments": ["a", "b", "c", "N"])",
       R"("arguments": ["a", "addend", "c", "N"])");
  check_refused(bench.evo({"verify", "best.cu"}), 2,
                {"best.cu cannot be checked against the task toy of these templates"});
}

TEST_CASE("a file that agrees with the installed templates is verified without a notice, and so is a candidate",
          "[long]") {
  const ToyBench bench;
  export_best(bench);
  for (const char* subject : {"best.cu", "1"}) {
    const nlohmann::json verified = bench.json({"verify", subject});
    CHECK(verified["contract"] == "same");
    CHECK(verified["reproduced"] == true);
  }
}
