#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <vector>

#include "cli/commands/commands.h"
#include "cli/selftest/diagnosis_score.h"
#include "cli/sources/templates.h"
#include "cli/subject/claim.h"
#include "cli/subject/json.h"
#include "cli/subject/restore.h"
#include "cli/text/result_text.h"
#include "evaluator/base/random.h"
#include "evaluator/judge/diagnosis.h"

namespace evo::cli {
namespace {

struct DiagnoseRequest {
  std::string subject;
  std::string device;
  std::vector<std::string> only;
  std::string database = kDefaultDatabase;
  std::string templates;
  bool without_probes = false;
  bool json = false;
};

/// One kernel and what was found.
struct Diagnosed {
  std::string origin;
  std::string task;
  DeviceInfo device;
  Diagnosis diagnosis;
};

// ---- One kernel

/// Whether the templates that came with a kernel still give its source: then they have its probes, too.
bool is_as_rendered(const Claim& claim) {
  return std::ranges::none_of(claim.programs, [&](const Program& program) {
    return lines_of(claim.tree, claim.task, claim.family, claim.genome, claim.target.options, program,
                    claim.device.facts)
        .empty();
  });
}

/// A stored candidate was evaluated with its run's salt: its wrong case comes again.
Diagnosed diagnose_claim(const Claim& claim, const DiagnoseRequest& request, std::uint64_t salt) {
  const DeviceInfo device = device_for(claim, request.device);
  const PipelineOptions options{
      .task = claim.task, .tree = claim.tree, .target = claim.target, .device = device, .salt = salt};
  const auto make = [&](const Target& target) { return candidate_of(claim, target); };
  Diagnostician diagnostician(options);
  DiagnosisSubject subject{make, {}};
  if (!request.without_probes && diagnostician.stages().probed.contains(claim.family.name) && is_as_rendered(claim))
    subject.make_probed = [&](const Target& target) {
      return make_probed_candidate(claim.tree, claim.task, claim.family, claim.genome, target, claim.device.facts,
                                   diagnostician.stages());
    };
  return {claim.origin, claim.task.name, device, diagnostician.diagnose(subject)};
}

/// What is shown of one wrong answer.
void add_answer(Table& table, const WrongAnswer& wrong) {
  const ErrorShape& error = wrong.error;
  table.add({"case", fmt::format("shape {}, regime {}, seed {}", wrong.mismatch.shape, wrong.mismatch.regime,
                                 wrong.mismatch.seed)});
  table.add({"error", fmt::format("{}: {}", wrong.mismatch.output, miss_text(wrong.mismatch.miss))});
  if (error.wrong == 0) return;
  table.add({"worst element", fmt::format("{}: got {:.6g}, reference {:.6g}", place_text(error.worst, wrong.dims),
                                          error.got, error.want)});
  if (error.first != error.worst) table.add({"first wrong element", place_text(error.first, wrong.dims)});
  table.add({"looks like", fmt::format("{}", fmt::join(in_words(error), "; "))});
}

std::string attempt_text(const Attempt& attempt) {
  if (attempt.failure)
    return fmt::format("{}: {}", name_of(attempt.failure->verdict), one_line(attempt.failure->reason));
  return attempt.wrong ? "wrong" : "right";
}

std::string attempts_text(const std::vector<Attempt>& attempts, const Terminal& terminal) {
  Table table({"isolated", "answer", "shape", "regime", "inputs"});
  for (const Attempt& attempt : attempts) {
    table.add({attempt.stage, attempt_text(attempt), attempt.shape, attempt.regime, attempt.about},
              attempt.wrong ? Style::bad : Style::plain);
  }
  return table.text(terminal, 2);
}

std::string probes_text(const std::vector<ProbedValues>& probes, const Terminal& terminal) {
  Table table({"probe", "", "values", "looks like"});
  for (const ProbedValues& probe : probes) {
    const std::string look =
        probe.wrong ? fmt::format("{}; {}", miss_text(probe.wrong->mismatch.miss), summary(*probe.wrong)) : "";
    table.add({probe.name, probe.wrong ? "wrong" : "right", probe.about, look},
              probe.wrong ? Style::bad : Style::plain);
  }
  return table.text(terminal, 2);
}

std::string diagnosis_text(const Diagnosed& diagnosed, const Terminal& terminal) {
  const Diagnosis& diagnosis = diagnosed.diagnosis;
  std::string text = fmt::format("{}: {} on {}\n", diagnosed.origin, diagnosed.task, diagnosed.device.id);
  if (diagnosis.failure) {
    return text + fmt::format("  no answer: {}{}{}: {}\n", diagnosis.failed_case,
                              diagnosis.failed_case.empty() ? "" : ": ", name_of(diagnosis.failure->verdict),
                              one_line(diagnosis.failure->reason));
  }
  if (!diagnosis.wrong) {
    return text + fmt::format("  {}; races and unwritten memory: evo sanitize\n",
                              styled(terminal, Style::good, "every case of the grid is right"));
  }
  const std::string stage =
      diagnosis.stage.empty() ? "none could be named" : fmt::format("{} ({})", diagnosis.stage, diagnosis.about);
  Table facts({"", ""});
  facts.add({"first wrong stage", stage}, Style::bad);
  add_answer(facts, *diagnosis.wrong);
  text += facts.text(terminal, 2);
  if (!diagnosis.probes.empty()) text += "\n" + probes_text(diagnosis.probes, terminal);
  if (diagnosis.attempts.empty()) return text;
  text += "\n" + attempts_text(diagnosis.attempts, terminal);
  const Attempt& last = diagnosis.attempts.back();
  if (!last.wrong) return text;
  Table isolated({"", ""});
  add_answer(isolated, *last.wrong);
  return text + fmt::format("\n  {}, isolated:\n", last.stage) + isolated.text(terminal, 2);
}

Json answer_json(const WrongAnswer& wrong) {
  const ErrorShape& error = wrong.error;
  Json place = Json::object();
  std::uint64_t rest = error.worst;
  for (std::size_t i = wrong.dims.size(); i-- > 0;) {
    place[wrong.dims[i].name] = rest % wrong.dims[i].size;
    rest /= wrong.dims[i].size;
  }
  // JSON has no NaN.
  const auto number = [](double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); };
  return {{"shape", wrong.mismatch.shape},
          {"regime", wrong.mismatch.regime},
          {"seed", wrong.mismatch.seed},
          {"output", wrong.mismatch.output},
          {"why", miss_text(wrong.mismatch.miss)},
          {"worst", {{"place", place}, {"got", number(error.got)}, {"reference", number(error.want)}}},
          {"elements", error.elements},
          {"wrong", error.wrong},
          {"not_finite", error.not_finite},
          {"bias", error.bias},
          {"ratio", error.ratio},
          {"residual", error.residual},
          {"arrangement", error.arrangement},
          {"places", error.places},
          {"looks_like", in_words(error)}};
}

Json diagnosis_json(const Diagnosis& diagnosis) {
  Json json;
  json["failure"] = diagnosis.failure ? Json({{"verdict", name_of(diagnosis.failure->verdict)},
                                              {"case", diagnosis.failed_case},
                                              {"reason", diagnosis.failure->reason}})
                                      : Json(nullptr);
  json["wrong"] = diagnosis.wrong ? answer_json(*diagnosis.wrong) : Json(nullptr);
  json["stage"] = diagnosis.stage.empty() ? Json(nullptr) : Json(diagnosis.stage);
  json["probes"] = Json::array();
  for (const ProbedValues& probe : diagnosis.probes)
    json["probes"].push_back({{"name", probe.name},
                              {"values", probe.about},
                              {"wrong", probe.wrong ? answer_json(*probe.wrong) : Json(nullptr)}});
  json["isolations"] = Json::array();
  for (const Attempt& attempt : diagnosis.attempts) {
    json["isolations"].push_back({{"stage", attempt.stage},
                                  {"inputs", attempt.about},
                                  {"shape", attempt.shape},
                                  {"regime", attempt.regime},
                                  {"failure", attempt.failure ? Json(attempt.failure->reason) : Json(nullptr)},
                                  {"wrong", attempt.wrong ? answer_json(*attempt.wrong) : Json(nullptr)}});
  }
  return json;
}

std::string diagnosis_document(const std::vector<Diagnosed>& all) {
  Json json = json_document("diagnose");
  json["kernels"] = Json::array();
  for (const Diagnosed& one : all) {
    Json kernel = {{"origin", one.origin}, {"task", one.task}, {"device", device_json(one.device)}};
    kernel.update(diagnosis_json(one.diagnosis));
    json["kernels"].push_back(std::move(kernel));
  }
  return json_text(json);
}

std::vector<Diagnosed> diagnose_kernels(const DiagnoseRequest& request) {
  std::vector<Diagnosed> all;
  if (is_candidate_id(request.subject)) {
    const CandidateId id = parse_id("candidate", request.subject);
    const Restored restored = restore(Store::open(request.database, Store::Mode::read), id);
    if (!was_built(restored.row.evaluation.verdict))
      throw usage_error(fmt::format("candidate {} gave no answer: it is {} ({})", id,
                                    name_of(restored.row.evaluation.verdict), reason_text(restored.row.evaluation)));
    all.push_back(diagnose_claim(claim_of(restored), request, restored.row.evaluation.salt));
    return all;
  }
  for (const Claim& claim : exported_claims(request.subject))
    all.push_back(diagnose_claim(claim, request, fresh_salt()));
  return all;
}

// ---- The mutants of a task

std::string outcome_text(const DiagnosedMutant& one) {
  const Diagnosis& diagnosis = one.diagnosis;
  if (diagnosis.failure)
    return fmt::format("{}: {}", name_of(diagnosis.failure->verdict), one_line(diagnosis.failure->reason));
  if (!diagnosis.wrong) return "every case is right";
  const WrongAnswer& wrong = !diagnosis.attempts.empty() && diagnosis.attempts.back().wrong
                                 ? *diagnosis.attempts.back().wrong
                                 : *diagnosis.wrong;
  return fmt::format("{}: {}", place_text(wrong.error.worst, wrong.dims), fmt::join(in_words(wrong.error), "; "));
}

std::string right_text(const DiagnosedMutant& one) {
  if (is_control(one.mutant)) return one.right() ? "right" : "WRONG";
  if (!one.counted()) return "not counted";
  return one.right() ? "right" : "WRONG";
}

std::string score_text(const DiagnosisScore& score, const Terminal& terminal) {
  Table table({"family", "mutant or control", "planted", "named", "", "looks like"});
  for (const DiagnosedMutant& one : score.mutants) {
    const std::string right = right_text(one);
    table.add({one.mutant.family, one.mutant.name, fmt::format("{}", fmt::join(one.mutant.stages, " or ")),
               one.diagnosis.stage, right, outcome_text(one)},
              right == "WRONG" ? Style::bad : Style::plain);
  }
  const std::string head = fmt::format("{} on {} ({}), mutants with a planted stage\n{}", score.task, score.device.id,
                                       score.device.name, table.text(terminal, 2));
  if (score.counted() == 0) return head + "no mutant with a planted stage gave a wrong answer\n";
  return head + fmt::format("the right stage named for {} of {} wrong answers: {:.1f} %\n", score.right(),
                            score.counted(),
                            100.0 * static_cast<double>(score.right()) / static_cast<double>(score.counted()));
}

std::string score_document(const DiagnosisScore& score) {
  Json json = json_document("diagnose");
  json["task"] = score.task;
  json["device"] = device_json(score.device);
  json["counted"] = score.counted();
  json["right"] = score.right();
  json["mutants"] = Json::array();
  for (const DiagnosedMutant& one : score.mutants) {
    Json mutant = {{"name", one.mutant.name},
                   {"family", one.mutant.family},
                   {"planted", one.mutant.stages},
                   {"counted", one.counted()},
                   {"right", one.right()}};
    mutant.update(diagnosis_json(one.diagnosis));
    json["mutants"].push_back(std::move(mutant));
  }
  return json_text(json);
}

int diagnose_task(const DiagnoseRequest& request, const SourceTree& tree) {
  const Task task = find_task(tree, request.subject);
  const DeviceInfo device = find_device_or_auto(request.device);
  const DiagnosisScore score = score_diagnosis(tree, task, device, request.only, !request.without_probes);
  print("{}", request.json ? score_document(score) : score_text(score, terminal_of(stdout)));
  const bool controls_right = std::ranges::all_of(
      score.mutants, [](const DiagnosedMutant& one) { return !is_control(one.mutant) || one.right(); });
  return score.right() == score.counted() && controls_right ? kDone : kNothingValid;
}

bool names_a_task(const std::string& subject) {
  return !is_candidate_id(subject) && !subject.ends_with(".cu");
}

int diagnose(const DiagnoseRequest& request, const CLI::App& command) {
  if (names_a_task(request.subject)) return diagnose_task(request, load_templates(request.templates));
  refuse_options(command, {"--only"}, "a candidate or an exported file");
  const std::vector<Diagnosed> all = diagnose_kernels(request);
  if (request.json) print("{}", diagnosis_document(all));
  bool right = true;
  for (const Diagnosed& one : all) {
    if (!request.json) print("{}", diagnosis_text(one, terminal_of(stdout)));
    right = right && !one.diagnosis.wrong && !one.diagnosis.failure;
  }
  return right ? kDone : kNothingValid;
}

}  // namespace

void add_diagnose(CLI::App& app, Invocation& invocation) {
  auto [command, request] = add_command(app, invocation, "diagnose",
                                        "Find the first wrong stage of a kernel that gives wrong answers", diagnose);
  add_option(command, "ID|FILE.cu|TASK", "", request.subject,
             "A candidate's number, an exported file, or a task whose planted mutants are diagnosed")
      ->required();
  add_option(command, "--device", "DEVICE", request.device,
             "Run on this device (default: the candidate's own, or one of its model, else auto)");
  add_option(command, "--only", "A,B", request.only, "For a task: only these mutants and controls")
      ->delimiter(',')
      ->allow_extra_args();
  command.add_flag("--without-probes", request.without_probes, "Look only at answers, even if a kernel has probes");
  add_usual_options(command, request);
}

}  // namespace evo::cli
