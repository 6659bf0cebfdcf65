#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "cli/commands/commands.h"
#include "cli/rivals/rival_commands.h"
#include "cli/rivals/rival_sitting.h"
#include "cli/rivals/sitting_report.h"
#include "cli/rivals/sitting_table.h"
#include "cli/subject/dispatch.h"
#include "cli/subject/json.h"
#include "cli/subject/restore.h"
#include "cli/text/signals.h"

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
  std::string turn;
  std::string deadline = kRivalDeadline;
  std::string database = kDefaultDatabase;
  bool list = false;
  bool table = false;
  bool json = false;
};

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

int print_stored(const BaselineRequest& request) {
  const Store store = Store::open(request.database, Store::Mode::read);
  const std::optional<CandidateId> only =
      request.id.empty() ? std::nullopt : std::optional(parse_id("candidate", request.id));
  const std::vector<SittingReport> reports = newest_sittings(store, request.filter, only);
  print("{}", request.json ? baseline_document(reports) : sittings_markdown(reports));
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
  sitting_request.device = find_device_or_like(request.filter.device, sitting_request.candidate.run.info.device);
  sitting_request.commands = rivals_named(request.rivals);
  if (!request.rounds.empty())
    sitting_request.rounds = static_cast<int>(parse_number("--rounds", request.rounds, 3, 10'000));
  sitting_request.turn_s = parse_turn("--turn", request.turn);
  sitting_request.deadline_s = std::chrono::duration<double>(parse_duration("--deadline", request.deadline)).count();
  sitting_request.notice = tell;
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
  const SittingReport report = sitting_report(store, store.sittings(sitting.candidate).front());
  print("{}", request.json ? baseline_document({report}) : sitting_text(report, terminal_of(stdout)));
  return best_rival(sitting) == nullptr ? kNothingValid : kDone;
}

int list_rivals() {
  for (const RivalCommand& rival : shipped_rivals()) print("{}  {}\n", rival.label, rival.command);
  return kDone;
}

int baseline(const BaselineRequest& request) {
  if (request.list) return list_rivals();
  return request.table ? print_stored(request) : hold(request);
}

}  // namespace

void add_baseline(CLI::App& app, Invocation& invocation) {
  auto [command, request] =
      add_command(app, invocation, "baseline",
                  "Time a kernel in turns with rivals: torch, Triton, cuBLAS, cuDNN or your own programs", baseline);
  add_option(command, "ID", "", request.id,
             "The candidate's number (default: the best elite of the newest run's objective)");
  add_option(command, "--task", "TASK", request.filter.task, "The best elite of this task");
  add_option(command, "--device", "DEVICE", request.filter.device,
             "Time on this device, by default its best elite (default: the candidate's own, or one of its model)");
  command.add_option("--objective", request.filter.objective,
                     "The best elite of this objective, as evo elites lists it; its first words suffice");
  add_option(command, "--rival", "NAME|COMMAND", request.rivals,
             "A shipped rival's name, or a command with the same protocol (docs/baseline.md); may be repeated "
             "(default: all shipped ones)");
  add_option(command, "--rounds", "N", request.rounds,
             fmt::format("Rounds; each times every program once (default: {})", kSittingRounds));
  add_option(command, "--turn", "TIME", request.turn, kTurnHelp);
  add_option(command, "--deadline", "TIME", request.deadline, "Time limit of a rival's answer");
  command.add_flag("--list", request.list, "List the shipped rivals");
  command.add_flag("--table", request.table,
                   "Time nothing; print the newest stored sitting of each candidate, as Markdown");
  add_usual_options(command, request);
}

}  // namespace evo::cli
