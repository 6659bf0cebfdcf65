// A kind of device that evo does not ship: it is registered in one place (worker/recorded_device.cpp).

#include "engine/device/device_kind.h"

#include <fmt/format.h>
#include <unistd.h>

#include <catch2/matchers/catch_matchers_floating_point.hpp>

#include "engine/search/search.h"
#include "engine/space/space.h"
#include "engine/strategy/strategies.h"
#include "engine/task/target.h"
#include "evaluator/hosts/devices.h"
#include "tests/evaluator/worker/recorded_device.h"
#include "toy_task.h"

using namespace evo;
using namespace evo::testing;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::WithinRel;

namespace {

namespace fs = std::filesystem;

constexpr const char* kFamilyJson = R"json({
  "summary": "adds in tiles",
  "genes": [ {"name": "tile", "values": [1, 2, 4, 8]}, {"name": "stages", "values": [1, 2, 3]} ],
  "launches": [ {"kernel": "add", "grid": ["ceil_div(N, 128)", "1", "1"], "block": ["128", "1", "1"],
                 "arguments": ["a", "b", "c", "N"]} ]
})json";

std::string source_of(int tile, int stages) {
  return fmt::format("honest tile={} stages={}\n", tile, stages);
}

/// The toy task with shapes for the recorded kind, and a family of twelve genomes.
SourceTree recorded_tree() {
  SourceTree tree = toy_tree("honest");
  std::string& task = tree.at("toy/task.json");
  const std::string sets = "\"sets\": {";
  task.insert(task.find(sets) + sets.size(),
              fmt::format(R"( "{}": {{ "timed": ["middle"], "validated": ["tiny"] }},)", kRecorded));
  tree["toy/tiled/family.json"] = kFamilyJson;
  tree["toy/tiled/kernel.cu"] = "honest tile=${tile} stages=${stages}\n";
  return tree;
}

/// The fastest is tile=4 stages=3, with 5 us.
LatencyRecording recording() {
  LatencyRecording latencies;
  for (const int tile : {1, 2, 4, 8}) {
    for (const int stages : {1, 2, 3}) latencies[source_of(tile, stages)] = 11 - 2 * stages + (tile - 4) * (tile - 4);
  }
  return latencies;
}

class TemporaryFile {
 public:
  TemporaryFile() : path_(fs::temp_directory_path() / fmt::format("evo_recording_{}", ::getpid())) {}
  ~TemporaryFile() { fs::remove(path_); }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

class AllEvaluations final : public Archive {
 public:
  std::optional<Recalled> recall(const Proposal&) override { return std::nullopt; }
  void record(const Proposal&, const Candidate& candidate, const Evaluation& evaluation) override {
    evaluations.push_back(evaluation);
    sources.push_back(candidate.programs.front().source);
  }
  std::vector<Evaluation> evaluations;
  std::vector<std::string> sources;
};

}  // namespace

TEST_CASE("a kind of device is registered in one place, and a search on it finds the best candidate") {
  const TemporaryFile file;
  write_recording(file.path(), recording());

  PipelineOptions options;
  options.tree = recorded_tree();
  options.task = load_task(options.tree, "toy");
  options.device = resolve_device(fmt::format("{}:{}", kRecorded, file.path().string()));
  options.target = make_target(options.task, options.device.kind, {}, {});
  options.compile_workers = 2;
  options.worker_command = {EVO_TEST_WORKER, "real"};
  const std::vector<Family> families = load_families(options.tree, options.task);
  const Bindings facts = facts_of(options.device.limits);
  const Space space(families, facts, specialisations_of(options.task, options.target));
  const auto build = [&](const Genome& genome) {
    return make_candidate(options.tree, options.task, families.front(), genome, options.target, facts);
  };

  AllEvaluations archive;
  const std::unique_ptr<Strategy> strategy = make_strategy("evolve", space, 7);
  const std::unique_ptr<DevicePipeline> pipeline = make_pipeline(options);
  CHECK(pipeline->width() == kind_named(kRecorded).width);
  const SearchResult result = search(*strategy, *pipeline, archive, build, {.evaluations = 100, .out_of_time = {}}, {});

  CHECK(result.exhausted);
  REQUIRE(archive.evaluations.size() == 12);
  for (const Evaluation& evaluation : archive.evaluations) {
    INFO(evaluation.reason);
    REQUIRE(evaluation.verdict == Verdict::valid);
    REQUIRE(evaluation.timings.size() == 1);  // No cold one.
    CHECK(evaluation.timings.front().modelled);
  }
  const auto best = std::ranges::min_element(archive.evaluations, {}, &Evaluation::latency_us);
  CHECK_THAT(best->latency_us, WithinRel(5.0, 1e-9));
  CHECK(archive.sources.at(static_cast<std::size_t>(best - archive.evaluations.begin())) == source_of(4, 3));

  const InterleavedTimings timings =
      pipeline->time_interleaved({toy_candidate(options, source_of(4, 3)), toy_candidate(options, source_of(1, 1))}, 9);
  CHECK(timings.modelled);
  REQUIRE(timings.rounds_us.at(0).size() == 1);  // Modelled latencies need one round only.
  REQUIRE(timings.rounds_us.at(1).size() == 1);
  CHECK_THAT(timings.rounds_us[0][0], WithinRel(5.0, 1e-9));
  CHECK_THAT(timings.rounds_us[1][0], WithinRel(18.0, 1e-9));
}

TEST_CASE("the kinds that evo ships come first, and every registered kind is offered") {
  const std::vector<std::string_view> names = kind_names();
  REQUIRE(names.size() == 3);
  CHECK(names[0] == "cuda");
  CHECK(names[1] == "vgpu");
  CHECK(names[2] == kRecorded);
  CHECK_THROWS_WITH(resolve_device("nonsense:1"),
                    ContainsSubstring("'nonsense:1' is no device: there are auto, cuda:N, "
                                      "vgpu and vgpu:MODEL") &&
                        ContainsSubstring("recorded:FILE"));
  CHECK_THROWS_WITH(kind_named("nonsense"), ContainsSubstring("nonsense") && ContainsSubstring("cuda, vgpu, recorded"));
  CHECK_THROWS_WITH(resolve_device("recorded:/nonexistent"), ContainsSubstring("there is no recording"));
  CHECK(open_device("vgpu")->info().id == open_device("vgpu:h200")->info().id);
}

TEST_CASE("task.json and mutants may name any registered kind, and no other") {
  SourceTree tree = recorded_tree();
  CHECK(load_task(tree, "toy").shape_sets.at(kRecorded).timed == std::vector<std::string>{"middle"});
  std::string& task = tree.at("toy/task.json");
  task.replace(task.find("\"recorded\""), 10, "\"unknown\"");
  CHECK_THROWS_WITH(load_task(tree, "toy"), ContainsSubstring("unknown key 'unknown'"));
}
