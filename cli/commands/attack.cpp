#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "cli/check/feasible_shapes.h"
#include "cli/check/measured_limits.h"
#include "cli/commands/commands.h"
#include "cli/sources/short_form_file.h"
#include "cli/sources/templates.h"
#include "cli/subject/claim.h"
#include "cli/subject/held_out_shapes.h"
#include "cli/subject/json.h"
#include "cli/subject/known_attacks.h"
#include "cli/subject/long_shapes.h"
#include "cli/subject/restore.h"
#include "cli/text/result_text.h"
#include "cli/text/signals.h"
#include "engine/base/rng.h"
#include "engine/device/device_kind.h"
#include "evaluator/pipeline/kernel_attack.h"

namespace evo::cli {
namespace {

/// Of the attack of one kernel: a virtual GPU makes a few tries a second, a GPU hundreds.
constexpr double kSeconds = 30, kSecondsOnHost = 120;

struct AttackRequest {
  std::string subject;
  std::string device;
  std::string time;
  std::string seed = "1";
  std::string tries;
  std::vector<std::string> shapes, options;
  std::string objective;
  std::string family;
  std::string database = kDefaultDatabase;
  std::string templates;
  bool json = false;
};

/// A kernel to attack.
struct AttackedKernel {
  std::string origin;
  std::string task_hash;  ///< By which a database knows the task.
  DeviceInfo device;
  SourceTree tree;
  Task task;
  Target target;
  std::function<Candidate(const Target&)> make;
};

struct AttackedOne {
  AttackedKernel kernel;
  AttackReport report;
  std::optional<AttackRecord> kept;  ///< What was found.
};

// ---- What is attacked

AttackedKernel kernel_of(const Claim& claim, const AttackRequest& request) {
  return {claim.origin,
          task_hash_in_database(claim),
          device_for(claim, request.device),
          claim.tree,
          claim.task,
          claim.target,
          [claim](const Target& target) { return candidate_of(claim, target); }};
}

Genome first_genome(const Space& space) {
  if (space.size() < Space::kSaturated) return space.at(0);
  Rng rng(0);
  return space.sample(rng);
}

/// The first genome of each family that the device can run.
std::vector<AttackedKernel> kernels_of_task(const AttackRequest& request) {
  std::optional<ShortForm> form;
  if (is_short_form(request.subject)) {
    if (!request.json) write_to_stderr(fmt::format("{}: its limits are measured first\n", request.subject));
    form = load_short_form(request.subject);
    take_measured_limits(*form);
  }
  const SourceTree tree = form ? with_shipped(form->files) : load_templates(request.templates);
  const Task task = find_task(tree, form ? form->task : request.subject);
  const DeviceInfo device = find_device_or_auto(request.device);
  const Target target = make_target(task, device.kind, parse_shapes(task, request.shapes),
                                    parse_options(task, request.options), request.objective);
  std::vector<AttackedKernel> kernels;
  const Space all = make_space(tree, task, device, target, request.family);
  for (const Family& family : all.families()) {
    const Genome genome =
        first_genome(Space({family}, known_to_space(device, target), specialisations_of(task, target)));
    kernels.push_back({fmt::format("{}, {}", task.name, to_text(genome)), task.hash, device, tree, task, target,
                       [=](const Target& wanted) {
                         return make_candidate(tree, task, family, genome, wanted, facts_of(device.limits));
                       }});
  }
  return kernels;
}

std::vector<AttackedKernel> kernels_of(const AttackRequest& request, const CLI::App& command) {
  if (!is_candidate_id(request.subject) && !request.subject.ends_with(".cu")) return kernels_of_task(request);
  refuse_options(command, {"--shapes", "--option", "--objective", "--family"}, "a candidate or an exported file");
  std::vector<AttackedKernel> kernels;
  for (const Claim& claim : claims_of(request.subject, request.database)) kernels.push_back(kernel_of(claim, request));
  return kernels;
}

// ---- The attack

AttackBudget budget_of(const AttackRequest& request, const DeviceInfo& device) {
  AttackBudget budget;
  budget.seed = parse_number("--seed", request.seed);
  budget.seconds = kind_named(device.kind).on_host ? kSecondsOnHost : kSeconds;
  if (!request.tries.empty()) {
    budget.tries = parse_number("--tries", request.tries, 1);
    budget.seconds = std::numeric_limits<double>::infinity();
  }
  if (!request.time.empty())
    budget.seconds = std::chrono::duration<double>(parse_duration("--time", request.time)).count();
  return budget;
}

std::string progress_text(const AttackProgress& progress) {
  return fmt::format("{:.0f} s: {} tries, {} set aside, the largest error {:.3g} times its limit", progress.seconds,
                     grouped(progress.tries), grouped(progress.set_aside), progress.worst);
}

/// On a terminal, a line that is written anew.
class ProgressLine {
 public:
  void show(const AttackProgress& progress) {
    if (terminal_.interactive) write_to_terminal("\r\x1b[K" + one_line(progress_text(progress)));
  }
  ~ProgressLine() {
    if (terminal_.interactive) write_to_terminal("\r\x1b[K");
  }

 private:
  Terminal terminal_ = terminal_of(stderr);
};

AttackReport attack_kernel(const AttackedKernel& kernel, const AttackRequest& request,
                           const InterruptGuard& interrupts) {
  PipelineOptions options;
  options.task = kernel.task;
  options.tree = kernel.tree;
  options.target = kernel.target;
  require_feasible(kernel.task, kernel.target, kernel.device.kind);
  options.device = kernel.device;
  const AttackBudget budget = budget_of(request, kernel.device);
  options.salt = budget.seed;
  for (const std::vector<Shape>& further :
       {held_out_shapes(kernel.task, kernel.target, kernel.device.kind, budget.seed),
        long_shapes(kernel.task, kernel.target, kernel.device.kind, kind_named(kernel.device.kind).held_out_work)})
    options.target.validated.insert(options.target.validated.end(), further.begin(), further.end());
  if (!request.json) {
    print("{} on {}\n", kernel.origin, kernel.device.id);
    std::fflush(stdout);
  }
  KernelAttack attack(options);
  ProgressLine line;
  return attack.attack(kernel.make(options.target), budget, [&](const AttackProgress& progress) {
    line.show(progress);
    return !interrupts.requested();
  });
}

// ---- For people

std::string shape_text(const Shape& shape) {
  std::string text;
  for (const auto& [name, value] : shape.parameters)
    text += fmt::format("{}{}={}", text.empty() ? "" : ",", name, expr::to_string(value));
  return text;
}

std::string failure_text(const Failure& failure) {
  return fmt::format("{}: {}", name_of(failure.verdict), one_line(reason_text(failure.reason, failure.mismatch)));
}

std::string report_text(const AttackedOne& one, const Terminal& terminal) {
  const AttackReport& report = one.report;
  if (report.not_built)
    return fmt::format("  {}: {}\n", styled(terminal, Style::bad, "not attacked"), failure_text(*report.not_built));
  std::string text = fmt::format("  {}\n", progress_text(report.progress));
  if (!report.find) {
    text += fmt::format("  {}\n", styled(terminal, Style::good, "nothing found"));
    if (report.progress.worst > 0)
      text += fmt::format("  worst: shape {}, {}\n", shape_text(report.shapes[report.worst.shape]),
                          json_of(report.worst.regime));
    return text;
  }
  const AttackFind& find = *report.find;
  text += fmt::format("  {} at shape {}: {}\n", styled(terminal, Style::bad, "found"), shape_text(find.shape),
                      failure_text(find.failure));
  if (find.error > 0) text += fmt::format("  error: {:.3g} times its limit\n", find.error);
  return text + fmt::format("  regime, for task.json; the database keeps it for later candidates:\n    {}\n",
                            pasted(*one.kept));
}

// ---- For programs

Json find_json(const AttackFind& find, const AttackRecord& kept) {
  return {{"shape", bindings_json(find.shape.parameters)},
          {"regime", Json::parse(kept.regime)},
          {"error", positive_or_null(find.error)},
          {"verdict", name_of(find.failure.verdict)},
          {"reason", reason_text(find.failure.reason, find.failure.mismatch)}};
}

Json report_json(const AttackedOne& one) {
  const AttackReport& report = one.report;
  return {{"origin", one.kernel.origin},
          {"task", one.kernel.task.name},
          {"device", device_json(one.kernel.device)},
          {"tries", report.progress.tries},
          {"set_aside", report.progress.set_aside},
          {"seconds", report.progress.seconds},
          {"worst", report.progress.worst},
          {"not_built", report.not_built ? Json(failure_text(*report.not_built)) : Json(nullptr)},
          {"found", report.find ? find_json(*report.find, *one.kept) : Json(nullptr)}};
}

int attack(const AttackRequest& request, const CLI::App& command) {
  const InterruptGuard interrupts;
  Json document = json_document("attack");
  document["kernels"] = Json::array();
  bool right = true;
  for (AttackedKernel& kernel : kernels_of(request, command)) {
    AttackReport report = attack_kernel(kernel, request, interrupts);
    std::optional<AttackRecord> kept;
    if (report.find) {
      kept = attack_record(*report.find, kernel.task, kernel.target, kernel.device, kernel.task_hash, kernel.origin);
      Store::open(request.database, Store::Mode::write).record_attack(*kept);
    }
    const AttackedOne one{std::move(kernel), std::move(report), std::move(kept)};
    right = right && !one.report.find && !one.report.not_built;
    if (request.json)
      document["kernels"].push_back(report_json(one));
    else
      print("{}", report_text(one, terminal_of(stdout)));
    if (interrupts.requested()) return kInterrupted;
  }
  if (request.json) print("{}", json_text(document));
  return right ? kDone : kNothingValid;
}

}  // namespace

void add_attack(CLI::App& app, Invocation& invocation) {
  auto [command, request] =
      add_command(app, invocation, "attack", "Evolve inputs on which a kernel breaks the limits of its task", attack);
  add_option(
      command, "ID|FILE.cu|TASK", "", request.subject,
      "A candidate's number, an exported file, or a task or FILE.json, whose families' first genomes are attacked")
      ->required();
  add_option(command, "--time", "TIME", request.time,
             "For each kernel, as 30s (default: 30s, on a virtual GPU 2m); minimising what is found comes on top");
  add_option(command, "--tries", "N", request.tries, "So many tries instead of a time, so that a seed repeats");
  add_option(command, "--seed", "N", request.seed, "Of the search and of its inputs");
  add_option(command, "--device", "DEVICE", request.device,
             "Run on this device (default: the candidate's own, or one of its model, else auto)");
  add_option(command, "--shapes", "SHAPES", request.shapes, "For a task: these shapes instead of its own");
  add_option(command, "--option", "NAME=VALUE", request.options, "For a task: an option; may be repeated");
  add_option(command, "--objective", "NAME", request.objective, "For a task: its objective (default: the first)");
  add_option(command, "--family", "NAME", request.family, "For a task: only this family");
  add_usual_options(command, request);
}

}  // namespace evo::cli
