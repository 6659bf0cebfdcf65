#include <cmath>

#include "bench.h"
#include "process.h"

using namespace evo::testing;

namespace {

const std::string kSweeps = EVO_TEST_DATA "/sweeps/";
const std::string kWgmma = kSweeps + "fp8_sdpa_wgmma_1_8_512_64_h200.json.gz";
const std::string kMmaSync = kSweeps + "fp8_sdpa_mma_sync_1_8_512_64_h200.json.gz";

nlohmann::json fits(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), {"model", "--templates", kTemplates, "--json"});
  const Outcome outcome = run_evo(arguments);
  REQUIRE(outcome.code == 0);
  return nlohmann::json::parse(outcome.out)["sweeps"];
}

}  // namespace

TEST_CASE("the model ranks kernels as an H200 did", "[sweep]") {
  const auto sweeps = fits({"--against", kWgmma, "--against", kMmaSync, "--limit", "48", "--keep", EVO_TEST_KEPT});
  REQUIRE(sweeps.size() == 2);
  for (const auto& sweep : sweeps) {
    INFO(sweep.dump());
    CHECK(sweep["device"] == "vgpu:h200");
    CHECK(sweep["shape"] == "1,8,512,64");
    CHECK(sweep["genomes"] == 48);
    CHECK(sweep["failed"] == 0);
    CHECK(sweep["spearman"].get<double>() > 0.7);
  }
  CHECK(sweeps[0]["family"] == "wgmma");
  CHECK(sweeps[1]["family"] == "mma_sync");
}

TEST_CASE("consecutive draws have no genome in common, and cached programs change nothing") {
  const Bench bench;
  const auto csv = [&](const std::string& skip, const std::string& file) {
    fits({"--against", kMmaSync, "--limit", "2", "--skip", skip, "--keep", (bench / "kept").string(), "--csv",
          (bench / file).string(), "--svg", (bench / "plot.svg").string()});
    return bench.read(file);
  };
  const std::string first = csv("0", "a.csv");
  CHECK(first == csv("0", "b.csv"));
  CHECK(first != csv("2", "c.csv"));
  CHECK(bench.files().size() == 4 + 4);
  const std::string svg = bench.read("plot.svg");
  CHECK(svg.starts_with("<svg "));
  CHECK(svg.find("1,8,512,64") != std::string::npos);
  CHECK(svg.find("mma_sync: rank correlation") != std::string::npos);
}

TEST_CASE("genomes that failed on the GPU are modelled on request, and do not count in the fit") {
  const Bench bench;
  const std::vector<std::string> few = {"--against", kMmaSync, "--limit", "2"};
  const auto plain = fits(few);
  std::vector<std::string> more = few;
  more.insert(more.end(), {"--failed-too", "--csv", (bench / "all.csv").string()});
  const auto all = fits(more);
  CHECK(all[0]["genomes"] == 3);  // one of the sweep gave a wrong answer
  CHECK(all[0]["median_ratio"] == plain[0]["median_ratio"]);
  const std::string csv = bench.read("all.csv");
  CHECK(csv.find("h200,0.0000,") != std::string::npos);
}

TEST_CASE("a genome's modelled time is broken down by launch, pipe and stall") {
  const Bench bench;
  bench.write(
      "genome.json",
      R"({"family": "mma_sync", "genes": {"tile_q": 32, "warps_q": 2, "warps_k": 1, "tile_k": 32, "copy": "cp_async",
    "stages": 2, "arrival": "together", "smem_layout": "xor", "q_operand": "registers", "qk_math": "f16", "qk_interleave": 1,
    "pv_math": "f16", "v_operand": "ldmatrix", "exponential": "ex2_f32", "row_sum": "adds", "rescale": "always", "kv_split": 2,
    "kv_order": "forward", "unroll": 1, "register_cap": 0, "min_blocks": 1, "pdl": false}})");
  const std::vector<std::string> arguments = {"model",    "--templates", kTemplates, "--task",       "fp8_sdpa",
                                              "--genome", "genome.json", "--shapes", "small,mission"};
  const auto json = bench.json(arguments);
  CHECK(json["device"] == "vgpu:h200");
  REQUIRE(json["shapes"].size() == 2);
  const auto& mission = json["shapes"][1];
  CHECK(mission["measured_us"].is_null());
  REQUIRE(mission["launches"].size() == 2);
  CHECK(mission["launches"][1]["kernel"] == "fp8_sdpa_combine");
  CHECK(mission["modelled_us"].get<double>() ==
        mission["launches"][0]["latency_us"].get<double>() + mission["launches"][1]["latency_us"].get<double>());
  CHECK(mission["modelled_us"].get<double>() > json["shapes"][0]["modelled_us"].get<double>());
  CHECK(mission["launches"][0]["busy"]["tensor core"].get<double>() > 0);
  double stalls = 0;
  for (const auto& share : mission["launches"][0]["stalls"]) stalls += share.get<double>();
  CHECK(std::abs(stalls - 1) < 1e-6);

  std::vector<std::string> explained = arguments;
  explained.push_back("--explain");
  const std::string text = bench.evo(explained).out;
  for (const char* part : {"fp8_sdpa_combine", "busy: tensor core", "warps wait for:", "waves",
                           "the dearest lines of fp8_sdpa", "bound by", "launch"}) {
    INFO(part);
    CHECK(text.find(part) != std::string::npos);
  }
  bench.write("illegal.json", R"({"family": "mma_sync", "genes": {"tile_q": 31}})");
  std::vector<std::string> illegal = arguments;
  illegal[6] = "illegal.json";
  check_refused(bench.evo(illegal), 2, {"--genome"});
}

TEST_CASE("evo model refuses a file that is no sweep of a known task in one line") {
  const Bench bench;
  check_refused(run_evo({"model"}), 2, {"--against"});
  check_refused(run_evo({"model", "--against", "nothing.json"}), 2, {"no file nothing.json"});
  bench.write("list.json", "[1, 2]");
  check_refused(bench.evo({"model", "--templates", kTemplates, "--against", "list.json"}), 2,
                {"list.json", "Kernel Tuner"});
  bench.write("deep.json", R"({"kernel_name": "t", "device_name": "d", "problem_size": [)" + std::string(200'000, '[') +
                               std::string(200'000, ']') + "]}");
  check_refused(bench.evo({"model", "--templates", kTemplates, "--against", "deep.json"}), 2,
                {"deep.json", "nested deeper than 64 levels"});
  const auto sweep = [](const std::string& task, const std::string& gene) {
    return R"({"schema_version": "1.1.0", "device_name": "NVIDIA H200", "kernel_name": ")" + task +
           R"(", "problem_size": [1, 8, 512, 64], "tune_params_keys": [")" + gene + R"("], "tune_params": {")" + gene +
           R"(": [1, 2]}, "objective": "time", "cache": {"1": {")" + gene + R"(": 1, "time": 1.0}, "2": {")" + gene +
           R"(": 2, "time": 2.0}}})";
  };
  bench.write("task.json", sweep("no_task", "x"));
  check_refused(bench.evo({"model", "--templates", kTemplates, "--against", "task.json"}), 2, {"no_task"});
  std::string several = sweep("fp8_sdpa", "x");
  bench.write("several.json", several.replace(several.find("[1, 8, 512, 64]"), 15, "\"mission large\""));
  check_refused(bench.evo({"model", "--templates", kTemplates, "--against", "several.json"}), 2,
                {"several.json is of the shapes mission large: evo model compares sweeps of one shape"});
  bench.write("gene.json", sweep("fp8_sdpa", "x"));
  check_refused(bench.evo({"model", "--templates", kTemplates, "--against", "gene.json"}), 2,
                {"no family of the task fp8_sdpa"});
}

TEST_CASE("evo model refuses options that do not apply to its input") {
  const ToyBench bench;
  REQUIRE(bench.evo({"run", "--task", "toy", "--device", "vgpu", "--evals", "1", "--quiet"}).code == 0);
  using Arguments = std::vector<std::string>;
  const auto with = [&](const Arguments& subject, const Arguments& options) {
    Arguments arguments = {"model"};
    arguments.insert(arguments.end(), subject.begin(), subject.end());
    arguments.insert(arguments.end(), options.begin(), options.end());
    return bench.evo(arguments);
  };
  CHECK(with({"1"}, {"--shapes", "tiny", "--cold", "--explain"}).code == 0);
  for (const Arguments& options : {Arguments{"--task", "toy"},
                                   {"--option", "mode=exact"},
                                   {"--csv", "a.csv"},
                                   {"--svg", "a.svg"},
                                   {"--limit", "2"},
                                   {"--skip", "2"},
                                   {"--failed-too"}})
    check_refused(with({"1"}, options), 2, {options.front(), "a candidate's ID"});
  for (const Arguments& options : {Arguments{"--csv", "a.csv"}, {"--limit", "2"}})
    check_refused(with({"--task", "toy", "--genome", "{}"}, options), 2, {options.front(), "--genome"});
  for (const Arguments& options :
       {Arguments{"--task", "toy"}, {"--option", "mode=exact"}, {"--shapes", "tiny"}, {"--cold"}, {"--explain"}})
    check_refused(with({"--against", kWgmma}, options), 2, {options.front(), "--against"});
}
