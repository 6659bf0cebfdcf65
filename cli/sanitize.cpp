#include "cli/sanitize.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <variant>

#include "cli/arguments.h"
#include "cli/claim.h"
#include "cli/exit_code.h"
#include "cli/format.h"
#include "cli/json_text.h"
#include "cli/lookup.h"
#include "cli/vgpu.h"
#include "engine/error.h"
#include "evaluator/cases.h"
#include "evaluator/compiler.h"
#include "evaluator/device_server.h"
#include "evaluator/pipeline.h"
#include "evaluator/vgpu/virtual_device.h"

namespace evo::cli {
namespace {

struct Request {
  KernelRequest kernels;  ///< `file` is the subject, whatever it is.
  std::string database = kDefaultDatabase;
  std::vector<std::string> shapes;
};

std::string model_of(const std::string& device) {
  const DeviceInfo info = find_device(device);
  if (info.kind != "vgpu")
    throw usage_error(
        fmt::format("evo sanitize runs kernels on a virtual GPU, not on {}: --device vgpu:MODEL", info.id));
  return info.id.substr(std::string_view("vgpu:").size());
}

/// The model that a candidate was made for, unless another was asked for.
std::string model_for(const Claim& claim, const std::string& device) {
  if (device != "vgpu") return model_of(device);
  if (claim.device.kind == "vgpu") return model_of(claim.device.id);
  for (const DeviceInfo& model : all_devices())
    if (model.kind == "vgpu" && model.arch == claim.device.arch) return model_of(model.id);
  return model_of(device);
}

/// One case of each shape: the first regime's, whose inputs are the task's usual ones.
std::vector<Case> cases_of(const Claim& claim, const Target& target) {
  std::vector<Case> chosen;
  std::set<std::string> seen;
  CasePlan plan = plan_cases(claim.task, target, "vgpu", 1);
  std::ranges::stable_sort(plan.cases, {},
                           [&](const Case& one) { return work_of(claim.task, target.options, one.shape); });
  for (Case& one : plan.cases)
    if (seen.insert(one.shape.name).second) chosen.push_back(std::move(one));
  return chosen;
}

/// Every shape of the claim that was asked for, or all that it was validated at.
Target target_of(const Claim& claim, const std::vector<std::string>& shapes) {
  if (shapes.empty()) return claim.target;
  Target target = make_target(claim.task, "vgpu", parse_shapes(claim.task, shapes), claim.target.options,
                              claim.target.objective);
  target.validated = target.timed;
  return target;
}

void sanitize_claim(const Claim& claim, const Request& request, Sanitized& result) {
  const std::unique_ptr<vgpu::VirtualGpu> gpu = vgpu::make_device(model_for(claim, request.kernels.device));
  gpu->sanitise();
  result.device = gpu->info().id;
  const Target target = target_of(claim, request.shapes);
  const Candidate candidate =
      with_plans(claim.task, claim.family, claim.genome, claim.programs, target, claim.device.facts);
  const std::unique_ptr<Compiler> compiler = make_nvrtc_compiler();
  DeviceServer server(*gpu);
  const std::vector<Case> cases = cases_of(claim, target);
  for (std::size_t i = 0; i < candidate.programs.size(); ++i) {
    const Program& program = candidate.programs[i];
    auto compiled = compiler->compile(program.source, gpu->info().arch, program.max_registers);
    if (const auto* failure = std::get_if<Failure>(&compiled))
      throw usage_error(
          fmt::format("{} does not compile for {}: {}", claim.origin, gpu->info().arch, failure->reason));
    const auto loaded = server.load({i, std::move(std::get<Binary>(compiled))});
    if (const auto* failed = std::get_if<protocol::Failed>(&loaded))
      throw usage_error(fmt::format("{}: {}", claim.origin, failed->failure.reason));
    for (const Case& one : cases) {
      const auto plan = program.plans.find(one.shape.name);
      if (plan == program.plans.end()) continue;
      const auto reply = server.run({i, plan->second, one.recipe, 1});
      result.ran.push_back(fmt::format("{} {}", claim.task.name, one.shape.name));
      // A launch that the device refuses is none of the sanitiser's findings.
      const auto* failed = std::get_if<protocol::Failed>(&reply);
      if (failed != nullptr && failed->failure.verdict == Verdict::launch_failed)
        throw usage_error(
            fmt::format("{}, shape {}: {}", claim.origin, one.shape.name, failed->failure.reason));
    }
  }
  std::ranges::copy(gpu->findings(), std::back_inserter(result.findings));
}

std::vector<Claim> claims_of(const Request& request) {
  const std::string& subject = request.kernels.file;
  if (!is_candidate_id(subject)) return exported_claims(subject);
  const CandidateId id = parse_id("candidate", subject);
  std::vector<Claim> claims;
  claims.push_back(claim_of(restore(Store::open(request.database, Store::Mode::read), id)));
  return claims;
}

void sanitize_kernels(const KernelRequest& request, Sanitized& result) {
  const VgpuRun run = run_kernels(request);
  result.device = run.device.id;
  result.findings = run.findings;
  for (const LaunchResult& launch : run.launches) {
    result.ran.push_back(fmt::format("{}({})", launch.kernel, fmt::join(launch.arguments, ", ")));
    if (launch.failure && launch.failure->verdict == Verdict::launch_failed)
      throw usage_error(fmt::format("{}: {}", request.file, launch.failure->reason));
  }
}

int sanitize(const Request& request) {
  Sanitized result;
  result.subject = request.kernels.file;
  if (is_candidate_id(result.subject) || looks_exported(result.subject)) {
    for (const Claim& claim : claims_of(request)) sanitize_claim(claim, request, result);
  } else {
    sanitize_kernels(request.kernels, result);
  }
  fmt::print("{}", request.kernels.json ? sanitize_json(result) : sanitize_text(result, terminal_of(stdout)));
  return result.findings.empty() ? kDone : kNothingValid;
}

}  // namespace

std::string sanitize_text(const Sanitized& result, const Terminal& terminal) {
  std::string text =
      fmt::format("{} on {}: {}\n", result.subject, result.device, fmt::join(result.ran, ", "));
  for (const vgpu::Finding& finding : result.findings) {
    text +=
        fmt::format("  {}: {}{}\n", styled(terminal, Style::bad, std::string(name_of(finding.kind))),
                    one_line(finding.text),
                    finding.count > 1 ? fmt::format(" (and {} times more)", grouped(finding.count - 1)) : "");
  }
  if (result.findings.empty())
    return text + fmt::format("  {}\n", styled(terminal, Style::good, "no finding"));
  return text +
         fmt::format("  {} finding{}\n", result.findings.size(), result.findings.size() == 1 ? "" : "s");
}

std::string sanitize_json(const Sanitized& result) {
  using Json = nlohmann::ordered_json;
  Json findings = Json::array();
  for (const vgpu::Finding& finding : result.findings) {
    findings.push_back({{"kind", name_of(finding.kind)},
                        {"kernel", finding.kernel},
                        {"line", finding.line},
                        {"count", finding.count},
                        {"text", finding.text}});
  }
  const Json json = {{"evo", EVO_VERSION},      {"command", "sanitize"}, {"subject", result.subject},
                     {"device", result.device}, {"ran", result.ran},     {"clean", result.findings.empty()},
                     {"findings", findings}};
  return json_text(json);
}

void add_sanitize(CLI::App& app, Action& action) {
  auto request = std::make_shared<Request>();
  CLI::App* command = app.add_subcommand(
      "sanitize", "Look for races, uninitialised reads, bad accesses and deadlocks, on the virtual GPU");
  command
      ->add_option("ID|FILE.cu", request->kernels.file,
                   "A candidate, an exported file, or any kernel as for evo vgpu")
      ->required()
      ->type_name("");
  command
      ->add_option("--shapes", request->shapes,
                   "Of a candidate: these shapes (default: all that it was validated at)")
      ->type_name("A,B");
  command->add_option("--db", request->database, kDatabaseHelp)->capture_default_str()->type_name("FILE");
  add_kernel_options(*command, request->kernels);
  command->add_flag("--json", request->kernels.json, kJsonHelp);
  command->footer(kArgumentsHelp);
  command->callback([request, &action, command] {
    take_kernel_options(request->kernels, *command);
    request->kernels.sanitised = true;
    action = [request] { return sanitize(*request); };
  });
}

}  // namespace evo::cli
