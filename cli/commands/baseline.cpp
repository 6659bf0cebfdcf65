#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <tuple>

#include "cli/commands/commands.h"
#include "cli/rivals/rival_commands.h"
#include "cli/rivals/rival_sitting.h"
#include "cli/rivals/sitting_table.h"
#include "cli/subject/arguments.h"
#include "cli/subject/dispatch.h"
#include "cli/subject/json.h"
#include "cli/subject/lookup.h"
#include "cli/subject/restore.h"
#include "cli/text/exit_code.h"
#include "cli/text/json_text.h"
#include "cli/text/signals.h"
#include "cli/text/streams.h"
#include "engine/base/error.h"
#include "engine/device/device_kind.h"

namespace evo::cli {
namespace {

/// With pairs that scatter by 1 % these rounds resolve a difference of 0.5 % with a confidence of 95 %.
constexpr int kSittingRounds = 21;
constexpr const char* kRivalDeadline = "2m";

struct BaselineRequest {
  std::string id;
  EliteFilter filter;
  std::vector<std::string> rivals;
  std::string rounds;
  std::string deadline = kRivalDeadline;
  std::string database = kDefaultDatabase;
  bool list = false;
  bool table = false;
  bool json = false;
};

/// The candidate's worst error on inputs like those that are timed, which rivals are given: of its timed shapes and of
/// the task's first regime.
double error_beside_rivals(const Store& store, const CandidateRow& row, const RunRow& run) {
  const std::string regime = load_task(files_of(store, run), run.info.task).regimes.front().name;
  double worst = 0;
  for (const CaseError& error : row.evaluation.errors) {
    const auto is_its_shape = [&](const Shape& shape) { return shape.name == error.shape; };
    if (error.regime == regime && std::ranges::any_of(run.info.target.timed, is_its_shape))
      worst = std::max(worst, error.relative_l2);
  }
  return worst;
}

SittingReport report_of(const Store& store, const CandidateRow& row, const RunRow& run, Sitting sitting) {
  const bool modelled = kind_named(sitting.device.kind).modelled;
  return {std::move(sitting), run.info.task, run.info.objective, modelled, error_beside_rivals(store, row, run)};
}

using Json = nlohmann::ordered_json;

std::string baseline_document(const std::vector<SittingReport>& reports) {
  Json json = json_document("baseline");
  json["sittings"] = Json::array();
  for (const SittingReport& report : reports) {
    Json entry = {{"task", report.task}, {"objective", report.objective}, {"relative_l2", report.relative_l2}};
    entry.update(sitting_json(report.sitting));
    json["sittings"].push_back(std::move(entry));
  }
  return json_text(json);
}

// ---- What is stored

bool is_wanted(const RunInfo& info, const Sitting& sitting, const EliteFilter& filter) {
  return (filter.task.empty() || info.task == filter.task) &&
         (filter.device.empty() || is_called(sitting.device, filter.device)) &&
         (filter.objective.empty() || (info.objective + " ").starts_with(filter.objective + " "));
}

/// By task, device and objective; of one candidate the newest sitting on a device.
std::vector<SittingReport> stored_reports(const Store& store, const BaselineRequest& request) {
  const std::optional<CandidateId> only =
      request.id.empty() ? std::nullopt : std::optional(parse_id("candidate", request.id));
  std::vector<SittingReport> reports;
  for (Sitting& sitting : store.sittings(only)) {
    const bool newer = std::ranges::any_of(reports, [&](const SittingReport& one) {
      return one.sitting.candidate == sitting.candidate && device_key(one.sitting.device) == device_key(sitting.device);
    });
    if (newer) continue;
    const CandidateRow row = find_candidate(store, sitting.candidate);
    const RunRow run = find_run(store, row.run);
    if (is_wanted(run.info, sitting, request.filter)) reports.push_back(report_of(store, row, run, std::move(sitting)));
  }
  std::ranges::stable_sort(reports, {}, [](const SittingReport& one) {
    return std::tuple(one.task, one.sitting.device.name, one.objective, one.sitting.median_us);
  });
  return reports;
}

int print_stored(const BaselineRequest& request) {
  const Store store = Store::open(request.database, Store::Mode::read);
  const std::vector<SittingReport> reports = stored_reports(store, request);
  fmt::print("{}", request.json ? baseline_document(reports) : sittings_markdown(reports));
  if (reports.empty()) write_to_stderr("no candidate was timed with rivals yet: evo baseline does it\n");
  return kDone;
}

// ---- A new sitting

CandidateId chosen(const Store& store, const BaselineRequest& request) {
  if (!request.id.empty()) return parse_id("candidate", request.id);
  const std::vector<EliteRow> best = best_elites(store, request.filter);
  if (best.empty())
    throw usage_error(fmt::format("no elite to time with rivals in {}: evo run finds some", store.path().string()));
  if (best.size() > 1) {
    write_to_stderr(
        fmt::format("{} is taken; there are elites of {} other rankings (choose with an ID, --task, "
                    "--device or --objective)\n",
                    best.front().candidate, best.size() - 1));
  }
  return best.front().candidate;
}

DeviceInfo sitting_device(const BaselineRequest& request, const DeviceRecord& record) {
  if (!request.filter.device.empty()) return find_device(request.filter.device);
  if (const std::optional<DeviceInfo> device = device_like(record)) return *device;
  throw machine_error(fmt::format("{} is not in this machine: --device names another one", record.name));
}

int hold(const BaselineRequest& request) {
  SittingRequest sitting_request;
  {
    const Store store = Store::open(request.database, Store::Mode::change);
    sitting_request.candidate = restore(store, chosen(store, request));
  }
  const CandidateRow& row = sitting_request.candidate.row;
  if (row.evaluation.verdict != Verdict::valid) {
    throw usage_error(fmt::format("candidate {} is not valid ({}): rivals would have nothing to beat", row.id,
                                  name_of(row.evaluation.verdict)));
  }
  sitting_request.device = sitting_device(request, sitting_request.candidate.run.info.device);
  sitting_request.commands = rivals_named(request.rivals);
  if (!request.rounds.empty())
    sitting_request.rounds = static_cast<int>(parse_number("--rounds", request.rounds, 3, 10'000));
  sitting_request.deadline_s = std::chrono::duration<double>(parse_duration("--deadline", request.deadline)).count();
  sitting_request.notice = [](const std::string& line) { write_to_stderr(line + "\n"); };
  const InterruptGuard interrupt;
  sitting_request.ends = [&] { return interrupt.requested().load(); };
  Sitting sitting;
  try {
    sitting = hold_sitting(sitting_request);
  } catch (const LineInterrupted&) {
    write_to_stderr("interrupted: nothing was stored\n");
    return kInterrupted;
  }
  if (sitting.rivals.empty()) {
    throw machine_error(fmt::format("no rival of {} can run here: the lines above say why; --rival names others",
                                    sitting_request.candidate.task.name));
  }
  Store store = Store::open(request.database, Store::Mode::change);
  store.record_sitting(sitting);
  const SittingReport report =
      report_of(store, row, sitting_request.candidate.run, store.sittings(sitting.candidate).front());
  fmt::print("{}", request.json ? baseline_document({report}) : sitting_text(report, terminal_of(stdout)));
  return best_rival(sitting) == nullptr ? kNothingValid : kDone;
}

int list_rivals() {
  for (const RivalCommand& rival : shipped_rivals()) fmt::print("{}  {}\n", rival.label, rival.command);
  return kDone;
}

int baseline(const BaselineRequest& request) {
  if (request.list) return list_rivals();
  return request.table ? print_stored(request) : hold(request);
}

}  // namespace

void add_baseline(CLI::App& app, Invocation& invocation) {
  auto request = std::make_shared<BaselineRequest>();
  CLI::App* command = app.add_subcommand(
      "baseline", "Time a kernel in turns with rivals: torch, Triton, cuBLASLt, cuDNN or programs of yours");
  command
      ->add_option("ID", request->id, "The candidate's number (default: the best elite of the newest run's objective)")
      ->type_name("");
  command->add_option("--task", request->filter.task, "The best elite of this task")->type_name("TASK");
  command
      ->add_option("--device", request->filter.device,
                   "Time on this device, by default its best elite (default: the candidate's own, or one of its model)")
      ->type_name("DEVICE");
  command->add_option("--objective", request->filter.objective,
                      "The best elite of this objective, as evo elites lists it; its first words suffice");
  command
      ->add_option("--rival", request->rivals,
                   "A shipped rival's name, or a command that speaks its lines (docs/baseline.md); may be repeated "
                   "(default: all shipped ones)")
      ->allow_extra_args(false)
      ->type_name("NAME|COMMAND");
  command
      ->add_option("--rounds", request->rounds,
                   fmt::format("Rounds; each times every program once (default: {})", kSittingRounds))
      ->type_name("N");
  command->add_option("--deadline", request->deadline, "The longest that a rival may take for an answer")
      ->capture_default_str()
      ->type_name("TIME");
  command->add_flag("--list", request->list, "List the shipped rivals");
  command->add_flag("--table", request->table,
                    "Time nothing; print what is stored as Markdown, the newest sitting of each candidate");
  add_database_option(*command, request->database);
  add_json_flag(*command, request->json);
  command->callback([request, &invocation] { invocation.action = [request] { return baseline(*request); }; });
}

}  // namespace evo::cli
