#include <CLI/CLI.hpp>
#include <map>
#include <nlohmann/json.hpp>

#include "cli/commands/commands.h"
#include "cli/run/warm_start.h"
#include "cli/subject/best_rival.h"
#include "cli/subject/json.h"
#include "cli/text/result_text.h"
#include "engine/device/device_kind.h"
#include "engine/record/enumerators.h"

namespace evo::cli {
namespace {

std::string best_text(const RunRow& row) {
  return row.best_us ? fmt::format("{} us {}", microseconds(*row.best_us),
                                   timing_word(kind_named(row.info.device.kind).modelled))
                     : "-";
}

/// How the fastest candidate of a run that was timed with rivals did; empty when there is none.
std::string rivals_of_run(const std::vector<Sitting>& sittings, const RunRow& row) {
  const Sitting* fastest = nullptr;
  for (const Sitting& sitting : sittings) {
    if (sitting.run != row.id || best_rival_text({sitting}, row.info.device).empty()) continue;
    if (fastest == nullptr || sitting.median_us < fastest->median_us) fastest = &sitting;
  }
  return fastest == nullptr ? "" : fmt::format("candidate {}: {}", fastest->candidate, best_rival_text(*fastest));
}

std::string runs_text(const Store& store, const std::vector<RunRow>& rows, const Terminal& terminal) {
  if (rows.empty()) return "no runs yet: start one with evo run --task T\n";
  Table table({">id", "started (UTC)", "status", "task", "device", "strategy", ">seed", ">evaluated", ">valid", "best",
               "objective"});
  for (const RunRow& row : rows) {
    const RunInfo& info = row.info;
    table.add({std::to_string(row.id), row.started_at, std::string(enumerator_name(row.status)), info.task,
               info.device.id, info.strategy, std::to_string(info.seed), std::to_string(row.evaluated),
               std::to_string(row.valid), best_text(row), info.objective});
  }
  std::string text = table.text(terminal);
  const std::vector<Sitting> sittings = store.sittings();
  for (const RunRow& row : rows)
    if (const std::string rivals = rivals_of_run(sittings, row); !rivals.empty())
      text += fmt::format("run {}, {}\n", row.id, rivals);
  return text;
}

/// A line for each verdict of a run: its count, and the reason of one candidate as an example.
std::string verdict_table(const Store& store, const std::vector<OutcomeRow>& outcomes, const Terminal& terminal) {
  std::map<Verdict, std::vector<CandidateId>> by_verdict;
  for (const OutcomeRow& outcome : outcomes) by_verdict[outcome.verdict].push_back(outcome.candidate);
  Table table({"verdict", ">count", ">first", "its reason"});
  for (const auto& [verdict, candidates] : by_verdict) {
    const CandidateRow first = find_candidate(store, candidates.front());
    table.add({std::string(name_of(verdict)), std::to_string(candidates.size()), std::to_string(first.id),
               reason_text(first.evaluation)});
  }
  return table.text(terminal, 2);
}

std::string run_detail(const Store& store, const RunRow& row, const std::vector<OutcomeRow>& outcomes,
                       const Terminal& terminal) {
  const RunInfo& info = row.info;
  Table facts({"", ""});
  facts.add({"command", info.command_line});
  facts.add({"status", fmt::format("{}, started {}{}", enumerator_name(row.status), row.started_at,
                                   row.finished_at ? fmt::format(", ended {}", *row.finished_at) : "")});
  facts.add({"task", fmt::format("{} (hash {})", info.task, info.task_hash)});
  facts.add({"device", fmt::format("{} ({}, {})", info.device.id, info.device.name, info.device.arch)});
  facts.add({"objective", info.objective});
  facts.add({"search", fmt::format("{}{}, seed {}, {} in flight", info.strategy,
                                   info.screen > 1 ? fmt::format(", the best modelled of {}", info.screen) : "",
                                   info.seed, info.width)});
  if (!info.seeds.empty()) facts.add({"seeded with", seeds_text(info.seeds)});
  facts.add({"versions", fmt::format("evo {}, NVRTC {}", info.evo_version, info.nvrtc_version)});
  facts.add({"evaluated", fmt::format("{}, {} valid{}", row.evaluated, row.valid,
                                      row.best_us ? fmt::format(", best {}", best_text(row)) : "")});
  if (const std::string rivals = rivals_of_run(store.sittings(), row); !rivals.empty()) facts.add({"rivals", rivals});
  std::string text = styled(terminal, Style::bold, fmt::format("run {}", row.id)) + '\n' + facts.text(terminal, 2);
  if (!outcomes.empty()) text += '\n' + verdict_table(store, outcomes, terminal);
  return text;
}

std::string runs_document(const std::vector<RunRow>& rows) {
  Json json = json_document("runs");
  json["runs"] = list_json(rows, run_json);
  return json_text(json);
}

std::string runs_document(const RunRow& row, const std::vector<OutcomeRow>& outcomes) {
  Json json = json_document("runs");
  json["runs"] = Json::array({run_json(row)});
  Json& listed = json["runs"][0]["outcomes"] = Json::array();
  for (const OutcomeRow& outcome : outcomes) listed.push_back(outcome_json(outcome));
  return json_text(json);
}

int one_run(const EntryRequest& request, const Store& store) {
  const RunRow row = find_run(store, parse_id("run", request.id));
  const std::vector<OutcomeRow> outcomes = store.outcomes(row.id);
  print("{}", request.json ? runs_document(row, outcomes) : run_detail(store, row, outcomes, terminal_of(stdout)));
  return kDone;
}

int runs(const EntryRequest& request) {
  const Store store = Store::open(request.database, Store::Mode::read);
  if (!request.id.empty()) return one_run(request, store);
  const std::vector<RunRow> rows = store.runs();
  print("{}", request.json ? runs_document(rows) : runs_text(store, rows, terminal_of(stdout)));
  return kDone;
}

}  // namespace

void add_runs(CLI::App& app, Invocation& invocation) {
  auto [command, request] =
      add_command(app, invocation, "runs", "List past runs, or show one run: its verdicts and their reasons", runs);
  add_option(command, "ID", "", request.id, "The run's number");
  add_usual_options(command, request);
}

}  // namespace evo::cli
