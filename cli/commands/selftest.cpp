#include "cli/commands/selftest.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <random>

#include "cli/commands/commands.h"
#include "cli/commands/json_documents.h"
#include "cli/run/calibrate.h"
#include "cli/run/selftest_record.h"
#include "cli/subject/arguments.h"
#include "cli/subject/lookup.h"
#include "cli/subject/templates.h"
#include "cli/text/atomic_file.h"
#include "cli/text/exit_code.h"
#include "cli/text/streams.h"
#include "cli/text/suggest.h"
#include "cli/text/table.h"
#include "engine/base/error.h"
#include "engine/base/rng.h"
#include "evaluator/compile/compiler.h"
#include "evaluator/pipeline/pipeline.h"

namespace evo::cli {
namespace {

struct Request {
  std::string task;
  std::string device;
  std::vector<std::string> only;
  std::string templates;
  std::string database = kDefaultDatabase;
  bool calibrate = false;
  bool record = false;
  bool json = false;
};

/// Endless loops are meant to be found: on a GPU each costs this.
constexpr double kRunDeadlineS = 10;

std::uint64_t fresh_salt() {
  std::random_device source;
  return (static_cast<std::uint64_t>(source()) << 32) | source();
}

bool is_right(const SelftestRow& row, const std::string& kind) {
  const std::vector<Verdict>& expected = row.mutant.expected.at(kind);
  return std::ranges::find(expected, row.verdict) != expected.end() &&
         row.reason.find(row.mutant.says) != std::string::npos;
}

/// The legal genome nearest to what a mutant wishes for; none where the device cannot run its family.
std::optional<Genome> genome_of(const Space& space, const Mutant& mutant) {
  const auto runs_here = [&](const Family& family) { return family.name == mutant.family; };
  if (std::ranges::none_of(space.families(), runs_here)) return std::nullopt;
  Rng rng(0);
  std::optional<Genome> genome = space.complete({mutant.family, mutant.genes}, mutant.kept, rng);
  if (!genome) {
    throw usage_error(fmt::format("specimen {} of {}: no legal genome has its genes", mutant.name, mutant.family));
  }
  return genome;
}

/// Submits mutants and gathers their verdicts.
class Selftest {
 public:
  Selftest(const SourceTree& tree, const Task& task, const DeviceInfo& device, std::uint64_t salt)
      : tree_(tree),
        task_(task),
        device_(device),
        salt_(salt),
        target_(make_target(task, device.kind, {}, task.default_options())),
        space_(make_space(tree, task, device, target_, "")) {}

  std::vector<SelftestRow> run(const std::vector<Mutant>& mutants) {
    std::vector<SelftestRow> rows;
    for (const Mutant& mutant : mutants) rows.push_back({.mutant = mutant, .reason = ""});
    const std::unique_ptr<Evaluator> pipeline = open();
    std::size_t in_flight = 0;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (in_flight == pipeline->width()) in_flight -= finish(*pipeline, rows);
      in_flight += submit(*pipeline, i, rows[i]);
    }
    while (in_flight > 0) in_flight -= finish(*pipeline, rows);
    return rows;
  }

 private:
  std::unique_ptr<Evaluator> open() const {
    PipelineOptions options;
    options.task = task_;
    options.tree = tree_;
    options.target = target_;
    options.device = device_;
    options.salt = salt_;
    options.dedup = false;  // Each is judged by itself.
    if (device_.kind == "cuda") options.run_deadline_s = kRunDeadlineS;
    return make_pipeline(std::move(options));
  }

  std::size_t submit(Evaluator& pipeline, std::size_t number, SelftestRow& row) const {
    const std::optional<Genome> genome = genome_of(space_, row.mutant);
    if (!genome || !row.mutant.expected.contains(device_.kind)) return 0;
    const SourceTree changed = edited(tree_, row.mutant.edits);
    for (const Family& family : load_families(changed, task_)) {
      if (family.name != genome->family) continue;
      pipeline.submit(number, make_candidate(changed, task_, family, *genome, target_, facts_of(device_.limits)));
      return 1;
    }
    throw usage_error(fmt::format("specimen {}: its edits take the family {} away", row.mutant.name, genome->family));
  }

  std::size_t finish(Evaluator& pipeline, std::vector<SelftestRow>& rows) const {
    Evaluator::Done done = pipeline.wait();
    SelftestRow& row = rows.at(done.ticket);
    row.judged = true;
    row.verdict = done.evaluation.verdict;
    row.reason = std::move(done.evaluation.reason);
    row.right = is_right(row, device_.kind);
    return 1;
  }

  const SourceTree& tree_;
  const Task& task_;
  const DeviceInfo& device_;
  std::uint64_t salt_;
  Target target_;
  Space space_;
};

std::vector<Mutant> chosen(std::vector<Mutant> mutants, const std::vector<std::string>& only) {
  if (only.empty()) return mutants;
  std::vector<std::string> names;
  for (const Mutant& mutant : mutants) names.push_back(mutant.name);
  for (const std::string& name : only) {
    if (std::ranges::find(names, name) == names.end()) throw unknown_name("specimen", name, names);
  }
  std::erase_if(mutants, [&](const Mutant& mutant) { return std::ranges::find(only, mutant.name) == only.end(); });
  return mutants;
}

std::string verdict_text(const SelftestRow& row) {
  if (!row.judged) return "not shown here";
  return std::string(name_of(row.verdict));
}

std::string selftest_text(const SelftestResult& result, const Terminal& terminal) {
  Table table({{"specimen"}, {"verdict"}, {""}, {"reason"}});
  for (const SelftestRow& row : result.rows) {
    const Style style = !row.judged ? Style::plain : row.right ? Style::plain : Style::bad;
    table.add({row.mutant.name, verdict_text(row),
               !row.judged ? ""
               : row.right ? "right"
                           : "WRONG",
               one_line(row.reason.empty() ? row.mutant.about : row.reason)},
              style);
  }
  const std::string counts = fmt::format("{} judged, {} wrongly, {} not shown on this kind of device", result.judged(),
                                         result.wrong(), result.rows.size() - result.judged());
  return fmt::format(
      "{} on {} ({})\n{}{}: {}\n", result.task, result.device.id, result.device.name, table.text(terminal, 2),
      result.passed() ? styled(terminal, Style::good, "passed") : styled(terminal, Style::bad, "failed"), counts);
}

std::string calibration_text(const CalibrationResult& result, const Terminal& terminal) {
  using Align = Table::Align;
  Table table({{"regime"},
               {"cases", Align::right},
               {"worst error", Align::right},
               {"limit", Align::right},
               {"cosine", Align::right},
               {"at least", Align::right}});
  for (const auto& [regime, floor] : result.floors) {
    const Limits& limits = result.limits.at(regime);
    table.add({regime, fmt::format("{}", floor.cases), fmt::format("{:.4g}", floor.relative_l2),
               fmt::format("{:.4g}", limits.relative_l2), fmt::format("{:.6f}", floor.cosine),
               fmt::format("{:.6f}", limits.cosine)});
  }
  return fmt::format("{} on {}: its honest low-precision emulation beside the reference\n{}", result.task,
                     result.device.id, table.text(terminal, 2));
}

int calibrate_task(const Request& request) {
  const std::filesystem::path folder = find_templates(request.templates);
  const SourceTree tree = read_templates(folder);
  const Task task = find_task(tree, request.task);
  const CalibrationResult result = calibrate(tree, task, find_device(request.device.empty() ? "auto" : request.device));
  const std::filesystem::path file = folder / task.name / "limits.json";
  fmt::print("{}", calibration_text(result, terminal_of(stdout)));
  write_file(file, with_measured(tree, task, result));
  fmt::print("written to {}: its limits hold from now on\n", file.string());
  return kDone;
}

int selftest(const Request& request, const CLI::App& command) {
  if (request.calibrate) {
    refuse_options(command, {"--only", "--record", "--json"}, "--calibrate");
    return calibrate_task(request);
  }
  if (request.record && !request.only.empty()) {
    throw usage_error("--record cannot be combined with --only: a pass stands for every specimen");
  }
  const std::filesystem::path folder = find_templates(request.templates);
  const SourceTree tree = read_templates(folder);
  const Task task = find_task(tree, request.task);
  std::string notice;
  const DeviceInfo device = find_device(request.device.empty() ? "auto" : request.device, &notice);
  if (!notice.empty()) write_to_stderr(fmt::format("{}\n", notice));
  std::optional<Store> store;
  if (request.only.empty()) store = Store::open(request.database, Store::Mode::write);
  const SelftestResult result = run_selftest(tree, task, device, request.only);
  fmt::print("{}", request.json ? selftest_json(result) : selftest_text(result, terminal_of(stdout)));
  if (store) {
    const SelftestRecord record = record_of(result, make_nvrtc_compiler()->version());
    store->record_selftest(record);
    if (request.record && record.passed)
      write_to_stderr(fmt::format("written to {}\n", write_pass(folder, record).string()));
  }
  return result.wrong() == 0 ? kDone : kNothingValid;
}

}  // namespace

std::size_t SelftestResult::judged() const {
  return static_cast<std::size_t>(std::ranges::count(rows, true, &SelftestRow::judged));
}

std::size_t SelftestResult::wrong() const {
  return static_cast<std::size_t>(std::ranges::count(rows, false, &SelftestRow::right));
}

bool SelftestResult::passed() const {
  const auto shown = [&](bool valid) {
    return std::ranges::any_of(rows, [&](const SelftestRow& row) {
      return row.judged && row.right && (row.verdict == Verdict::valid) == valid;
    });
  };
  return wrong() == 0 && shown(true) && shown(false);
}

SelftestResult run_selftest(const SourceTree& tree, const Task& task, const DeviceInfo& device,
                            const std::vector<std::string>& only) {
  const std::vector<Mutant> mutants = load_mutants(tree, task);
  if (mutants.empty()) {
    throw usage_error(fmt::format("task {} has no mutants: put {}/mutants/FAMILY.json beside it (docs/trust.md)",
                                  task.name, task.name));
  }
  const std::uint64_t salt = fresh_salt();
  return {.task = task.name,
          .task_hash = task.hash,
          .device = device,
          .salt = salt,
          .rows = Selftest(tree, task, device, salt).run(chosen(mutants, only))};
}

void add_selftest(CLI::App& app, Action& action) {
  auto request = std::make_shared<Request>();
  CLI::App* command = app.add_subcommand(
      "selftest", "Plant wrong kernels of a task: each must be rejected for the right reason, honest ones accepted");
  command->add_option("--task", request->task, "Whose mutants")->type_name("TASK");
  command->add_option("--device", request->device, "Judge on this device (default: auto)")->type_name("DEVICE");
  command->add_option("--only", request->only, "These specimens alone")->delimiter(',')->type_name("A,B");
  command->add_flag("--calibrate", request->calibrate,
                    "Instead: measure how far an honest low-precision kernel is off, and store the limits that follow");
  command->add_flag("--record", request->record,
                    "Also write the pass beside the mutants, for those who get the templates");
  command->add_option("--db", request->database, kDatabaseHelp)->capture_default_str()->type_name("FILE");
  command->add_option("--templates", request->templates, kTemplatesHelp)->type_name("DIR");
  command->add_flag("--json", request->json, kJsonHelp);
  command->callback(
      [request, &action, command] { action = [request, command] { return selftest(*request, *command); }; });
}

}  // namespace evo::cli
