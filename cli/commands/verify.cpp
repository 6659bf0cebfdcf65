#include "cli/commands/verify.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "cli/check/elite_attack.h"
#include "cli/check/feasible_shapes.h"
#include "cli/check/further_trials.h"
#include "cli/check/launcher_check.h"
#include "cli/commands/commands.h"
#include "cli/rivals/foreign_kernel.h"
#include "cli/rivals/solution_check.h"
#include "cli/rivals/solution_text.h"
#include "cli/sources/shadowing.h"
#include "cli/sources/templates.h"
#include "cli/subject/contract.h"
#include "cli/subject/held_out_shapes.h"
#include "cli/subject/json.h"
#include "cli/subject/known_attacks.h"
#include "cli/subject/restore.h"
#include "cli/subject/tried_shapes.h"
#include "cli/text/result_text.h"
#include "engine/device/device_kind.h"
#include "engine/record/enumerators.h"
#include "evaluator/base/random.h"
#include "evaluator/pipeline/pipeline.h"

namespace evo::cli {
namespace {

constexpr double kMeasuredTolerance = 0.05;
/// A modelled latency repeats exactly on the same inputs. Of a claim that does not say which they were, other draws may
/// decide what is done, if there are lengths or indices among them.
constexpr double kDataTolerance = 0.3;

struct VerifyRequest {
  std::string subject;
  std::string device;
  std::string database = kDefaultDatabase;
  std::string templates;
  std::string task;
  std::vector<std::string> shapes, options, launches;
  bool kernels_only = false;
  bool json = false;
};

/// Empty on a machine without templates: an exported file can be verified there, too.
SourceTree installed_templates(const std::string& wish) {
  if (!wish.empty()) return load_templates(wish);
  try {
    return load_templates(wish);
  } catch (const Error&) {
    return {};
  }
}

Claim stored_claim(const VerifyRequest& request) {
  const CandidateId id = parse_id("candidate", request.subject);
  const Store store = Store::open(request.database, Store::Mode::read);
  const Restored restored = restore(store, id);
  const Evaluation& evaluation = restored.row.evaluation;
  if (evaluation.verdict != Verdict::valid) {
    throw usage_error(
        fmt::format("candidate {} has no valid latency to verify: it is {}{}", id, name_of(evaluation.verdict),
                    reason_text(evaluation).empty() ? "" : fmt::format(" ({})", reason_text(evaluation))));
  }
  Claim claim = claim_of(restored);
  add_known_attacks(store, claim.task);
  return claim;
}

/// The claim's own GPU, else one of its model.
DeviceInfo verifying_device(const Claim& claim) {
  const DeviceRecord& record = claim.device;
  if (const std::optional<DeviceInfo> device = device_like(record)) return *device;
  throw machine_error(
      fmt::format("{} was measured on {}, which this machine does not have: --device vgpu checks its answers "
                  "without timing it",
                  claim.origin, record.name));
}

Evaluation evaluate(const Claim& claim, const DeviceInfo& device, std::vector<std::string>& held_out) {
  PipelineOptions options;
  options.task = claim.task;
  options.tree = claim.tree;
  options.device = device;
  options.salt = fresh_salt();
  Target target = claim.target;
  for (Shape& shape : held_out_shapes(claim.task, claim.target, device.kind, options.salt)) {
    held_out.push_back(spelled(claim.task, shape));
    target.validated.push_back(std::move(shape));
  }
  options.target = target;
  options.compile_workers = 1;
  options.dedup = false;
  const std::unique_ptr<Evaluator> pipeline = make_pipeline(std::move(options));
  // The plans are the claim's: they were resolved with the facts of its device.
  pipeline->submit(0, candidate_of(claim, target));
  return pipeline->wait().evaluation;
}

/// A short attack of a kernel that withstood the other checks. `known` attacks are among its regimes.
void attack_shortly(const Claim& claim, const DeviceInfo& device, CheckedElite& checked,
                    std::optional<AttackRecord>& found) {
  if (checked.finding) return;
  EliteAttack here({.device = device, .salt = fresh_salt()});
  EliteAttack::Result result = here.attack(claim, {});
  checked.finding = std::move(result.finding);
  if (!checked.finding) checked.checks.push_back(std::move(result.check));
  found = std::move(result.kept);
}

/// What elites go through: under the sanitiser of a virtual GPU, and at sizes that nobody listed, there and on the
/// device itself; and an attack on the device itself.
CheckedElite check_further(const Claim& claim, const DeviceInfo& device, std::optional<AttackRecord>& found) {
  CheckedElite checked;
  if (!kind_named(device.kind).sanitises) {
    FurtherTrials here({.device = device});
    EliteCheck sizes = here.try_sizes(claim, checked.finding);
    if (checked.finding) return checked;
    sizes.note = fmt::format("on {}: {}", device.id, sizes.note);
    checked.checks.push_back(std::move(sizes));
  }
  const std::optional<DeviceInfo> watching = watching_device(record_of(device));
  if (!watching) {
    checked.checks.push_back({"sanitiser", EliteCheck::Outcome::impossible, "no virtual GPU is like " + device.name});
    attack_shortly(claim, device, checked, found);
    return checked;
  }
  FurtherTrials watched({.device = *watching});
  CheckedElite there = watched.judge(claim);
  std::ranges::move(there.checks, std::back_inserter(checked.checks));
  checked.finding = std::move(there.finding);
  attack_shortly(claim, device, checked, found);
  return checked;
}

/// The objective on the inputs that the claim was timed on; 0 where it is not valid on them.
double latency_on_own_inputs(const Claim& claim, const DeviceInfo& device) {
  PipelineOptions options;
  options.task = claim.task;
  options.tree = claim.tree;
  options.device = device;
  options.salt = claim.salt;
  options.target = claim.target;
  options.target.validated.clear();
  options.compile_workers = 1;
  options.dedup = false;
  const Target target = options.target;
  const std::unique_ptr<Evaluator> pipeline = make_pipeline(std::move(options));
  pipeline->submit(0, candidate_of(claim, target));
  const Evaluation found = pipeline->wait().evaluation;
  return found.verdict == Verdict::valid ? found.latency_us : 0;
}

/// Modelled latencies that differ from the claim on fresh inputs are looked at on the claim's own.
void repeat_on_own_inputs(Verification& verification) {
  const Claim& claim = verification.claim;
  const Evaluation& fresh = verification.evaluation;
  const bool decides = verification.modelled && verification.comparable && fresh.verdict == Verdict::valid;
  if (!decides || claim.salt == 0 || agrees(claim.latency_us, fresh.latency_us, 0)) return;
  verification.tolerance = 0;
  verification.own_inputs_us = latency_on_own_inputs(claim, verification.device);
}

double tolerance_of(const Claim& claim, bool modelled) {
  if (!modelled) return kMeasuredTolerance;
  const std::vector<Tensor> drawn = drawn_tensors(claim.task);
  const bool by_data = std::ranges::any_of(
      drawn, [&](const Tensor& tensor) { return draws_whole_numbers(tensor, dtype_of(tensor, claim.target.options)); });
  return by_data ? kDataTolerance : 0;
}

/// `templates`: those of this machine, for the claim of a file; null for a stored candidate.
Verification check(Claim claim, const std::string& device_name, const SourceTree* templates,
                   const std::string& database) {
  Verification verification;
  verification.device = device_name.empty() ? verifying_device(claim) : find_device(device_name);
  if (templates != nullptr) {
    use_installed_task(claim, *templates, verification.device.kind);
    add_attacks_on_file(database, claim);
  }
  require_feasible(claim.task, claim.target, verification.device.kind);
  verification.modelled = kind_named(verification.device.kind).modelled;
  verification.comparable = device_key(record_of(verification.device)) == device_key(claim.device);
  verification.tolerance = tolerance_of(claim, verification.modelled);
  verification.evaluation = evaluate(claim, verification.device, verification.held_out);
  if (verification.evaluation.verdict == Verdict::valid)
    verification.checked = check_further(claim, verification.device, verification.attack);
  verification.claim = std::move(claim);
  repeat_on_own_inputs(verification);
  decide(verification);
  return verification;
}

const Timing* find_timing(const std::vector<Timing>& timings, const Timing& like) {
  const auto same = [&](const Timing& timing) { return timing.shape == like.shape && timing.cold == like.cold; };
  const auto found = std::find_if(timings.begin(), timings.end(), same);
  return found == timings.end() ? nullptr : &*found;
}

// An exported file spells out so many digits of a latency.
constexpr double kRounding = 1e-9;

std::string change_text(double claimed_us, double found_us) {
  const double change = found_us / claimed_us - 1;
  if (std::abs(change) < 1e-9) return "the same";
  return fmt::format("{:.1f} % {}", std::abs(change) * 100, change > 0 ? "slower" : "faster");
}

std::string verification_text(const Verification& verification, const Terminal& terminal) {
  const Claim& claim = verification.claim;
  const Evaluation& evaluation = verification.evaluation;
  Table table({"", ">claimed", ">found"});
  for (const Timing& claimed : claim.timings) {
    const Timing* found = find_timing(evaluation.timings, claimed);
    table.add({fmt::format("{} {}, us", claimed.shape, claimed.cold ? "cold" : "warm"), microseconds(claimed.median_us),
               found ? microseconds(found->median_us) : "-"});
  }
  const bool valid = evaluation.verdict == Verdict::valid;
  table.add({"objective, us", microseconds(claim.latency_us), valid ? microseconds(evaluation.latency_us) : "-"});
  table.add({"worst relative error", error_figure(claim.worst_relative_l2),
             evaluation.errors.empty() ? "-" : error_figure(evaluation.worst_relative_l2)});
  std::string text =
      fmt::format("{}: {} on {} ({}), with fresh seeds and also on shapes that no search has used\n", claim.origin,
                  claim.task.name, verification.device.id, timing_word(verification.modelled));
  if (claim.edited) text += "the kernels in the file were edited after the export\n";
  if (claim.contract == Contract::installed)
    text += fmt::format("checked against the task {} of this machine's templates: the one in the file differs\n",
                        claim.task.name);
  if (claim.contract == Contract::brought)
    text += fmt::format("checked against the task {} in the file: this machine's templates have no such task\n",
                        claim.task.name);
  if (const std::string remark = shadowing_remark(claim.task.name, claim.task.hash); !remark.empty())
    text += fmt::format("its task is {}\n", remark);
  text += table.text(terminal, 2);
  if (!verification.held_out.empty()) text += fmt::format("  held out: {}\n", fmt::join(verification.held_out, " "));
  for (const EliteCheck& one : verification.checked.checks)
    text += fmt::format("  {}: {}{}\n", one.name,
                        one.outcome == EliteCheck::Outcome::passed ? "" : "impossible: ", one_line(one.note));
  return text + fmt::format("{}: {}\n",
                            verification.reproduced ? styled(terminal, Style::good, "reproduced")
                                                    : styled(terminal, Style::bad, "not reproduced"),
                            one_line(verification.why));
}

Json verification_json(const Verification& verification) {
  const Claim& claim = verification.claim;
  Json json;
  json["origin"] = claim.origin;
  json["edited"] = claim.edited;
  json["task"] = claim.task.name;
  json["contract"] = enumerator_name(claim.contract);
  json["genome"] = genome_json(claim.genome);
  json["device"] = device_json(verification.device);
  json["reproduced"] = verification.reproduced;
  json["why"] = verification.why;
  json["comparable"] = verification.comparable;
  json["tolerance"] = verification.tolerance;
  json["own_inputs_us"] = verification.own_inputs_us > 0 ? Json(verification.own_inputs_us) : Json();
  json["claim"] = {{"device", device_json(claim.device)},
                   {"latency_us", claim.latency_us},
                   {"relative_l2", claim.worst_relative_l2},
                   {"timings", timings_json(claim.timings, false)}};
  json["found"] = evaluation_json(verification.evaluation);
  json["held_out"] = verification.held_out;
  json["checks"] = checks_json(verification.checked.checks);
  return json;
}

Json launcher_json(const LauncherCheck& check) {
  const bool checked = check.state != LauncherCheck::State::not_checked;
  Json json;
  json["right"] = checked ? Json(check.state == LauncherCheck::State::right) : Json();
  json["why"] = check.why;
  json["shapes"] = check.shapes;
  return json;
}

std::string launcher_text(const LauncherCheck& check, const std::string& launcher, const Terminal& terminal) {
  switch (check.state) {
    case LauncherCheck::State::not_checked:
      return fmt::format("launcher {}: not checked: {}\n", launcher, one_line(check.why));
    case LauncherCheck::State::wrong:
      return fmt::format("launcher {}: {}: {}\n", launcher, styled(terminal, Style::bad, "wrong"), one_line(check.why));
    case LauncherCheck::State::right:
      return fmt::format("launcher {}: {}, built with nvcc, at {} shape{}\n", launcher,
                         styled(terminal, Style::good, "right"), check.shapes.size(),
                         check.shapes.size() == 1 ? "" : "s");
  }
  return {};
}

std::string verify_document(const Verification& verification, const std::optional<LauncherCheck>& launcher) {
  Json json = json_document("verify");
  json.update(verification_json(verification));
  json["launcher"] = launcher ? launcher_json(*launcher) : Json();
  return json_text(json);
}

std::string verify_document(const std::string& origin, const std::vector<Verification>& verifications,
                            const std::optional<LauncherCheck>& launcher) {
  Json json = json_document("verify");
  json["origin"] = origin;
  json["reproduced"] =
      std::all_of(verifications.begin(), verifications.end(), [](const Verification& f) { return f.reproduced; });
  json["kernels"] = Json::array();
  for (const Verification& verification : verifications) json["kernels"].push_back(verification_json(verification));
  json["launcher"] = launcher ? launcher_json(*launcher) : Json();
  return json_text(json);
}

/// The launcher of an exported file, after its kernels.
LauncherCheck launcher_found(const VerifyRequest& request, const std::vector<Verification>& verifications) {
  if (request.kernels_only) return {LauncherCheck::State::not_checked, "--kernels-only", {}};
  std::vector<Claim> claims;
  for (const Verification& verification : verifications) claims.push_back(verification.claim);
  return check_launcher(request.subject, claims, verifications.front().device);
}

// ---- Somebody else's solution

int verify_foreign_kernel(const VerifyRequest& request, const SolutionRequest& solution) {
  const Evaluation found = evaluate_foreign_kernel({solution.solution, request.launches}, solution.tree, solution.task,
                                                   solution.target, solution.device);
  print("{}", request.json ? foreign_kernel_document(found, solution)
                           : foreign_kernel_text(found, solution, terminal_of(stdout)));
  return found.verdict == Verdict::valid ? kDone : kNothingValid;
}

int verify_solution(const VerifyRequest& request) {
  SolutionRequest solution;
  solution.solution = request.subject;
  std::error_code error;
  if (!std::filesystem::is_regular_file(solution.solution, error))
    throw usage_error(fmt::format("'{}' is no file: --task goes with somebody else's solution", solution.solution));
  solution.tree = load_templates(request.templates);
  solution.task = find_task(solution.tree, request.task);
  solution.device = find_device(request.device.empty() ? "auto" : request.device);
  solution.target = make_target(solution.task, solution.device.kind, parse_shapes(solution.task, request.shapes),
                                parse_options(solution.task, request.options));
  require_feasible(solution.task, solution.target, solution.device.kind);
  if (!request.launches.empty()) return verify_foreign_kernel(request, solution);
  const SolutionCheck found = check_solution(solution);
  print("{}", request.json ? solution_document(found, solution) : solution_text(found, solution, terminal_of(stdout)));
  return found.wrong.empty() ? kDone : kNothingValid;
}

/// An elite that was not checked is now; one that is wrong is no elite any more.
void record(const VerifyRequest& request, const Verification& verification) {
  const Evaluation& found = verification.evaluation;
  CheckedElite checked = verification.checked;
  if (is_wrong(found.verdict)) checked.finding = EliteFinding{found.verdict, found.reason, found.mismatch};
  if (found.verdict != Verdict::valid && !checked.finding) return;
  const CandidateId id = parse_id("candidate", request.subject);
  const CandidateRow row = find_candidate(Store::open(request.database, Store::Mode::read), id);
  if (!row.elite_rank || !(checked.finding || is_provisional(row.checks))) return;
  try {
    // Sizes were tried on the device and on the virtual GPU.
    if (checked.checks.size() > kEliteChecks.size()) checked.checks.erase(checked.checks.begin());
    Store::open(request.database, Store::Mode::change).record_checks(id, checked);
    if (checked.finding && !request.json) print("candidate {} is no elite any more\n", id);
  } catch (const Error& error) {
    write_to_stderr(fmt::format("not recorded: {}\n", error.what()));
  }
}

/// In the database, if there is one.
void keep_attack(const VerifyRequest& request, const Verification& verification) {
  if (!verification.attack || !has_database(request.database)) return;
  try {
    Store::open(request.database, Store::Mode::change).record_attack(*verification.attack);
  } catch (const Error& error) {
    write_to_stderr(fmt::format("not recorded: {}\n", error.what()));
  }
}

int verify(const VerifyRequest& request) {
  if (!request.task.empty()) return verify_solution(request);
  if (!request.shapes.empty() || !request.options.empty() || !request.launches.empty())
    throw usage_error("--shapes, --option and --launch go with --task: a candidate and an exported file say theirs");
  std::vector<Claim> claims;
  std::optional<SourceTree> templates;
  if (is_candidate_id(request.subject)) {
    claims.push_back(stored_claim(request));
  } else {
    claims = exported_claims(request.subject);
    templates = installed_templates(request.templates);
  }

  std::vector<Verification> verifications;
  for (Claim& claim : claims) {
    verifications.push_back(
        check(std::move(claim), request.device, templates ? &*templates : nullptr, request.database));
    if (!request.json) print("{}", verification_text(verifications.back(), terminal_of(stdout)));
  }
  for (const Verification& one : verifications) keep_attack(request, one);
  if (!templates) record(request, verifications.front());
  std::optional<LauncherCheck> launcher;
  if (templates) {
    launcher = launcher_found(request, verifications);
    if (!request.json) print("{}", launcher_text(*launcher, verifications.front().claim.launcher, terminal_of(stdout)));
  }
  if (request.json)
    print("{}", verifications.size() == 1 ? verify_document(verifications.front(), launcher)
                                          : verify_document(request.subject, verifications, launcher));
  const bool all =
      std::all_of(verifications.begin(), verifications.end(), [](const Verification& f) { return f.reproduced; });
  return all && !(launcher && launcher->state == LauncherCheck::State::wrong) ? kDone : kNothingValid;
}

}  // namespace

bool agrees(double claimed_us, double found_us, double tolerance) {
  // Written so that a NaN disagrees.
  return claimed_us > 0 && std::abs(found_us - claimed_us) <= std::max(tolerance, kRounding) * claimed_us;
}

void decide(Verification& verification) {
  const Evaluation& evaluation = verification.evaluation;
  if (evaluation.verdict != Verdict::valid) {
    verification.reproduced = false;
    verification.why = fmt::format("{}{}", name_of(evaluation.verdict),
                                   reason_text(evaluation).empty() ? "" : fmt::format(": {}", reason_text(evaluation)));
    return;
  }
  if (const auto& finding = verification.checked.finding) {
    const std::string reason = reason_text(finding->reason, finding->mismatch, {});
    verification.reproduced = false;
    verification.why = fmt::format("{}{}", name_of(finding->verdict), reason.empty() ? "" : ": " + reason);
    return;
  }
  if (!verification.comparable) {
    verification.reproduced = true;
    verification.why = fmt::format("correct; its latency was claimed for {} and cannot be compared with {}",
                                   verification.claim.device.name, verification.device.name);
    return;
  }
  if (verification.own_inputs_us > 0) {
    verification.reproduced = agrees(verification.claim.latency_us, verification.own_inputs_us, 0);
    verification.why = fmt::format("correct, and on its own inputs its latency is {}; on fresh ones it is {} us, {}",
                                   change_text(verification.claim.latency_us, verification.own_inputs_us),
                                   microseconds(evaluation.latency_us),
                                   change_text(verification.claim.latency_us, evaluation.latency_us));
    return;
  }
  verification.reproduced = agrees(verification.claim.latency_us, evaluation.latency_us, verification.tolerance);
  verification.why = fmt::format(
      "correct, and its latency is {} {}", change_text(verification.claim.latency_us, evaluation.latency_us),
      verification.tolerance > 0 ? fmt::format("(within {:.0f} % counts as reproduced)", verification.tolerance * 100)
                                 : "(modelled latencies must be equal)");
}

void add_verify(CLI::App& app, Invocation& invocation) {
  auto [command, request] = add_command(
      app, invocation, "verify", "Check a claimed latency: compile again, validate on fresh seeds, time again", verify);
  add_option(command, "ID|FILE.cu", "", request.subject,
             "A candidate's number, or an exported file; with --task somebody else's solution (docs/import.md)")
      ->required();
  add_option(command, "--device", "DEVICE", request.device,
             "Check on this device (default: the claim's own, or one of the same model)");
  add_option(
      command, "--task", "TASK", request.task,
      "The file is a solution of KernelBench, robust-kbench or flashinfer-bench: judge its answers to this task");
  add_option(command, "--shapes", "SHAPES", request.shapes, "With --task: these shapes instead of the task's own")
      ->allow_extra_args();
  add_option(command, "--option", "NAME=VALUE", request.options, "With --task: an option of the task; may be repeated");
  add_option(command, "--launch", "LAUNCH", request.launches,
             "With --task: judge only the file's kernels, like candidates, with this launch in C++ syntax: "
             "'rows<<<B, 256>>>(x, y, N)'; may be repeated (docs/import.md)");
  command.add_flag("--kernels-only", request.kernels_only, "Do not build and run the C++ launcher of an exported file");
  add_usual_options(command, request);
}

}  // namespace evo::cli
