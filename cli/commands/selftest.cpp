#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <random>

#include "cli/commands/commands.h"
#include "cli/selftest/calibrate.h"
#include "cli/selftest/selftest_record.h"
#include "cli/subject/arguments.h"
#include "cli/subject/json.h"
#include "cli/subject/lookup.h"
#include "cli/subject/templates.h"
#include "cli/text/exit_code.h"
#include "cli/text/files.h"
#include "cli/text/json_text.h"
#include "cli/text/streams.h"
#include "cli/text/suggest.h"
#include "cli/text/table.h"
#include "engine/base/error.h"
#include "engine/base/rng.h"
#include "evaluator/compile/compiler.h"
#include "evaluator/compile/nvrtc_compiler.h"
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

std::string verdict_text(const SelftestRow& row) {
  if (!row.checked) return "not shown here";
  return std::string(name_of(row.verdict));
}

std::string selftest_text(const SelftestResult& result, const Terminal& terminal) {
  Table table({{"mutant or control"}, {"verdict"}, {""}, {"reason"}});
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

using Json = nlohmann::ordered_json;

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
  return fmt::format("{} on {}: error of its low-precision emulation against the reference\n{}", result.task,
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
  fmt::print("written to {}: these limits hold from now on\n", file.string());
  return kDone;
}

int selftest(const Request& request, const CLI::App& command) {
  if (request.calibrate) {
    refuse_options(command, {"--only", "--record", "--json"}, "--calibrate");
    return calibrate_task(request);
  }
  if (request.record && !request.only.empty()) {
    throw usage_error("--record cannot be combined with --only: a pass covers all mutants and controls");
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
  fmt::print("{}", request.json ? selftest_document(result) : selftest_text(result, terminal_of(stdout)));
  if (store) {
    const SelftestRecord record = record_of(result, make_nvrtc_compiler()->version());
    store->record_selftest(record);
    if (request.record && record.passed)
      write_to_stderr(fmt::format("written to {}\n", write_pass(folder, record).string()));
  }
  return result.wrong() == 0 ? kDone : kNothingValid;
}

}  // namespace

void add_selftest(CLI::App& app, Invocation& invocation) {
  auto request = std::make_shared<Request>();
  CLI::App* command = app.add_subcommand(
      "selftest",
      "Evaluate planted wrong kernels of a task: each must be rejected for the right reason, correct ones accepted");
  command->add_option("--task", request->task, "The task whose mutants are evaluated")->type_name("TASK");
  command->add_option("--device", request->device, "Evaluate on this device (default: auto)")->type_name("DEVICE");
  command->add_option("--only", request->only, "Only these mutants and controls")->delimiter(',')->type_name("A,B");
  command->add_flag(
      "--calibrate", request->calibrate,
      "Instead of testing, measure the error of a correct low-precision kernel and store the limits that follow");
  command->add_flag("--record", request->record,
                    "Also record the pass in the templates folder, for everybody who gets the templates");
  add_database_option(*command, request->database);
  add_templates_option(*command, request->templates);
  add_json_flag(*command, request->json);
  command->callback([request, &invocation, command] {
    invocation.action = [request, command] { return selftest(*request, *command); };
  });
}

}  // namespace evo::cli
