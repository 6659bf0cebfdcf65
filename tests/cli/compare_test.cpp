#include "cli/commands/compare.h"

#include "bench.h"

using namespace evo::testing;

namespace {

const std::vector<std::string> kComparedRun = {"run",     "--task", "toy",    "--device", "vgpu",
                                               "--evals", "12",     "--seed", "1",        "--quiet"};

std::vector<std::string> elites_of(const Bench& bench) {
  std::vector<std::string> ids;
  const nlohmann::json elites = bench.json({"elites"});
  for (const auto& elite : elites["elites"]) ids.push_back(std::to_string(elite["candidate"].get<int>()));
  return ids;
}

}  // namespace

TEST_CASE("modelled candidates are compared exactly", "[long]") {
  const ToyBench bench;
  REQUIRE(bench.evo(kComparedRun).code == 0);
  const auto ids = elites_of(bench);
  REQUIRE(ids.size() == 3);
  const nlohmann::json json = bench.json({"compare", ids[0], ids[2], ids[0]});
  const auto& rows = json["candidates"];
  CHECK(json["timing"] == "modelled");
  CHECK(rows[0]["verdict"].is_null());
  CHECK(rows[1]["rounds_us"] == nlohmann::json::array({rows[1]["median_us"]}));
  CHECK(rows[1]["verdict"] == (rows[1]["median_us"] > rows[0]["median_us"] ? "SLOWER" : "SAME"));
  CHECK(rows[2]["verdict"] == "SAME");
  CHECK(rows[2]["ratio"]["mean"] == 1.0);
  const Outcome text = bench.evo({"compare", ids[2], ids[0]});
  CHECK(text.code == 0);
  CHECK(text.out.find("modelled times are exact") != std::string::npos);
}

TEST_CASE("only valid candidates that compete are compared") {
  const ToyBench bench;
  REQUIRE(bench.evo(kComparedRun).code == 0);
  std::vector<std::string> other = kComparedRun;
  other.insert(other.end(), {"--shapes", "large"});
  REQUIRE(bench.evo(other).code == 0);
  const auto ids = elites_of(bench);
  REQUIRE(ids.size() == 6);
  check_refused(bench.evo({"compare", ids[0]}), 2, {"name two candidates or more"});
  check_refused(bench.evo({"compare", ids[0], ids[3]}), 2, {"cannot be compared"});
  check_refused(bench.evo({"compare", ids[0], "999"}), 2, {"no candidate 999"});
  check_refused(bench.evo({"compare", ids[0], "x"}), 2, {"x"});
}

TEST_CASE("the message for a candidate that does not compile names the architecture that it was made for") {
  const ToyBench bench;
  bench.write("templates/toy/plain/kernel.cu", "#if __CUDA_ARCH__ < 900\n#error no such instruction\n#endif\n" +
                                                   bench.read("templates/toy/plain/kernel.cu"));
  REQUIRE(bench.evo(kComparedRun).code == 0);
  const auto ids = elites_of(bench);
  check_refused(bench.evo({"compare", ids[0], ids[1], "--device", "vgpu:l4"}), 3,
                {"candidate " + ids[0] + " was made for sm_90a, another architecture than sm_89 of vgpu:l4"});
}

TEST_CASE("each candidate is compared with the first, and failures are reported") {
  evo::InterleavedTimings timings;
  timings.rounds_us = {{10, 11, 10, 11, 10}, {9, 9.9, 9.1, 9.8, 9}, {}};
  timings.failures = {std::nullopt, std::nullopt, "it broke"};
  const evo::cli::Comparison comparison = evo::cli::comparison_of({4, 5, 6}, timings);
  CHECK(comparison.rounds == 5);
  CHECK(comparison.rows[0].median_us == 10);
  CHECK(comparison.rows[1].rounds_us == timings.rounds_us[1]);
  CHECK_FALSE(comparison.rows[0].against);
  REQUIRE(comparison.rows[1].against);
  CHECK(ranking(*comparison.rows[1].against) == evo::Ranking::faster);
  CHECK_FALSE(comparison.rows[2].against);
  CHECK(comparison.rows[2].failure == "it broke");
}
