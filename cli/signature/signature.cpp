#include "cli/signature/signature.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <utility>

#include "cli/run/fixed_width_evaluator.h"
#include "cli/selftest/selftest.h"
#include "cli/sources/shipped_places.h"
#include "cli/sources/templates.h"
#include "cli/subject/lookup.h"
#include "cli/subject/recordings.h"
#include "engine/base/error.h"
#include "engine/base/hash.h"
#include "engine/base/rng.h"
#include "engine/replay/replay.h"
#include "engine/search/search.h"
#include "engine/strategy/strategies.h"
#include "evaluator/pipeline/pipeline.h"
#include "population/store/store.h"

namespace evo::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kDevice = "vgpu:h200";
constexpr std::uint64_t kSeed = 1, kSalt = 1;
constexpr std::size_t kWidth = 2;

/// A search on the virtual GPU. The first shape is timed, all are validated.
struct DeviceSearch {
  std::string task;
  std::vector<std::string> shapes;
  std::uint64_t evaluations = 0;
};

/// A file or folder of evo's own.
fs::path shipped(const std::string& name) {
  for (const fs::path& place : shipped_places(name))
    if (fs::exists(place)) return place;
  throw machine_error(
      fmt::format("{} is not beside {}: evo bench needs it", name, fs::read_symlink("/proc/self/exe").string()));
}

SourceTree shipped_templates() {
  return read_templates(shipped("templates"));
}

Target target_of(const Task& task, const DeviceInfo& device, const std::vector<std::string>& shapes) {
  Target target = make_target(task, device.kind, {shapes.front()}, task.default_options());
  target.validated.clear();
  for (const std::string& shape : shapes) target.validated.push_back(task.shape(shape));
  return target;
}

RunInfo run_info(const Task& task, const DeviceInfo& device, const Target& target, const SourceTree& tree) {
  RunInfo info;
  info.task = task.name;
  info.task_hash = task.hash;
  info.files = files_of_task(tree, task.name);
  info.device = record_of(device);
  info.target = target;
  info.objective = objective_of(target);
  info.strategy = "evolve";
  info.seed = kSeed;
  info.salt = kSalt;
  return info;
}

std::unique_ptr<Evaluator> evaluator(const Task& task, const SourceTree& tree, const DeviceInfo& device,
                                     const Target& target) {
  PipelineOptions options{
      .task = task, .tree = tree, .target = target, .device = device, .salt = kSalt, .competing = true};
  return std::make_unique<FixedWidthEvaluator>(make_pipeline(std::move(options)), kWidth);
}

/// Latencies and errors are rounded: the last digits may depend on the host's mathematical library.
std::vector<std::string> recorded_lines(const Store& store, RunId run) {
  std::vector<std::string> lines;
  for (const OutcomeRow& row : store.outcomes(run))
    lines.push_back(fmt::format("{} {} {} us, error {:.3g}", to_text(row.genome), name_of(row.verdict),
                                row.latency_us ? fmt::format("{:.6g}", *row.latency_us) : "no",
                                row.worst_relative_l2.value_or(-1)));
  for (const EliteRow& row : store.elites()) lines.push_back(fmt::format("elite {}: {}", row.rank, row.candidate));
  return lines;
}

std::vector<std::string> lines_of(const DeviceSearch& what) {
  const SourceTree tree = shipped_templates();
  Task task = find_task(tree, what.task);
  task.seeds = 1;
  const DeviceInfo device = find_device(kDevice);
  const Target target = target_of(task, device, what.shapes);
  const Space space = make_space(tree, task, device, target, "");
  const auto build = [&](const Genome& genome) {
    return make_candidate(tree, task, space.family(genome.family), genome, target, facts_of(device.limits));
  };
  Store store = Store::open(":memory:", Store::Mode::write);
  const RunId run = store.begin_run(run_info(task, device, target, tree));
  // Fewer founders than usual: most of so short a search shall be bred.
  const auto strategy = make_strategy("evolve:founders=4", space, kSeed);
  SearchLimits limits;
  limits.evaluations = what.evaluations;
  search(*strategy, *evaluator(task, tree, device, target), *store.archive(run), build, limits, {});
  return recorded_lines(store, run);
}

/// Planted faults of a task, with its default options, and the verdicts on them.
std::vector<std::string> fault_lines(const std::string& task, const std::vector<std::string>& mutants) {
  const SourceTree tree = shipped_templates();
  std::vector<std::string> lines;
  for (const SelftestRow& row : run_selftest(tree, find_task(tree, task), find_device(kDevice), mutants, kSalt).rows)
    lines.push_back(fmt::format("{} {}", row.mutant.name, name_of(row.verdict)));
  return lines;
}

/// A model's prediction of each row, within a fifth of what was recorded.
std::vector<PredictedLatency> rough_predictions(const Recording& recording) {
  Rng rng(kSeed);
  std::vector<PredictedLatency> predicted(recording.rows.size());
  for (std::size_t i = 0; i < predicted.size(); ++i) {
    const double factor = 0.8 + 0.4 * rng.unit();
    if (recording.rows[i].latency_us) predicted[i].latency = factor * *recording.rows[i].latency_us;
  }
  return predicted;
}

/// The rows that each strategy visits, in order.
std::vector<std::string> replay_lines(const std::string& file) {
  const Recording recording = open_recordings(shipped(file)).front();
  const RecordedSpace space(recording);
  const std::vector<PredictedLatency> predicted = rough_predictions(recording);
  const ReplayLimits plain{.evaluations = 80, .width = kWidth};
  ReplayLimits guided = plain;
  guided.screen = 4;
  guided.presearch = 40;
  guided.ahead = 2;
  std::vector<std::string> lines;
  const auto add = [&](const std::string& strategy, const ReplayLimits& limits) {
    for (const std::uint64_t seed : {kSeed, kSeed + 1}) {
      const auto rows = replay(space, strategy, seed, limits, {}, predicted);
      lines.push_back(fmt::format("{}, screen {}, seed {}: {}", strategy, limits.screen, seed, fmt::join(rows, " ")));
    }
  };
  for (const char* strategy : {"evolve", "random", "annealing", "genetic", "local"}) add(strategy, plain);
  add("evolve", guided);
  for (const Genome& genome : best_genomes(recording, 3)) lines.push_back("best: " + to_text(genome));
  return lines;
}

SignaturePart part(DeviceSearch what) {
  return {what.task, [what = std::move(what)] { return lines_of(what); }};
}

}  // namespace

std::vector<SignaturePart> signature_parts() {
  return {
      part({"softmax", {"small", "small_five"}, 24}),
      part({"gemm_bf16", {"cube128", "smallest"}, 16}),
      part({"fp8_sdpa", {"small", "tail77"}, 10}),
      {"faults in rms_norm",
       [] {
         return fault_lines("rms_norm",
                            {"honest", "missing_epsilon", "out_of_bounds_write", "input_mutation", "missing_barrier"});
       }},
      {"recorded synthetic", [] { return replay_lines("tests/data/replay/synthetic.csv"); }},
      {"recorded fp8_sdpa", [] { return replay_lines("tests/data/sweeps/fp8_sdpa_mma_sync_1_8_512_64_h200.json.gz"); }},
  };
}

std::string signature_of(const std::vector<std::string>& lines) {
  Hasher hasher;
  for (const std::string& line : lines) hasher.add(line);
  return hasher.hex().substr(0, 4);
}

}  // namespace evo::cli
