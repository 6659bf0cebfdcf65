#include "population/export.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>

#include "cli/arguments.h"
#include "cli/atomic_file.h"
#include "cli/commands.h"
#include "cli/exit_code.h"
#include "cli/format.h"
#include "cli/lookup.h"
#include "cli/report.h"
#include "cli/restore.h"
#include "engine/error.h"
#include "evaluator/compiler.h"

namespace evo::cli {
namespace {

struct Request {
  std::string id;
  EliteFilter filter;
  std::string output;
  std::string database = kDefaultDatabase;
};

/// The rank 1 elites that match, those of the newest runs first: what was worked on last is what is meant.
std::vector<EliteRow> best_elites(const Store& store, const EliteFilter& filter) {
  std::vector<EliteRow> best;
  for (const EliteRow& row : find_elites(store, filter)) {
    if (row.rank == 1 && row.current) best.push_back(row);
  }
  std::vector<EliteRow> ordered;
  for (const RunRow& run : store.runs()) {
    const auto belongs = [&](const EliteRow& row) {
      return row.task_hash == run.info.task_hash && row.objective == run.info.objective &&
             device_key(row.device) == device_key(run.info.device);
    };
    const auto found = std::find_if(best.begin(), best.end(), belongs);
    if (found == best.end()) continue;
    ordered.push_back(*found);
    best.erase(found);
  }
  return ordered;
}

std::string filter_text(const EliteFilter& filter) {
  std::string text;
  if (!filter.task.empty()) text += " of task " + filter.task;
  if (!filter.device.empty()) text += " on " + filter.device;
  if (!filter.objective.empty()) text += " for '" + filter.objective + "'";
  return text;
}

CandidateId choose(const Store& store, const Request& request) {
  const std::vector<EliteRow> best = best_elites(store, request.filter);
  if (best.empty()) {
    throw usage_error(fmt::format("no elite{} in {}: evo elites lists what there is, evo run finds some",
                                  filter_text(request.filter), store.path().string()));
  }
  for (std::size_t i = 1; i < best.size(); ++i) {
    fmt::print(stderr,
               "not exported: candidate {}, {} (choose with an ID, --task, --device or --objective)\n",
               best[i].candidate, elite_heading(best[i]));
  }
  return best.front().candidate;
}

/// Copies of a result may be marked duplicate; only a valid kernel is worth taking away.
void refuse_invalid(const CandidateRow& row) {
  const Evaluation& evaluation = row.evaluation;
  if (evaluation.verdict == Verdict::valid) return;
  throw usage_error(fmt::format("candidate {} is not valid ({}{}): export one that evo elites lists", row.id,
                                name_of(evaluation.verdict),
                                evaluation.reason.empty() ? "" : fmt::format(": {}", evaluation.reason)));
}

/// The architecture and the register cap are told apart: they differ between programs.
std::vector<std::string> flags_beside_arch(const std::string& arch) {
  std::vector<std::string> flags = compile_options(arch, 0);
  std::erase_if(flags, [](const std::string& flag) { return flag.starts_with("--gpu-architecture"); });
  return flags;
}

ExportRequest export_request(const Restored& restored) {
  const RunInfo& info = restored.run.info;
  const Evaluation& evaluation = restored.row.evaluation;
  ExportRequest request;
  request.files = restored.files;
  request.task = restored.task;
  request.family = restored.family;
  request.programs = stored_programs(restored.row);
  request.references = references_of(restored.files, restored.task, info.target, request.programs);
  request.provenance = {.task = info.task,
                        .task_hash = info.task_hash,
                        .genome = restored.row.genome,
                        .target = info.target,
                        .device = info.device,
                        .objective = info.objective,
                        .latency_us = evaluation.latency_us,
                        .worst_relative_l2 = evaluation.worst_relative_l2,
                        .timings = evaluation.timings,
                        .salt = info.salt,
                        .run = restored.run.id,
                        .candidate = restored.row.id,
                        .evo_version = info.evo_version,
                        .nvrtc_version = info.nvrtc_version,
                        .compile_flags = flags_beside_arch(info.device.arch)};
  for (Timing& timing : request.provenance.timings) timing.samples_us.clear();
  return request;
}

std::string compile_hint(const std::string& output, const std::string& arch) {
  const std::string virtual_arch = "compute_" + arch.substr(arch.find('_') + 1);
  return fmt::format("nvcc -std=c++17 -gencode=arch={},code={} -DEVO_MAIN {} -o best && ./best", virtual_arch,
                     arch, output);
}

int export_kernel(const Request& request) {
  const std::int64_t id = request.id.empty() ? 0 : parse_id("candidate", request.id);
  const Store store = Store::open(request.database, Store::Mode::read);
  const Restored restored = restore(store, id != 0 ? id : choose(store, request));
  refuse_invalid(restored.row);
  const std::string text = export_cuda(export_request(restored));
  if (request.output.empty() || request.output == "-") {
    fmt::print("{}", text);
    return kDone;
  }
  write_file(request.output, text);
  const RunInfo& info = restored.run.info;
  fmt::print("{}: candidate {}, {} on {}, {} us {}\ncheck and time it:  {}\n", request.output,
             restored.row.id, info.task, info.device.name, microseconds(restored.row.evaluation.latency_us),
             timing_word(info.device.kind == "vgpu"), compile_hint(request.output, info.device.arch));
  return kDone;
}

}  // namespace

void add_export(CLI::App& app, Action& action) {
  auto request = std::make_shared<Request>();
  CLI::App* command =
      app.add_subcommand("export", "Write one self-contained .cu file: kernel, launcher, provenance");
  command
      ->add_option("ID", request->id, "A candidate (default: the best elite of the newest run's objective)")
      ->type_name("");
  command->add_option("--task", request->filter.task, "The best of this task")->type_name("TASK");
  command->add_option("--device", request->filter.device, "The best of this device")->type_name("DEVICE");
  command->add_option("--objective", request->filter.objective,
                      "The best of this objective, as evo elites lists it");
  command
      ->add_option("-o,--output", request->output,
                   "The file; it is replaced as a whole (default: standard output)")
      ->type_name("FILE");
  command->add_option("--db", request->database, kDatabaseHelp)->capture_default_str()->type_name("FILE");
  command->callback([request, &action] { action = [request] { return export_kernel(*request); }; });
}

}  // namespace evo::cli
