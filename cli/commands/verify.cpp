#include "cli/commands/verify.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <optional>
#include <random>

#include "cli/commands/commands.h"
#include "cli/commands/json_documents.h"
#include "cli/subject/arguments.h"
#include "cli/subject/claim.h"
#include "cli/subject/contract.h"
#include "cli/subject/held_out.h"
#include "cli/subject/lookup.h"
#include "cli/subject/restore.h"
#include "cli/subject/templates.h"
#include "cli/text/exit_code.h"
#include "cli/text/format.h"
#include "cli/text/table.h"
#include "engine/base/error.h"
#include "evaluator/pipeline/pipeline.h"

namespace evo::cli {
namespace {

constexpr double kMeasuredTolerance = 0.05;

struct Request {
  std::string subject;
  std::string device;
  std::string database = kDefaultDatabase;
  std::string templates;
  bool json = false;
};

/// Files are verified on machines without templates, too.
SourceTree installed_templates(const std::string& wish) {
  if (!wish.empty()) return load_templates(wish);
  try {
    return load_templates(wish);
  } catch (const Error&) {
    return {};
  }
}

Claim stored_claim(const Request& request) {
  const CandidateId id = parse_id("candidate", request.subject);
  const Restored restored = restore(Store::open(request.database, Store::Mode::read), id);
  const Evaluation& evaluation = restored.row.evaluation;
  if (evaluation.verdict != Verdict::valid) {
    throw usage_error(fmt::format("candidate {} claims nothing: it is {}{}", id, name_of(evaluation.verdict),
                                  evaluation.reason.empty() ? "" : fmt::format(" ({})", evaluation.reason)));
  }
  return claim_of(restored);
}

/// The claim's own GPU, else one of its model.
DeviceInfo device_like(const Claim& claim) {
  const DeviceRecord& record = claim.device;
  if (record.kind == "vgpu") return resolve_device(record.id);
  std::optional<DeviceInfo> alike;
  for (const DeviceInfo& device : all_devices()) {
    if (device.kind != "cuda") continue;
    if (device.uuid == record.uuid) return device;
    if (!alike && device_key(record_of(device)) == device_key(record)) alike = device;
  }
  if (alike) return *alike;
  throw machine_error(
      fmt::format("{} was measured on {}, which this machine does not have: --device vgpu checks its answers "
                  "without timing it",
                  claim.origin, record.name));
}

std::uint64_t fresh_salt() {
  std::random_device source;
  return (static_cast<std::uint64_t>(source()) << 32) | source();
}

Evaluation evaluate(const Claim& claim, const DeviceInfo& device) {
  PipelineOptions options;
  options.task = claim.task;
  options.tree = claim.tree;
  options.device = device;
  options.salt = fresh_salt();
  Target target = claim.target;
  std::ranges::move(held_out_shapes(claim.task, claim.target, device.kind, options.salt),
                    std::back_inserter(target.validated));
  options.target = target;
  options.compile_workers = 1;
  options.dedup = false;
  const std::unique_ptr<Evaluator> pipeline = make_pipeline(std::move(options));
  // The plans are the claim's: they were resolved with the facts of its device.
  pipeline->submit(0, with_plans(claim.task, claim.family, claim.genome, claim.programs, target, claim.device.facts));
  return pipeline->wait().evaluation;
}

/// `templates`: of a claim that a file makes; null for a candidate's.
Finding check(Claim claim, const std::string& device_name, const SourceTree* templates) {
  Finding finding;
  finding.device = device_name.empty() ? device_like(claim) : find_device(device_name);
  if (templates != nullptr) judge_by_installed(claim, *templates, finding.device.kind);
  finding.modelled = finding.device.kind == "vgpu";
  finding.comparable = device_key(record_of(finding.device)) == device_key(claim.device);
  finding.tolerance = finding.modelled ? 0 : kMeasuredTolerance;
  finding.evaluation = evaluate(claim, finding.device);
  finding.claim = std::move(claim);
  judge(finding);
  return finding;
}

const Timing* find_timing(const std::vector<Timing>& timings, const Timing& like) {
  const auto same = [&](const Timing& timing) { return timing.shape == like.shape && timing.cold == like.cold; };
  const auto found = std::find_if(timings.begin(), timings.end(), same);
  return found == timings.end() ? nullptr : &*found;
}

std::string finding_text(const Finding& finding, const Terminal& terminal) {
  const Claim& claim = finding.claim;
  const Evaluation& evaluation = finding.evaluation;
  using Align = Table::Align;
  Table table({{""}, {"claimed", Align::right}, {"found", Align::right}});
  for (const Timing& claimed : claim.timings) {
    const Timing* found = find_timing(evaluation.timings, claimed);
    table.add({fmt::format("{} {}, us", claimed.shape, claimed.cold ? "cold" : "warm"), microseconds(claimed.median_us),
               found ? microseconds(found->median_us) : "-"});
  }
  const bool valid = evaluation.verdict == Verdict::valid;
  table.add({"objective, us", microseconds(claim.latency_us), valid ? microseconds(evaluation.latency_us) : "-"});
  table.add({"worst relative error", error_figure(claim.worst_relative_l2),
             evaluation.errors.empty() ? "-" : error_figure(evaluation.worst_relative_l2)});
  std::string text = fmt::format("{}: {} on {} ({}), inputs from fresh seeds, also on shapes that no search has seen\n",
                                 claim.origin, claim.task.name, finding.device.id, timing_word(finding.modelled));
  if (claim.edited) text += "the kernels in the file were edited after the export\n";
  if (claim.contract == Contract::installed)
    text += fmt::format("judged by the {} of the templates here: the one in the file is different\n", claim.task.name);
  if (claim.contract == Contract::brought)
    text += fmt::format("judged by the {} that the file brings: the templates here have none\n", claim.task.name);
  text += table.text(terminal, 2);
  return text + fmt::format("{}: {}\n",
                            finding.reproduced ? styled(terminal, Style::good, "reproduced")
                                               : styled(terminal, Style::bad, "not reproduced"),
                            one_line(finding.why));
}

int verify(const Request& request) {
  std::vector<Claim> claims;
  std::optional<SourceTree> templates;
  if (is_candidate_id(request.subject)) {
    claims.push_back(stored_claim(request));
  } else {
    claims = exported_claims(request.subject);
    templates = installed_templates(request.templates);
  }

  std::vector<Finding> findings;
  for (Claim& claim : claims) {
    findings.push_back(check(std::move(claim), request.device, templates ? &*templates : nullptr));
    if (!request.json) fmt::print("{}", finding_text(findings.back(), terminal_of(stdout)));
  }
  if (request.json)
    fmt::print("{}", findings.size() == 1 ? verify_json(findings.front()) : verify_json(request.subject, findings));
  const bool all = std::all_of(findings.begin(), findings.end(), [](const Finding& f) { return f.reproduced; });
  return all ? kDone : kNothingValid;
}

}  // namespace

void add_verify(CLI::App& app, Action& action) {
  auto request = std::make_shared<Request>();
  CLI::App* command =
      app.add_subcommand("verify", "Compile, validate on fresh seeds and time again: does a claim hold?");
  command->add_option("ID|FILE.cu", request->subject, "A candidate or an exported file")->required()->type_name("");
  command
      ->add_option("--device", request->device, "Check on this device (default: the claim's own, or one of its model)")
      ->type_name("DEVICE");
  command->add_option("--db", request->database, kDatabaseHelp)->capture_default_str()->type_name("FILE");
  command->add_option("--templates", request->templates, kTemplatesHelp)->type_name("DIR");
  command->add_flag("--json", request->json, kJsonHelp);
  command->callback([request, &action] { action = [request] { return verify(*request); }; });
}

}  // namespace evo::cli
