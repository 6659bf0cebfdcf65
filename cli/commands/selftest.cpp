#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>

#include "cli/check/measured_limits.h"
#include "cli/commands/commands.h"
#include "cli/selftest/calibrate.h"
#include "cli/selftest/mutation_score.h"
#include "cli/selftest/selftest_record.h"
#include "cli/sources/short_form_file.h"
#include "cli/sources/templates.h"
#include "cli/subject/json.h"
#include "cli/text/files.h"
#include "engine/record/enumerators.h"
#include "engine/task/mutant.h"
#include "evaluator/base/random.h"
#include "evaluator/compile/compiler.h"
#include "evaluator/hosts/devices.h"

namespace evo::cli {
namespace {

struct SelftestRequest {
  std::string file;
  std::string task;
  std::string device;
  std::vector<std::string> only;
  std::string templates;
  std::string database = kDefaultDatabase;
  std::string generate;
  std::string seed;
  bool calibrate = false;
  bool record = false;
  bool json = false;
};

std::string verdict_text(const SelftestRow& row) {
  if (!row.checked) return "not shown here";
  return std::string(name_of(row.verdict));
}

std::string selftest_text(const SelftestResult& result, const Terminal& terminal) {
  Table table({"mutant or control", "verdict", "", "reason"});
  for (const SelftestRow& row : result.rows) {
    const Style style = !row.checked ? Style::plain : row.right ? Style::plain : Style::bad;
    table.add({row.mutant.name, verdict_text(row),
               !row.checked ? ""
               : row.right  ? "right"
                            : "WRONG",
               one_line(row.reason.empty() ? row.mutant.about : row.reason)},
              style);
  }
  const std::string counts = fmt::format("{} checked, {} with a wrong verdict, {} not shown on this kind of device",
                                         result.checked(), result.wrong(), result.rows.size() - result.checked());
  return fmt::format(
      "{} on {} ({})\n{}{}: {}\n", result.task, result.device.id, result.device.name, table.text(terminal, 2),
      result.passed() ? styled(terminal, Style::good, "passed") : styled(terminal, Style::bad, "failed"), counts);
}

std::string selftest_document(const SelftestResult& result) {
  Json json = json_document("selftest");
  json["task"] = result.task;
  json["task_hash"] = result.task_hash;
  json["device"] = device_json(result.device);
  json["passed"] = result.passed();
  json["judged"] = result.checked();
  json["wrong"] = result.wrong();
  json["specimens"] = Json::array();
  for (const SelftestRow& row : result.rows) {
    json["specimens"].push_back({{"name", row.mutant.name},
                                 {"family", row.mutant.family},
                                 {"about", row.mutant.about},
                                 {"verdict", row.checked ? Json(name_of(row.verdict)) : Json(nullptr)},
                                 {"reason", row.reason},
                                 {"right", row.checked ? Json(row.right) : Json(nullptr)}});
  }
  return json_text(json);
}

std::string calibration_text(const CalibrationResult& result, const Terminal& terminal) {
  Table table({"regime", ">cases", ">worst error", ">limit", ">cosine", ">at least"});
  for (const auto& [regime, floor] : result.floors) {
    const Limits& limits = result.limits.at(regime);
    table.add({regime, fmt::format("{}", floor.cases), fmt::format("{:.4g}", floor.relative_l2),
               fmt::format("{:.4g}", limits.relative_l2), fmt::format("{:.6f}", floor.cosine),
               fmt::format("{:.6f}", limits.cosine)});
  }
  return fmt::format("{} on {}: error of its low-precision emulation against the reference\n{}", result.task,
                     result.device.id, table.text(terminal, 2));
}

constexpr std::size_t kGeneratedMutants = 60;

/// "as accurate"
std::string name_of(MutantOutcome::Kind kind) {
  std::string name(enumerator_name(kind));
  std::ranges::replace(name, '_', ' ');
  return name;
}

std::string score_line(const MutationScore& score) {
  using Kind = MutantOutcome::Kind;
  const auto [low, high] = score.interval();
  return fmt::format(
      "{} of {} mutants killed: {:.1f} % (95 % interval {:.1f} to {:.1f})\n"
      "not counted: {} equivalent, {} as accurate, {} no change, {} repeated, {} not built\n",
      score.count(Kind::killed), score.count(Kind::killed) + score.count(Kind::survived), 100 * score.share_killed(),
      100 * low, 100 * high, score.count(Kind::equivalent), score.count(Kind::as_accurate),
      score.count(Kind::no_change), score.count(Kind::repeated), score.count(Kind::not_built));
}

/// "scale.cu:12", with the author's name of the file.
std::string place_of(const MutantOutcome& mutant, const std::optional<ShortForm>& form) {
  const std::string place = fmt::format("{}:{}", mutant.file.empty() ? "kernel.cu" : mutant.file, mutant.line);
  return form ? form->in_authors_places(place) : place;
}

std::string score_text(const MutationScore& score, const std::optional<ShortForm>& form, const Terminal& terminal) {
  using Kind = MutantOutcome::Kind;
  std::string text = fmt::format("{} on {} ({}), generated mutants, seed {}\n", score.task, score.device.id,
                                 score.device.name, score.seed);
  for (const MutantOutcome& mutant : score.mutants) {
    if (mutant.kind == Kind::killed || mutant.kind == Kind::repeated || mutant.kind == Kind::not_built) continue;
    const bool survived = mutant.kind == Kind::survived;
    text += styled(terminal, survived ? Style::bad : Style::plain,
                   fmt::format("  {}: {}, {}", name_of(mutant.kind), mutant.operation, place_of(mutant, form)));
    text +=
        fmt::format("\n    genome {}{}\n    - {}\n    + {}\n", to_text(mutant.genome),
                    mutant.genomes > 1 ? fmt::format(" ({} tried)", mutant.genomes) : "", mutant.before, mutant.after);
    if (survived) text += fmt::format("    would be killed by {}\n", mutant.would_kill);
  }
  return text + score_line(score);
}

std::string score_document(const MutationScore& score, const std::optional<ShortForm>& form) {
  Json json = json_document("selftest");
  json["task"] = score.task;
  json["device"] = device_json(score.device);
  json["seed"] = score.seed;
  json["share_killed"] = score.share_killed();
  json["interval"] = {score.interval().first, score.interval().second};
  json["mutants"] = Json::array();
  for (const MutantOutcome& mutant : score.mutants) {
    json["mutants"].push_back({{"kind", name_of(mutant.kind)},
                               {"family", mutant.genome.family},
                               {"genome", to_text(mutant.genome)},
                               {"genomes", mutant.genomes},
                               {"operation", mutant.operation},
                               {"place", place_of(mutant, form)},
                               {"before", mutant.before},
                               {"after", mutant.after},
                               {"verdict", evo::name_of(mutant.verdict)},
                               {"reason", mutant.reason},
                               {"would_kill", mutant.would_kill}});
  }
  return json_text(json);
}

int score_task(const SelftestRequest& request, const SourceTree& tree, const Task& task, const DeviceInfo& device,
               const std::optional<ShortForm>& form) {
  const std::size_t count =
      request.generate.empty() ? kGeneratedMutants : parse_number("--generate", request.generate, 1);
  const std::uint64_t seed = request.seed.empty() ? fresh_salt() >> 32 : parse_number("--seed", request.seed);
  const MutationScore score = score_validation(tree, task, device, count, seed);
  print("{}", request.json ? score_document(score, form) : score_text(score, form, terminal_of(stdout)));
  return score.count(MutantOutcome::Kind::survived) == 0 ? kDone : kNothingValid;
}

/// Of a short form, whose task has no mutants of its own.
int score_file(const SelftestRequest& request, const CLI::App& command) {
  refuse_options(command, {"--task", "--templates", "--only", "--record", "--calibrate"}, "FILE.json");
  std::optional<ShortForm> form = load_short_form(request.file);
  take_measured_limits(*form);
  const SourceTree tree = with_shipped(form->files);
  try {
    return score_task(request, tree, find_task(tree, form->task), find_device_or_auto(request.device), form);
  } catch (const Error& error) {
    if (error.fault() != Fault::usage) throw;
    throw usage_error(form->in_authors_places(error.what()));
  }
}

int calibrate_task(const SelftestRequest& request) {
  const std::filesystem::path folder = find_templates(request.templates);
  const SourceTree tree = with_shipped(read_templates(folder));
  const Task task = find_task(tree, request.task);
  const CalibrationResult result = calibrate(tree, task, find_device(request.device.empty() ? "auto" : request.device));
  const std::filesystem::path file = folder / task.name / "limits.json";
  print("{}", calibration_text(result, terminal_of(stdout)));
  write_file(file, with_measured(tree, task, result));
  print("written to {}: these limits hold from now on\n", file.string());
  return kDone;
}

int selftest(const SelftestRequest& request, const CLI::App& command) {
  if (!request.file.empty()) return score_file(request, command);
  if (request.calibrate) {
    refuse_options(command, {"--only", "--record", "--json"}, "--calibrate");
    return calibrate_task(request);
  }
  if (request.record && !request.only.empty()) {
    throw usage_error("--record cannot be combined with --only: a pass covers all mutants and controls");
  }
  const std::filesystem::path folder = find_templates(request.templates);
  const SourceTree tree = with_shipped(read_templates(folder));
  const Task task = find_task(tree, request.task);
  const DeviceInfo device = find_device_or_auto(request.device);
  if (!request.generate.empty() || load_mutants(tree, task).empty()) {
    refuse_options(command, {"--only", "--record"}, "--generate (and a task without mutants)");
    return score_task(request, tree, task, device, std::nullopt);
  }
  std::optional<Store> store;
  if (request.only.empty()) store = Store::open(request.database, Store::Mode::write);
  const SelftestResult result = run_selftest(tree, task, device, request.only, fresh_salt());
  print("{}", request.json ? selftest_document(result) : selftest_text(result, terminal_of(stdout)));
  if (store) {
    const SelftestRecord record = record_of(result, open_compiler(device.kind)->version());
    store->record_selftest(record);
    if (request.record && record.passed)
      write_to_stderr(fmt::format("written to {}\n", write_pass(folder, record).string()));
  }
  return result.wrong() == 0 ? kDone : kNothingValid;
}

}  // namespace

void add_selftest(CLI::App& app, Invocation& invocation) {
  auto [command, request] = add_command(app, invocation, "selftest",
                                        "Evaluate planted wrong kernels of a task: each must be rejected for the "
                                        "right reason, and correct ones accepted",
                                        selftest);
  add_option(command, "FILE.json", "", request.file,
             "A short form for evo tune, of whose kernel mutants are made, instead of a task");
  add_option(command, "--task", "TASK", request.task, "The task whose mutants are evaluated");
  add_option(command, "--device", "DEVICE", request.device, "Evaluate on this device (default: auto)");
  add_option(command, "--only", "A,B", request.only, "Only these mutants and controls")
      ->delimiter(',')
      ->allow_extra_args();
  add_option(command, "--generate", "N", request.generate,
             "Instead of the task's own, make mutants of its kernels until this many ran, and count those that "
             "validation rejects (the default for FILE.json and a task without mutants: 60)");
  add_option(command, "--seed", "N", request.seed, "With --generate: the seed of the random places that are changed");
  command.add_flag(
      "--calibrate", request.calibrate,
      "Instead of testing, measure the error of a correct low-precision kernel and store limits derived from it");
  command.add_flag("--record", request.record,
                   "Also record the pass in the templates folder, for all users of the templates");
  add_usual_options(command, request);
}

}  // namespace evo::cli
