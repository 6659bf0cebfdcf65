#include "population/export/export.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <span>

#include "cli/commands/commands.h"
#include "cli/commands/dispatch.h"
#include "cli/commands/export_request.h"
#include "cli/commands/export_results.h"
#include "cli/commands/report.h"
#include "cli/subject/arguments.h"
#include "cli/subject/lookup.h"
#include "cli/subject/restore.h"
#include "cli/text/atomic_file.h"
#include "cli/text/exit_code.h"
#include "cli/text/format.h"
#include "cli/text/shell_words.h"
#include "cli/text/streams.h"
#include "engine/base/error.h"

namespace evo::cli {
namespace {

struct Request {
  std::string id;
  EliteFilter filter;
  std::vector<std::string> options;
  std::string output;
  std::string format;
  std::string run;
  bool dispatch = false;
  std::string database = kDefaultDatabase;
};

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
    write_to_stderr(fmt::format("not exported: candidate {}, {} (choose with an ID, --task, --device or --objective)\n",
                                best[i].candidate, elite_heading(best[i])));
  }
  return best.front().candidate;
}

std::string compile_hint(const std::string& output, std::span<const ExportRequest> kernels) {
  return fmt::format("{} -DEVO_MAIN {} -o best && ./best", nvcc_command(kernels), shell_word(output));
}

/// To standard output or, as a whole, to the file.
bool written(const Request& request, const std::string& text) {
  const bool to_file = !request.output.empty() && request.output != "-";
  if (to_file)
    write_file(request.output, text);
  else
    fmt::print("{}", text);
  return to_file;
}

int export_kernel(const Request& request) {
  const std::int64_t id = request.id.empty() ? 0 : parse_id("candidate", request.id);
  const Store store = Store::open(request.database, Store::Mode::read);
  const Restored restored = restore(store, id != 0 ? id : choose(store, request));
  const ExportRequest kernel = export_request(restored);
  if (!written(request, export_cuda(kernel))) return kDone;
  const RunInfo& info = restored.run.info;
  fmt::print("{}: candidate {}, {} on {}, {} us {}\ncheck and time it:  {}\n", request.output, restored.row.id,
             info.task, info.device.name, microseconds(restored.row.evaluation.latency_us),
             timing_word(info.device.kind == "vgpu"), compile_hint(request.output, {&kernel, 1}));
  return kDone;
}

std::string summary_of(const Provenance& provenance) {
  std::string text;
  for (const Timing& timing : provenance.timings) {
    if (timing.cold) continue;
    text += fmt::format("  {}: candidate {}, {} us {}\n", timing.shape, provenance.candidate,
                        microseconds(timing.median_us), timing_word(timing.modelled));
  }
  return text;
}

int export_several(const Request& request) {
  if (!request.id.empty()) {
    throw usage_error(
        "--dispatch takes the best of several runs: choose with --task, --device, --objective and --option, "
        "not "
        "with an ID");
  }
  const Store store = Store::open(request.database, Store::Mode::read);
  const std::vector<ExportRequest> kernels =
      dispatch_requests(store, {request.filter.task, request.filter.device, request.filter.objective, request.options});
  if (!written(request, export_dispatch(kernels))) return kDone;
  const Provenance& first = kernels.front().provenance;
  std::size_t count = 0;
  for (const ExportRequest& kernel : kernels) count += kernel.programs.size();
  fmt::print("{}: {} kernel{} of {} on {}\n", request.output, count, count == 1 ? "" : "s", first.task,
             first.device.name);
  for (const ExportRequest& kernel : kernels) fmt::print("{}", summary_of(kernel.provenance));
  fmt::print("check and time it:  {}\n", compile_hint(request.output, kernels));
  return kDone;
}

int export_format(const Request& request) {
  if (request.dispatch || !request.id.empty()) {
    throw usage_error("--format writes the results of runs: name a --run or a --task, not an ID or --dispatch");
  }
  const Store store = Store::open(request.database, Store::Mode::read);
  return export_results(store, {request.format, request.run, request.filter, request.output});
}

int export_any(const Request& request) {
  if (!request.options.empty() && !request.dispatch)
    throw usage_error("--option goes with --dispatch: name an --objective instead");
  if (!request.format.empty()) return export_format(request);
  if (!request.run.empty()) throw usage_error("--run goes with --format: it names the run whose results to write");
  return request.dispatch ? export_several(request) : export_kernel(request);
}

}  // namespace

void add_export(CLI::App& app, Action& action) {
  auto request = std::make_shared<Request>();
  CLI::App* command = app.add_subcommand("export", "Write one self-contained .cu file: kernel, launcher, provenance");
  command->add_option("ID", request->id, "A candidate (default: the best elite of the newest run's objective)")
      ->type_name("");
  command->add_option("--task", request->filter.task, "The best of this task")->type_name("TASK");
  command->add_option("--device", request->filter.device, "The best of this device")->type_name("DEVICE");
  command->add_option("--objective", request->filter.objective,
                      "The best of this objective, as evo elites lists it, or its first words");
  command->add_flag("--dispatch", request->dispatch,
                    "The best for each shape that was timed, in one file that chooses at run time");
  command
      ->add_option("--option", request->options,
                   "With --dispatch: kernels for this option of the task, as out=bf16; may be repeated")
      ->allow_extra_args(false)
      ->type_name("NAME=VALUE");
  command
      ->add_option("--format", request->format,
                   "Instead of a kernel, every evaluated candidate: kerneltuner, t4 or csv (docs/store.md)")
      ->type_name("FORMAT");
  command
      ->add_option("--run", request->run,
                   "With --format: this run alone (default: all that rank by the same as the newest)")
      ->type_name("RUN");
  command->add_option("-o,--output", request->output, "The file; it is replaced as a whole (default: standard output)")
      ->type_name("FILE");
  command->add_option("--db", request->database, kDatabaseHelp)->capture_default_str()->type_name("FILE");
  command->callback([request, &action] { action = [request] { return export_any(*request); }; });
}

}  // namespace evo::cli
