#include "cli/commands/compare.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <random>
#include <utility>

#include "cli/commands/commands.h"
#include "cli/commands/json_documents.h"
#include "cli/subject/arguments.h"
#include "cli/subject/lookup.h"
#include "cli/subject/restore.h"
#include "cli/text/exit_code.h"
#include "cli/text/format.h"
#include "cli/text/table.h"
#include "engine/base/error.h"
#include "engine/base/noticeable.h"

namespace evo::cli {
namespace {

/// With pairs that scatter by 1 % these resolve 0.5 % with 95 % of 21, 0.8 % with those of 9.
constexpr int kComparedRounds = 21;
constexpr int kJudgedRounds = 9;
/// After so many rounds a match over an elite's place is over, where its whole interval is so far from 1, or so near
/// that the difference cannot be noticed. Of equals, whose pairs scatter by 1 %, one in 40 is then called faster, as
/// after all rounds.
constexpr std::size_t kPlainRounds = 3;
constexpr double kPlainMargin = 0.01;

struct Request {
  std::vector<std::string> ids;
  std::string device;
  std::string rounds;
  std::string database = kDefaultDatabase;
  bool json = false;
};

/// Candidates of one objective of one task.
std::vector<Restored> restore_all(const Request& request) {
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
      throw usage_error(fmt::format("candidates {} and {} do not compete: {} {} and {} {}", restored.front().row.id,
                                    one.row.id, first.task, first.objective, info.task, info.objective));
    }
  }
  return restored;
}

/// The GPU on which the first one was found, where it is here; else one that was named.
DeviceInfo device_for(const Request& request, const DeviceRecord& record) {
  if (!request.device.empty()) return find_device(request.device);
  if (record.kind == "vgpu") return resolve_device(record.id);
  for (const DeviceInfo& device : all_devices()) {
    if (device_key(record_of(device)) == device_key(record)) return device;
  }
  throw machine_error(fmt::format("{} is not in this machine: --device names another device", record.name));
}

Candidate candidate_of(const Restored& one, const Target& target) {
  return with_plans(one.task, one.family, one.row.genome, stored_programs(one.row), target, one.run.info.device.facts);
}

/// Candidates are source code for the architecture that they were found on: what fails elsewhere may do so for that
/// alone.
Error explained(const Error& error, const std::vector<Restored>& restored, const DeviceInfo& device) {
  for (const Restored& one : restored) {
    const std::string& arch = one.run.info.device.arch;
    if (arch == device.arch) continue;
    return {error.fault(), fmt::format("candidate {} was made for {}, another architecture than {} of {}: {}",
                                       one.row.id, arch, device.arch, device.id, error.what())};
  }
  return error;
}

Turns time_in_turns(PipelineOptions options, const std::vector<Candidate>& candidates, int rounds,
                    const std::vector<Restored>& restored) {
  const DeviceInfo device = options.device;
  const std::unique_ptr<DevicePipeline> pipeline = make_pipeline(std::move(options));
  try {
    return pipeline->time_in_turns(candidates, rounds);
  } catch (const Error& error) {
    throw explained(error, restored, device);
  }
}

Comparison compare(const Request& request) {
  const std::vector<Restored> restored = restore_all(request);
  const Restored& first = restored.front();
  PipelineOptions options;
  options.task = first.task;
  options.tree = first.files;
  options.target = first.run.info.target;
  options.target.validated = options.target.timed;  // They were validated when they were found.
  options.device = device_for(request, first.run.info.device);
  options.salt = std::random_device()();
  options.dedup = false;
  std::vector<Candidate> candidates;
  std::vector<CandidateId> ids;
  for (const Restored& one : restored) {
    candidates.push_back(candidate_of(one, options.target));
    ids.push_back(one.row.id);
  }
  const int rounds =
      request.rounds.empty()
          ? kComparedRounds
          : static_cast<int>(std::min<std::uint64_t>(parse_number("--rounds", request.rounds, 3), 10'000));
  const DeviceInfo device = options.device;
  Comparison comparison = comparison_of(ids, time_in_turns(std::move(options), candidates, rounds, restored));
  comparison.task = first.task.name;
  comparison.device = device;
  comparison.objective = first.run.info.objective;
  return comparison;
}

std::string ratio_text(const PairedRatio& ratio) {
  return fmt::format("{:.4f} [{:.4f}, {:.4f}]", ratio.ratio, ratio.low, ratio.high);
}

std::string comparison_text(const Comparison& comparison, const Terminal& terminal) {
  using Align = Table::Align;
  Table table({{"candidate", Align::right},
               {fmt::format("{} us", timing_word(comparison.modelled)), Align::right},
               {"verdict"},
               {"latency over the first, 95 % interval"}});
  for (const ComparisonRow& row : comparison.rows) {
    const std::string verdict = row.against ? std::string(name_of(ranking(*row.against))) : "";
    table.add({fmt::format("{}", row.candidate), row.failure.empty() ? microseconds(row.median_us) : "-", verdict,
               row.against ? ratio_text(*row.against) : row.failure});
  }
  std::string text = fmt::format("{} on {} ({}): {}\n{}", comparison.task, comparison.device.id, comparison.device.name,
                                 comparison.objective, table.text(terminal, 2));
  if (comparison.modelled) text += "modelled times are exact: one round says all\n";
  if (!comparison.modelled) text += fmt::format("{} rounds in turns, order drawn anew each round\n", comparison.rounds);
  if (comparison.throttled > 0) {
    text += fmt::format("{} samples were taken under lowered clocks: let the GPU cool down and repeat\n",
                        comparison.throttled);
  }
  return text;
}

int run_compare(const Request& request) {
  if (request.ids.size() < 2) throw usage_error("name two candidates or more: evo compare A B [C...]");
  const Comparison comparison = compare(request);
  fmt::print("{}", request.json ? compare_json(comparison) : comparison_text(comparison, terminal_of(stdout)));
  const bool failed =
      std::ranges::any_of(comparison.rows, [](const ComparisonRow& row) { return !row.failure.empty(); });
  return failed ? kNothingValid : kDone;
}

/// The first one's latency over the second one's.
PairedRatio ratio_of_pair(const Turns& turns) {
  return paired_ratio(turns.rounds_us[0], turns.rounds_us[1], turns.modelled);
}

EliteRuling rule(const Turns& turns, CandidateId incumbent) {
  // An incumbent that does not run any more is no elite to keep; a challenger that does not is none to take.
  if (turns.failures[1])
    return {true, fmt::format("displaced elite {}, which failed: {}", incumbent, *turns.failures[1])};
  if (turns.failures[0])
    return {false, fmt::format("no elite: it failed beside elite {}: {}", incumbent, *turns.failures[0])};
  const PairedRatio ratio = ratio_of_pair(turns);
  const Ranking found = ranking(ratio);
  return {found == Ranking::faster, fmt::format("{} beside elite {}: {} of its latency over {} rounds in turns",
                                                name_of(found), incumbent, ratio_text(ratio), ratio.pairs)};
}

}  // namespace

bool match_decided(const Turns& turns) {
  if (turns.failures[0] || turns.failures[1]) return true;
  const PairedRatio ratio = ratio_of_pair(turns);
  return ratio.pairs >= kPlainRounds && (plainly_differ(ratio, kPlainMargin) || plainly_same(ratio, kNoticeable));
}

Comparison comparison_of(const std::vector<CandidateId>& ids, const Turns& turns) {
  Comparison comparison;
  comparison.modelled = turns.modelled;
  comparison.throttled = turns.throttled;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    ComparisonRow row{.candidate = ids[i], .failure = turns.failures[i].value_or("")};
    const std::vector<double>& own = turns.rounds_us[i];
    row.rounds_us = own;
    if (!own.empty()) row.median_us = median_interval(own).median;
    if (i > 0 && !turns.failures[0] && row.failure.empty()) {
      row.against = paired_ratio(own, turns.rounds_us[0], turns.modelled);
    }
    comparison.rounds = std::max(comparison.rounds, static_cast<int>(own.size()));
    comparison.rows.push_back(std::move(row));
  }
  return comparison;
}

EliteJudge elite_judge(const Store& store, const Task& task, const Target& target, DevicePipeline& pipeline,
                       const DeviceInfo& device) {
  if (device.kind == "vgpu") return {};
  return [&](const Candidate& challenger, CandidateId incumbent) {
    const Restored elite = restore(store, incumbent);
    if (elite.task.hash != task.hash) throw machine_error("an elite of another task competes: please report this");
    return rule(pipeline.time_in_turns({challenger, candidate_of(elite, target)}, kJudgedRounds, match_decided),
                incumbent);
  };
}

void add_compare(CLI::App& app, Action& action) {
  auto request = std::make_shared<Request>();
  CLI::App* command =
      app.add_subcommand("compare", "Time candidates in turns: is each FASTER or SLOWER than the first, or the SAME?");
  command->add_option("ID", request->ids, "Candidates; each is compared with the first")->required()->type_name("");
  command
      ->add_option("--device", request->device,
                   "Time on this device (default: the first one's own, or one of its model)")
      ->type_name("DEVICE");
  command->add_option("--rounds", request->rounds, fmt::format("Turns of each (default: {})", kComparedRounds))
      ->type_name("N");
  command->add_option("--db", request->database, kDatabaseHelp)->capture_default_str()->type_name("FILE");
  command->add_flag("--json", request->json, kJsonHelp);
  command->callback([request, &action] { action = [request] { return run_compare(*request); }; });
}

}  // namespace evo::cli
