#include "population/export/export.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <span>

#include "cli/commands/commands.h"
#include "cli/subject/dispatch.h"
#include "cli/subject/elite_table.h"
#include "cli/subject/export_request.h"
#include "cli/subject/package_request.h"
#include "cli/subject/restore.h"
#include "cli/text/files.h"
#include "cli/text/gzip.h"
#include "cli/text/shell_words.h"
#include "cli/text/suggest.h"
#include "engine/device/device_kind.h"
#include "population/export/provenance.h"
#include "population/package/package.h"
#include "population/results/formats.h"

namespace evo::cli {
namespace {

struct ExportCommandRequest {
  std::vector<std::string> ids;
  EliteFilter filter;
  std::vector<std::string> options;
  std::string output;
  std::string launcher;
  std::string format;
  std::string run;
  bool dispatch = false;
  std::string database = kDefaultDatabase;
};

// ---- Kernels

std::string filter_text(const EliteFilter& filter) {
  std::string text;
  if (!filter.task.empty()) text += " of task " + filter.task;
  if (!filter.device.empty()) text += " on " + filter.device;
  if (!filter.objective.empty()) text += " for '" + filter.objective + "'";
  return text;
}

CandidateId choose(const Store& store, const ExportCommandRequest& request) {
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

/// The command that checks the file: its own program, unless the reference is one of torch.
std::string check_hint(const std::string& output, std::span<const ExportRequest> kernels) {
  const std::string file = shell_word(output);
  return has_torch_reference(kernels.front().task)
             ? fmt::format("evo verify {}", file)
             : fmt::format("{} -DEVO_MAIN {} -o best && ./best", nvcc_command(kernels), file);
}

/// To standard output or, as a whole, to the file.
bool written(const ExportCommandRequest& request, const std::string& text) {
  const bool to_file = !request.output.empty() && request.output != "-";
  if (to_file)
    write_file(request.output, text);
  else
    print("{}", text);
  return to_file;
}

/// What was not checked of an elite.
void warn_of_reservations(const Restored& kernel) {
  const std::string reservation = kernel.row.elite_rank ? reservation_about(kernel.row.checks) : "";
  if (!reservation.empty())
    write_to_stderr(fmt::format("candidate {}: {} (evo verify {} checks it)\n", kernel.row.id, one_line(reservation),
                                kernel.row.id));
}

int export_kernel(const ExportCommandRequest& request) {
  if (request.ids.size() > 1) {
    throw usage_error(
        "one file holds one candidate: several go into a package (--format torch), and the best of each shape into one "
        "file with --dispatch");
  }
  const std::int64_t id = request.ids.empty() ? 0 : parse_id("candidate", request.ids.front());
  const Store store = Store::open(request.database, Store::Mode::read);
  const Restored restored = restore(store, id != 0 ? id : choose(store, request));
  const ExportRequest kernel = export_request(restored);
  if (!written(request, export_cuda(kernel, request.launcher))) return kDone;
  const RunInfo& info = restored.run.info;
  warn_of_reservations(restored);
  print("{}: candidate {}, {} on {}, {} us {}\ncheck and time it:  {}\n", request.output, restored.row.id, info.task,
        info.device.name, microseconds(restored.row.evaluation.latency_us),
        timing_word(kind_named(info.device.kind).modelled), check_hint(request.output, {&kernel, 1}));
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

/// The best kernel of each timed shape.
std::vector<ExportRequest> best_of_shapes(const Store& store, const ExportCommandRequest& request) {
  if (!request.ids.empty()) {
    throw usage_error(
        "--dispatch takes the best of several runs: choose with --task, --device, --objective and --option, not with "
        "an ID");
  }
  return dispatch_requests(store,
                           {request.filter.task, request.filter.device, request.filter.objective, request.options});
}

int export_several(const ExportCommandRequest& request) {
  const Store store = Store::open(request.database, Store::Mode::read);
  const std::vector<ExportRequest> kernels = best_of_shapes(store, request);
  if (!written(request, export_dispatch(kernels, request.launcher))) return kDone;
  const Provenance& first = kernels.front().provenance;
  std::size_t count = 0;
  for (const ExportRequest& kernel : kernels) count += kernel.programs.size();
  print("{}: {} kernel{} of {} on {}\n", request.output, count, count == 1 ? "" : "s", first.task, first.device.name);
  for (const ExportRequest& kernel : kernels) print("{}", summary_of(kernel.provenance));
  print("check and time it:  {}\n", check_hint(request.output, kernels));
  return kDone;
}

// ---- Kernels as folders for other programs

std::vector<ExportRequest> kernels_of(const Store& store, const ExportCommandRequest& request) {
  if (request.dispatch) return best_of_shapes(store, request);
  std::vector<CandidateId> ids;
  for (const std::string& id : request.ids) ids.push_back(parse_id("candidate", id));
  if (ids.empty()) ids.push_back(choose(store, request));
  std::vector<ExportRequest> kernels;
  for (const CandidateId id : ids) kernels.push_back(export_request(restore(store, id)));
  return kernels;
}

int export_package(const ExportCommandRequest& request, const PackageFormat& format) {
  if (!request.run.empty())
    throw usage_error(fmt::format("--run goes with the results of runs, not with {}: name candidates", format.name));
  if (request.output.empty() || request.output == "-")
    throw usage_error(fmt::format("{} is a folder: name it with -o DIR", format.title));
  const Store store = Store::open(request.database, Store::Mode::read);
  const PackageRequest package = package_request(kernels_of(store, request), request.launcher);
  const SourceTree files = format.write(package);
  write_folder(request.output, files);
  const Provenance& first = package.kernels.front().provenance;
  print("{}: {} of {} on {}, {} files\n", request.output, format.title, first.task, first.device.name, files.size());
  for (const ExportRequest& kernel : package.kernels) print("{}", summary_of(kernel.provenance));
  print("in that folder:  {}\n", format.use);
  return kDone;
}

// ---- The results of runs

template <class Format>
std::vector<std::string> names_of(std::span<const Format> formats) {
  std::vector<std::string> names;
  for (const Format& format : formats) names.emplace_back(format.name);
  return names;
}

const ResultFormat& format_of(const std::string& name) {
  const auto found = std::ranges::find(result_formats(), name, &ResultFormat::name);
  if (found != result_formats().end()) return *found;
  std::vector<std::string> names = names_of(result_formats());
  std::ranges::move(names_of(package_formats()), std::back_inserter(names));
  throw unknown_name("format", name, names);
}

/// The newest run that matches and all that rank by the same, or the one that is named.
std::vector<RunId> runs_of(const Store& store, const ExportCommandRequest& request) {
  if (!request.run.empty()) return {find_run(store, parse_id("run", request.run)).id};
  std::vector<RunRow> rows = store.runs();
  std::erase_if(rows, [&](const RunRow& row) {
    return row.evaluated == 0 || !is_wanted(row.info, row.info.device, request.filter);
  });
  if (rows.empty()) {
    throw usage_error(
        fmt::format("no run in {} matches and has results: evo runs lists what there is", store.path().string()));
  }
  std::vector<RunId> runs;
  for (const RunRow& row : rows) {
    if (of_one_board(row.info, rows.front().info)) runs.push_back(row.id);
  }
  return runs;
}

std::string results_text(const Results& results, const std::string& output) {
  const auto failed = std::count_if(results.rows.begin(), results.rows.end(),
                                    [](const ResultRow& row) { return row.verdict != Verdict::valid; });
  return fmt::format("{}: {} candidates ({} failed) of {} on {}, {}, from {} {}\n", output,
                     grouped(results.rows.size()), grouped(static_cast<std::uint64_t>(failed)), results.info.task,
                     results.info.device.name, results.info.objective, results.runs.size() == 1 ? "run" : "runs",
                     fmt::join(results.runs, ", "));
}

int export_results(const ExportCommandRequest& request) {
  const ResultFormat& format = format_of(request.format);
  const auto refuse = [&](const std::string& what) {
    throw usage_error(
        fmt::format("--format {} writes the results of runs: name a --run or a --task, not {}", format.name, what));
  };
  if (!request.ids.empty()) refuse("an ID");
  if (request.dispatch) refuse("--dispatch");
  if (!request.launcher.empty()) refuse("a kernel's --name");
  const Store store = Store::open(request.database, Store::Mode::read);
  const Results results = results_of(store, runs_of(store, request));
  const std::string text = format.write(results);
  if (request.output.empty() || request.output == "-") {
    print("{}", text);
    return kDone;
  }
  write_file(request.output, request.output.ends_with(".gz") ? gzipped(text) : text);
  print("{}", results_text(results, request.output));
  return kDone;
}

int export_any(const ExportCommandRequest& request) {
  if (!request.options.empty() && !request.dispatch)
    throw usage_error("--option goes with --dispatch: name an --objective instead");
  const auto package = std::ranges::find(package_formats(), request.format, &PackageFormat::name);
  if (package != package_formats().end()) return export_package(request, *package);
  if (!request.format.empty()) return export_results(request);
  if (!request.run.empty()) throw usage_error("--run goes with --format: it names the run whose results to write");
  return request.dispatch ? export_several(request) : export_kernel(request);
}

}  // namespace

void add_export(CLI::App& app, Invocation& invocation) {
  auto [command, request] = add_command(
      app, invocation, "export",
      "Write a kernel as one self-contained .cu file or a package, or the results of runs in a common format",
      export_any);
  add_option(command, "ID", "", request.ids,
             "The candidate's number (default: the best elite of the newest run's objective); a package takes "
             "several of one task");
  add_option(command, "--task", "TASK", request.filter.task, "Export the best kernel of this task");
  add_option(command, "--device", "DEVICE", request.filter.device, "Export the best kernel of this device");
  command.add_option("--objective", request.filter.objective,
                     "Export the best kernel of this objective, as evo elites lists it; its first words suffice");
  command.add_flag("--dispatch", request.dispatch,
                   "Write the best kernel of each timed shape into one file, which chooses at run time");
  add_option(command, "--name", "NAME", request.launcher,
             "The launcher's name, for several files in one program, or the package's (default: evo_TASK)");
  add_option(command, "--option", "NAME=VALUE", request.options,
             "With --dispatch: only kernels with this option of the task, such as out=bf16; may be repeated");
  const std::vector<std::string> packages = names_of(package_formats()), results = names_of(result_formats());
  add_option(command, "--format", fmt::format("{}|{}", fmt::join(packages, "|"), fmt::join(results, "|")),
             request.format,
             fmt::format("Instead of a .cu file, a package with the kernels: {} (docs/export.md); or every "
                         "evaluated candidate: {} (docs/store.md)",
                         fmt::join(packages, ", "), fmt::join(results, ", ")));
  add_option(command, "--run", "RUN", request.run,
             "With --format: only this run (default: all runs of the newest run's task, device and objective)");
  add_option(command, "-o,--output", "FILE", request.output,
             "The file to write (default: standard output); of a package the folder");
  add_database_option(command, request.database);
}

}  // namespace evo::cli
