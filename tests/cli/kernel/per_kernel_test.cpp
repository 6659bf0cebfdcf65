// What a kernel takes is its own: a kernel beside it in the file that is not launched changes nothing.
#include <catch2/matchers/catch_matchers_string.hpp>

#include "tests/cli/bench.h"

using namespace evo::testing;
using Catch::Matchers::ContainsSubstring;

namespace {

/// Tries every genome of one of the files of tests/data/per_kernel.
Outcome tune(const Bench& bench, const std::string& file) {
  std::filesystem::copy(std::filesystem::path(EVO_TEST_DATA) / "per_kernel", bench.folder(),
                        std::filesystem::copy_options::recursive);
  Outcome outcome = bench.evo({"tune", file, "--device", "vgpu", "--evals", "4", "--quiet"});
  REQUIRE(outcome.code == 0);
  return outcome;
}

/// The order of the genomes is random: their numbers are, too.
std::string candidate_of_threads(const Bench& bench, int threads) {
  const auto elites = bench.json({"elites"})["elites"];
  for (const auto& elite : elites)
    if (elite["genome"]["genes"]["threads"] == threads) return elite["candidate"].dump();
  FAIL("no elite of " << threads << " threads");
  return "";
}

}  // namespace

TEST_CASE("a kernel of few registers has blocks of 1024 threads though its reference in the same file has many",
          "[long]") {
  for (const char* file : {"k.json", "alone.json"}) {
    const Bench bench;
    CHECK_THAT(tune(bench, file).out, ContainsSubstring("2 evaluated: 2 valid"));
    // Each kernel's facts are stored, and the table asks for those of the launched one.
    const auto elites = bench.json({"elites"})["elites"];
    CHECK(elites.size() == 2);
    for (const auto& elite : elites) CHECK(elite["registers"] < 32);
  }
}

TEST_CASE("a kernel is not refused because its neighbour spills, and its neighbour's spills are not shown as its own") {
  const Bench bench;
  CHECK_THAT(tune(bench, "spills_of_another_k.json").out, ContainsSubstring("2 evaluated: 2 valid"));
  const auto build = bench.json({"show", "1"})["evaluation"]["builds"][0];
  CHECK(build["kernels"]["k"]["spill_bytes"] == 0);
  CHECK(build["kernels"]["k"]["launched"] == true);
  CHECK(build["kernels"]["k_plain"]["spill_bytes"] > 0);
  CHECK(build["kernels"]["k_plain"]["launched"] == false);
}

TEST_CASE("a kernel that spills is refused by its name") {
  const Bench bench;
  std::filesystem::copy(std::filesystem::path(EVO_TEST_DATA) / "per_kernel", bench.folder(),
                        std::filesystem::copy_options::recursive);
  bench.change("spills_of_another_k.json", "another_k.cu:k\"", "another_k.cu:k_plain\"");
  const Outcome outcome =
      bench.evo({"tune", "spills_of_another_k.json", "--device", "vgpu", "--evals", "2", "--quiet"});
  CHECK_THAT(outcome.out + outcome.err,
             ContainsSubstring("kernel k_plain: ") && ContainsSubstring("bytes of register spills"));
}

TEST_CASE("the cost model takes the launched kernel's own registers", "[long]") {
  const Bench bench;
  tune(bench, "k.json");
  const std::string candidate = candidate_of_threads(bench, 64);
  const auto shown = bench.json({"show", candidate})["evaluation"];
  // 64 threads of 10 registers. With the 128 of its neighbour an SM would hold eight.
  CHECK(shown["residency"][0]["blocks"] == 32);
  CHECK(bench.json({"model", candidate})["shapes"][0]["launches"][0]["blocks_per_sm"] == 32);
}
