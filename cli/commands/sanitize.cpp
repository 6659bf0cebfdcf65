#include <CLI/CLI.hpp>
#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <variant>

#include "cli/check/sanitised_program.h"
#include "cli/check/usual_cases.h"
#include "cli/commands/commands.h"
#include "cli/kernel/host_program.h"
#include "cli/kernel/kernel_options.h"
#include "cli/kernel/kernel_run.h"
#include "cli/subject/claim.h"
#include "evaluator/compile/compiler.h"
#include "evaluator/hosts/compile_worker.h"
#include "evaluator/pipeline/pipeline.h"
#include "evaluator/vgpu/machine/finding.h"
#include "evaluator/vgpu/virtual_device.h"

namespace evo::cli {
namespace {

struct SanitizeRequest {
  KernelRequest kernels;  ///< `file` is the subject, whatever it is.
  std::string database = kDefaultDatabase;
  std::vector<std::string> shapes;
  bool strict = false;
};

/// What `evo sanitize` found.
struct Sanitized {
  std::string subject;
  std::string device;
  std::vector<std::string> ran;  ///< What was run: shapes, or kernels with their arguments.
  std::vector<PlacedFinding> findings;
  std::size_t weaker = 0;              ///< Findings that were not asked for.
  std::vector<std::uint32_t> removed;  ///< Lines whose accesses the compiler has removed or merged.
};

/// The virtual GPU that was asked for. Unless one was named: the candidate's own, or one of its architecture.
DeviceInfo sanitising_device(const Claim& claim, const std::string& asked) {
  std::optional<DeviceInfo> device;
  if (asked == vgpu::kKind) device = virtual_device_for(claim.device);
  return device ? *std::move(device) : find_device(asked);
}

/// The shapes that were asked for, or all that the claim was validated on.
Target target_of(const Claim& claim, const std::vector<std::string>& shapes) {
  if (shapes.empty()) return claim.target;
  Target target = make_target(claim.task, vgpu::kKind, parse_shapes(claim.task, shapes), claim.target.options,
                              claim.target.objective);
  target.validated = target.timed;
  return target;
}

/// A claim with a plan for each shape that it is run at and has a program for.
struct SanitizedSubject {
  const Claim* claim = nullptr;
  Target target;
  Candidate candidate;
};

std::vector<SanitizedSubject> subjects_of(const std::vector<Claim>& claims, const std::vector<std::string>& shapes) {
  std::vector<SanitizedSubject> subjects;
  for (const Claim& claim : claims) {
    Target target = target_of(claim, shapes);
    Candidate candidate = candidate_of(claim, target);
    subjects.push_back({&claim, std::move(target), std::move(candidate)});
  }
  return subjects;
}

/// "D=64 or D=128"
std::string constants_of(const std::vector<SanitizedSubject>& subjects) {
  std::set<std::string> constants;
  for (const SanitizedSubject& subject : subjects) {
    for (const Program& program : subject.candidate.programs) constants.insert(bindings_text(program.specialisation));
  }
  return fmt::format("{}", fmt::join(constants, " or "));
}

/// Throws usage_error when no program runs one of the shapes: a shape that was not run must not count as clean.
void refuse_shapes_without_program(const std::vector<SanitizedSubject>& subjects, const std::string& name) {
  for (const SanitizedSubject& wanting : subjects) {
    for (const Shape& shape : wanting.target.validated) {
      const auto runs = [&](const SanitizedSubject& one) { return program_for(one.candidate, shape.name).has_value(); };
      if (std::ranges::any_of(subjects, runs)) continue;
      throw usage_error(fmt::format("{} was compiled for {} alone: it cannot be run at shape {}", name,
                                    constants_of(subjects), shape.name));
    }
  }
}

/// Programs of other specialisations have the same lines: what is found there again is one finding.
void add(PlacedFinding found, std::vector<PlacedFinding>& findings) {
  const auto same = [&](const PlacedFinding& known) {
    return known.finding.kind == found.finding.kind && known.finding.kernel == found.finding.kernel && found.origin &&
           known.origin == found.origin && known.finding.brief == found.finding.brief;
  };
  const auto known = std::ranges::find_if(findings, same);
  if (known == findings.end())
    findings.push_back(std::move(found));
  else
    known->finding.count += found.finding.count;
}

/// Whether the kernel did not run at all.
bool refused(Verdict verdict) {
  return verdict == Verdict::launch_failed || verdict == Verdict::unsupported;
}

void sanitize_claim(const SanitizedSubject& subject, const SanitizeRequest& request, Sanitized& result) {
  const Claim& claim = *subject.claim;
  const DeviceInfo device = sanitising_device(claim, request.kernels.device);
  result.device = device.id;
  CompileWorker compiler(device);
  const std::vector<Case> cases = usual_cases(claim.task, subject.target);
  for (const Program& program : subject.candidate.programs) {
    auto compiled = compiler.compile(program, device.arch);
    if (const auto* failure = std::get_if<Failure>(&compiled); failure && failure->verdict == Verdict::harness_failed)
      throw machine_error(failure->reason);
    else if (failure)
      throw usage_error(fmt::format("{} does not compile for {}: {}", claim.origin, device.arch, failure->reason));
    SanitisedProgram sanitised(device, program, std::move(std::get<Binary>(compiled)));
    for (const Case& one : cases) {
      if (!program.plans.contains(one.shape.name)) continue;  // Another program's shape.
      const auto answer = sanitised.run(one);
      result.ran.push_back(fmt::format("{} {}", claim.task.name, one.shape.name));
      // What the device refuses is none of the sanitiser's findings.
      const auto* failure = std::get_if<Failure>(&answer);
      if (failure != nullptr && refused(failure->verdict))
        throw usage_error(fmt::format("{}, shape {}: {}", claim.origin, one.shape.name, failure->reason));
    }
    for (PlacedFinding& found : sanitised.findings(vgpu::Strictness::strict)) add(std::move(found), result.findings);
  }
}

void sanitize_claims(const std::vector<Claim>& claims, const SanitizeRequest& request, Sanitized& result) {
  const std::vector<SanitizedSubject> subjects = subjects_of(claims, request.shapes);
  refuse_shapes_without_program(subjects, claims.size() == 1 ? claims.front().origin : request.kernels.file);
  for (const SanitizedSubject& subject : subjects) sanitize_claim(subject, request, result);
}

void sanitize_kernels(const KernelRequest& request, Sanitized& result) {
  const KernelResults run = run_kernels(request);
  result.device = run.device.id;
  result.removed = run.removed;
  for (const vgpu::Finding& finding : run.findings) result.findings.push_back({finding, std::nullopt});
  for (const LaunchResult& launch : run.launches) {
    result.ran.push_back(fmt::format("{}({})", launch.kernel, fmt::join(launch.arguments, ", ")));
    if (launch.failure && launch.failure->verdict == Verdict::launch_failed)
      throw usage_error(fmt::format("{}: {}", request.file, launch.failure->reason));
  }
}

std::string sanitize_text(const Sanitized& result, const Terminal& terminal) {
  std::string text = fmt::format("{} on {}: {}\n", result.subject, result.device, fmt::join(result.ran, ", "));
  for (const auto& [finding, origin] : result.findings) {
    text += fmt::format("  {}: {}{}\n", styled(terminal, Style::bad, std::string(name_of(finding.kind))),
                        one_line(finding.text),
                        finding.count > 1 ? fmt::format(" (and {} times more)", grouped(finding.count - 1)) : "");
  }
  const std::size_t count = result.findings.size();
  text += count == 0 ? "  " + styled(terminal, Style::good, "no finding")
                     : fmt::format("  {} finding{}", count, count == 1 ? "" : "s");
  if (result.weaker != 0)
    text += fmt::format("; --strict shows {} more, which many kernels have on purpose", result.weaker);
  if (!result.removed.empty()) {
    text += fmt::format(
        "; the compiler has removed the accesses of line{} {}, or merged them with others: "
        "--nvrtc-option -G keeps them",
        result.removed.size() == 1 ? "" : "s", fmt::join(result.removed, ", "));
  }
  return text + "\n";
}

std::string sanitize_document(const Sanitized& result) {
  Json findings = list_json(result.findings, [&](const PlacedFinding& found) { return found.json(); });
  Json json = json_document("sanitize");
  json["subject"] = result.subject;
  json["device"] = result.device;
  json["ran"] = result.ran;
  json["clean"] = result.findings.empty();
  json["findings"] = findings;
  json["weaker"] = result.weaker;
  json["removed"] = result.removed;
  return json_text(json);
}

/// A candidate's plans say how it is compiled and launched.
const std::vector<std::string> kOfKernels = {
    "--kernel", "--grid", "--block",  "--cluster", "--smem",   "--arg",          "--then",
    "--seed",   "--arch", "--define", "--include", "--symbol", "--nvrtc-option", "--max-instructions"};

int sanitize(const SanitizeRequest& request, const CLI::App& command) {
  Sanitized result;
  result.subject = request.kernels.file;
  if (is_candidate_id(result.subject) || looks_exported(result.subject)) {
    refuse_options(command, kOfKernels, "a candidate or an exported file");
    sanitize_claims(claims_of(result.subject, request.database), request, result);
  } else {
    refuse_options(command, {"--shapes"}, "a kernel that is no candidate's");
    sanitize_kernels(request.kernels, result);
  }
  if (!request.strict)
    result.weaker =
        std::erase_if(result.findings, [](const PlacedFinding& one) { return vgpu::is_weaker(one.finding.kind); });
  print("{}", request.kernels.json ? sanitize_document(result) : sanitize_text(result, terminal_of(stdout)));
  return result.findings.empty() ? kDone : kNothingValid;
}

}  // namespace

void add_sanitize(CLI::App& app, Invocation& invocation) {
  auto request = std::make_shared<SanitizeRequest>();
  CLI::App* command = app.add_subcommand(
      "sanitize", "Look for data races, uninitialised reads, bad accesses and deadlocks on the virtual GPU");
  add_option(*command, "ID|FILE.cu", "", request->kernels.file,
             "A candidate's number, an exported file, or any kernel as for evo vgpu");
  auto program = std::make_shared<HostProgramRequest>();
  add_program_option(*command, program->program);
  add_option(*command, "--shapes", "A,B", request->shapes,
             "For a candidate: run these shapes (default: all that it was validated on)");
  add_database_option(*command, request->database);
  add_kernel_options(*command, request->kernels);
  command->add_flag("--strict", request->strict, "Also show races of equal bytes and of volatile accesses, and such");
  add_json_flag(*command, request->kernels.json);
  command->footer(kArgumentsHelp);
  command->callback([request, program, &invocation, command] {
    take_kernel_options(request->kernels, *command);
    program->sanitised = true;
    program->strict = request->strict;
    const bool whole = take_program(*program, request->kernels, *command, invocation.behind_program);
    request->kernels.sanitised = true;
    invocation.action = [=] { return whole ? run_host_program(*program) : sanitize(*request, *command); };
  });
}

}  // namespace evo::cli
