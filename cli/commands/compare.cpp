#include "cli/commands/compare.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <nlohmann/json.hpp>

#include "cli/commands/commands.h"
#include "cli/subject/json.h"
#include "cli/subject/restore.h"
#include "evaluator/base/random.h"

namespace evo::cli {
namespace {

/// With pairs that scatter by 1 % these rounds resolve a difference of 0.5 % with a confidence of 95 %.
constexpr int kRounds = 21;
struct CompareRequest {
  std::vector<std::string> ids;
  std::string device;
  std::string rounds;
  std::string turn;
  std::string database = kDefaultDatabase;
  bool json = false;
};

/// The candidates. Throws usage_error unless all are valid and of the same task and objective.
std::vector<Restored> restore_all(const CompareRequest& request) {
  const Store store = Store::open(request.database, Store::Mode::read);
  std::vector<Restored> restored;
  for (const std::string& id : request.ids) {
    Restored one = restore(store, parse_id("candidate", id));
    if (one.row.evaluation.verdict != Verdict::valid) {
      throw usage_error(fmt::format("candidate {} is not valid ({}): there is nothing to compare", one.row.id,
                                    name_of(one.row.evaluation.verdict)));
    }
    restored.push_back(std::move(one));
  }
  const RunInfo& first = restored.front().run.info;
  for (const Restored& one : restored) {
    const RunInfo& info = one.run.info;
    if (info.task_hash != first.task_hash || info.objective != first.objective) {
      throw usage_error(fmt::format("candidates {} and {} cannot be compared: {} {} and {} {}", restored.front().row.id,
                                    one.row.id, first.task, first.objective, info.task, info.objective));
    }
  }
  return restored;
}

/// The error, with a hint where a candidate was made for another architecture than the device has.
Error explained(const Error& error, const std::vector<Restored>& restored, const DeviceInfo& device) {
  for (const Restored& one : restored) {
    const std::string& arch = one.run.info.device.arch;
    if (arch == device.arch) continue;
    return {error.fault(), fmt::format("candidate {} was made for {}, another architecture than {} of {}: {}",
                                       one.row.id, arch, device.arch, device.id, error.what())};
  }
  return error;
}

InterleavedTimings time_interleaved(PipelineOptions options, const std::vector<Candidate>& candidates, int rounds,
                                    const std::vector<Restored>& restored) {
  const DeviceInfo device = options.device;
  const std::unique_ptr<DevicePipeline> pipeline = make_pipeline(std::move(options));
  try {
    return pipeline->time_interleaved(candidates, rounds);
  } catch (const Error& error) {
    throw explained(error, restored, device);
  }
}

Comparison compare(const CompareRequest& request) {
  const std::vector<Restored> restored = restore_all(request);
  const Restored& first = restored.front();
  PipelineOptions options;
  options.task = first.task;
  options.tree = first.files;
  options.target = first.run.info.target;
  options.target.validated = options.target.timed;  // They were validated when they were found.
  options.device = find_device_or_like(request.device, first.run.info.device);
  options.salt = fresh_salt();
  options.dedup = false;
  options.turn_s = parse_turn("--turn", request.turn);
  std::vector<Candidate> candidates;
  std::vector<CandidateId> ids;
  for (const Restored& one : restored) {
    candidates.push_back(restored_candidate(one, options.target));
    ids.push_back(one.row.id);
  }
  const int rounds =
      request.rounds.empty()
          ? kRounds
          : static_cast<int>(std::min<std::uint64_t>(parse_number("--rounds", request.rounds, 3), 10'000));
  const DeviceInfo device = options.device;
  Comparison comparison = comparison_of(ids, time_interleaved(std::move(options), candidates, rounds, restored));
  comparison.task = first.task.name;
  comparison.device = device;
  comparison.objective = first.run.info.objective;
  return comparison;
}

std::string comparison_text(const Comparison& comparison, const Terminal& terminal) {
  Table table({">candidate", fmt::format(">{} us", timing_word(comparison.modelled)), "verdict",
               "latency over the first, 95 % interval"});
  for (const ComparisonRow& row : comparison.rows) {
    const std::string verdict = row.against ? std::string(name_of(ranking(*row.against))) : "";
    table.add({fmt::format("{}", row.candidate), row.failure.empty() ? microseconds(row.median_us) : "-", verdict,
               row.against ? ratio_text(*row.against) : row.failure});
  }
  std::string text = fmt::format("{} on {} ({}): {}\n{}", comparison.task, comparison.device.id, comparison.device.name,
                                 comparison.objective, table.text(terminal, 2));
  if (comparison.modelled) text += "modelled times are exact: one round is enough\n";
  if (!comparison.modelled)
    text += fmt::format("{} interleaved rounds, each in a new random order\n", comparison.rounds);
  if (comparison.throttled > 0) {
    text += fmt::format("{} samples were taken under lowered clocks: let the GPU cool down and repeat\n",
                        comparison.throttled);
  }
  return text;
}

std::string compare_document(const Comparison& comparison) {
  Json json = json_document("compare");
  json["task"] = comparison.task;
  json["device"] = device_json(comparison.device);
  json["objective"] = comparison.objective;
  json["timing"] = timing_word(comparison.modelled);
  json["rounds"] = comparison.rounds;
  json["throttled"] = comparison.throttled;
  json["candidates"] = Json::array();
  for (const ComparisonRow& row : comparison.rows) {
    Json entry = {
        {"candidate", row.candidate}, {"median_us", row.failure.empty() ? Json(row.median_us) : Json(nullptr)},
        {"rounds_us", row.rounds_us}, {"failure", row.failure.empty() ? Json(nullptr) : Json(row.failure)},
        {"verdict", nullptr},         {"ratio", nullptr}};
    if (row.against) {
      entry["verdict"] = name_of(ranking(*row.against));
      entry["ratio"] = {{"mean", row.against->ratio}, {"low", row.against->low}, {"high", row.against->high}};
    }
    json["candidates"].push_back(std::move(entry));
  }
  return json_text(json);
}

int run_compare(const CompareRequest& request) {
  if (request.ids.size() < 2) throw usage_error("name two candidates or more: evo compare A B [C...]");
  const Comparison comparison = compare(request);
  print("{}", request.json ? compare_document(comparison) : comparison_text(comparison, terminal_of(stdout)));
  const bool failed =
      std::ranges::any_of(comparison.rows, [](const ComparisonRow& row) { return !row.failure.empty(); });
  return failed ? kNothingValid : kDone;
}

}  // namespace

Comparison comparison_of(const std::vector<CandidateId>& ids, const InterleavedTimings& timings) {
  Comparison comparison;
  comparison.modelled = timings.modelled;
  comparison.throttled = timings.throttled;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    ComparisonRow row{.candidate = ids[i], .failure = timings.failures[i].value_or("")};
    const std::vector<double>& own = timings.rounds_us[i];
    row.rounds_us = own;
    if (!own.empty()) row.median_us = median_interval(own).median;
    if (i > 0 && !timings.failures[0] && row.failure.empty()) {
      row.against = paired_ratio(own, timings.rounds_us[0], timings.modelled);
    }
    comparison.rounds = std::max(comparison.rounds, static_cast<int>(own.size()));
    comparison.rows.push_back(std::move(row));
  }
  return comparison;
}

void add_compare(CLI::App& app, Invocation& invocation) {
  auto [command, request] = add_command(
      app, invocation, "compare",
      "Time candidates in interleaved rounds: is each FASTER or SLOWER than the first, or the SAME?", run_compare);
  add_option(command, "ID", "", request.ids, "Numbers of candidates; each is compared with the first")->required();
  add_option(command, "--device", "DEVICE", request.device,
             "Time on this device (default: that of the first candidate, or one of the same model)");
  add_option(command, "--rounds", "N", request.rounds,
             fmt::format("Rounds; each times every candidate once (default: {})", kRounds));
  add_option(command, "--turn", "TIME", request.turn, kTurnHelp);
  add_usual_options(command, request);
}

}  // namespace evo::cli
