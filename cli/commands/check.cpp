#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "cli/check/measured_limits.h"
#include "cli/check/task_check.h"
#include "cli/commands/commands.h"
#include "cli/sources/short_form_file.h"
#include "cli/sources/templates.h"
#include "cli/subject/json.h"
#include "engine/base/text.h"
#include "evaluator/vgpu/cost/device_models.h"

namespace evo::cli {
namespace {

struct CheckCommandRequest {
  std::string subject;
  std::string device = std::string(vgpu::kKind);
  std::vector<std::string> shapes;
  std::vector<std::string> options;
  std::string family;
  std::string templates;
  bool json = false;
};

// --- for people

/// "0.0312 of 0.05": the error and what it may be.
std::string output_text(const CheckedOutput& output) {
  if (output.limits.exact) return fmt::format("{} {}", output.name, output.relative_l2 == 0 ? "exact" : "not exact");
  if (output.limits.relative_l2 <= 0) return fmt::format("{} {}", output.name, error_figure(output.relative_l2));
  return fmt::format("{} {} of {:g}", output.name, error_figure(output.relative_l2), output.limits.relative_l2);
}

std::string build_text(const ShapeCheck& shape) {
  if (!shape.build) return shape.reached == Reached::rendered ? "no" : "-";
  const KernelBuild largest = shape.build->largest();
  return fmt::format("{} registers, {} B spilled, {} B shared", largest.registers, largest.spill_bytes,
                     largest.static_smem_bytes);
}

std::string findings_text(const ShapeCheck& shape) {
  if (!shape.findings.empty())
    return fmt::format("{} finding{}", shape.findings.size(), shape.findings.size() == 1 ? "" : "s");
  return shape.reached >= Reached::ran ? "clean" : "-";
}

std::string answer_text(const ShapeCheck& shape) {
  std::string text;
  for (const CheckedOutput& output : shape.outputs) text += (text.empty() ? "" : ", ") + output_text(output);
  return text.empty() ? "-" : text;
}

std::string indented(const std::string& text) {
  std::string result;
  for (const std::string& line : split(std::string(trim(text)), '\n')) result += "    " + one_line(line) + "\n";
  return result;
}

std::string notes_text(const ShapeCheck& shape, const Terminal& terminal) {
  std::string text;
  if (!shape.problem.empty())
    text += fmt::format("  {}: {}\n", shape.shape, styled(terminal, Style::bad, one_line(shape.problem)));
  std::set<std::string> told;  // Two accesses may race in either order: one cause.
  for (const PlacedFinding& found : shape.findings)
    if (shape.problem.find(found.finding.text) == std::string::npos && told.insert(found.brief()).second)
      text += fmt::format("  {}: {}\n", shape.shape, styled(terminal, Style::bad, found.brief()));
  if (!shape.printed.empty()) text += fmt::format("  {}: the kernel printed\n{}", shape.shape, indented(shape.printed));
  return text;
}

std::string family_text(const FamilyCheck& family, const Terminal& terminal) {
  std::string text = styled(terminal, Style::bold, fmt::format("family {}", family.family));
  text += family.genome.empty() ? "\n" : fmt::format(", first genome {}\n", family.genome);
  Table table({"shape", "rendered", "compiled", "ran", "right", "error of limit", "sanitised"});
  const auto yes = [](const ShapeCheck& shape, Reached stage) { return shape.reached >= stage ? "yes" : "no"; };
  for (const ShapeCheck& shape : family.shapes) {
    table.add({shape.shape, yes(shape, Reached::rendered), build_text(shape), yes(shape, Reached::ran),
               yes(shape, Reached::right), answer_text(shape), findings_text(shape)},
              shape.fine() ? Style::good : Style::plain);
  }
  text += table.text(terminal, 2);
  for (const ShapeCheck& shape : family.shapes) text += notes_text(shape, terminal);
  if (!family.regimes.right.empty())
    text += fmt::format("  right at {1} in {0} regimes: {2}\n", family.regimes.right.size(), family.regimes_shape,
                        fmt::join(family.regimes.right, ", "));
  for (const std::string& wrong : family.regimes.wrong)
    text += fmt::format("  regime: {}\n", styled(terminal, Style::bad, one_line(wrong)));
  if (!family.kernels.empty()) text += fmt::format("  kernels found: {}\n", fmt::join(family.kernels, ", "));
  for (const std::string& argument : family.arguments)
    text += fmt::format("  argument: {}\n", styled(terminal, Style::bad, argument));
  for (const std::string& zero : family.zero_constants)
    text += fmt::format(
        "  constant: {}\n",
        styled(terminal, Style::bad, fmt::format("nothing fills __constant__ {}: it is zero (key 'constants')", zero)));
  if (!family.unused_genes.empty())
    text += fmt::format("  unused genes: {} ({} does not read {})\n",
                        styled(terminal, Style::bad, list_of(family.unused_genes)), family.kernel_file,
                        family.unused_genes.size() == 1 ? "it" : "them");
  for (const std::string& skipped : family.skipped) text += fmt::format("  not checked: {}\n", skipped);
  return text;
}

std::string check_text(const TaskCheck& check, const std::vector<LimitSource>& limits, const Terminal& terminal) {
  std::string text =
      fmt::format("{} on {}: the first genome of each family, one case of each shape\n", check.task, check.device.id);
  if (check.self_consistent) text += "self-consistent only: the first genome stands for a reference\n";
  for (const std::string& wrong : check.reference)
    text += fmt::format("reference: {}\n", styled(terminal, Style::bad, one_line(wrong)));
  for (const FamilyCheck& family : check.families) text += family_text(family, terminal);
  for (const LimitSource& limit : limits) text += fmt::format("limits: {}: {}\n", limit.output, limit.text);
  for (const NullAnswer& null : check.null_answers)
    text += fmt::format("limits: {}: {}\n", null.output, null_answer_text(null));
  for (const std::string& skipped : check.skipped) text += fmt::format("not checked: {}\n", skipped);
  return text + (check.fine() ? styled(terminal, Style::good, "fine") : styled(terminal, Style::bad, "not fine")) +
         '\n';
}

// --- for programs

Json shape_json(const ShapeCheck& shape) {
  Json json = {{"shape", shape.shape},
               {"fine", shape.fine()},
               {"rendered", shape.reached >= Reached::rendered},
               {"compiled", shape.reached >= Reached::compiled},
               {"ran", shape.reached >= Reached::ran},
               {"right", shape.reached >= Reached::right},
               {"problem", shape.problem.empty() ? Json(nullptr) : Json(shape.problem)}};
  json["registers"] = shape.build ? Json(shape.build->largest().registers) : Json(nullptr);
  json["spill_bytes"] = shape.build ? Json(shape.build->largest().spill_bytes) : Json(nullptr);
  json["static_smem_bytes"] = shape.build ? Json(shape.build->largest().static_smem_bytes) : Json(nullptr);
  json["outputs"] = Json::array();
  for (const CheckedOutput& output : shape.outputs)
    json["outputs"].push_back({{"name", output.name},
                               {"relative_l2", output.relative_l2},
                               {"limit", positive_or_null(output.limits.relative_l2)},
                               {"exact", output.limits.exact}});
  json["findings"] = Json::array();
  for (const PlacedFinding& found : shape.findings) json["findings"].push_back(found.json());
  json["printed"] = shape.printed;
  return json;
}

std::string check_document(const TaskCheck& check, const std::vector<LimitSource>& limits) {
  Json json = json_document("check");
  json["task"] = check.task;
  json["device"] = device_json(check.device);
  json["fine"] = check.fine();
  json["self_consistent"] = check.self_consistent;
  json["reference"] = check.reference;
  json["families"] = Json::array();
  for (const FamilyCheck& family : check.families) {
    Json shapes = Json::array();
    for (const ShapeCheck& shape : family.shapes) shapes.push_back(shape_json(shape));
    json["families"].push_back({{"family", family.family},
                                {"fine", family.fine()},
                                {"genome", family.genome.empty() ? Json(nullptr) : Json(family.genome)},
                                {"kernels", family.kernels},
                                {"unused_genes", family.unused_genes},
                                {"arguments", family.arguments},
                                {"zero_constants", family.zero_constants},
                                {"shapes", shapes},
                                {"regimes",
                                 {{"shape", family.regimes_shape.empty() ? Json(nullptr) : Json(family.regimes_shape)},
                                  {"right", family.regimes.right},
                                  {"wrong", family.regimes.wrong}}},
                                {"skipped", family.skipped}});
  }
  json["skipped"] = check.skipped;
  json["limits"] = Json::array();
  for (const LimitSource& limit : limits) json["limits"].push_back({{"output", limit.output}, {"text", limit.text}});
  json["null_answers"] = Json::array();
  for (const NullAnswer& null : check.null_answers)
    json["null_answers"].push_back({{"output", null.output},
                                    {"what", null.what},
                                    {"relative_l2", null.relative_l2},
                                    {"limit", null.limit ? Json(*null.limit) : Json(nullptr)}});
  return json_text(json);
}

// ---

DeviceInfo virtual_device(const std::string& name) {
  DeviceInfo device = find_device(name);
  if (device.kind != vgpu::kKind)
    throw usage_error(fmt::format("--device {}: evo check runs on a virtual GPU, as vgpu:h200", name));
  return device;
}

int check(const CheckCommandRequest& request) {
  std::optional<ShortForm> form;
  std::vector<LimitSource> limits;
  if (is_short_form(request.subject) || is_cuda_source(request.subject)) {
    form = load_short_form(request.subject);
    limits = take_measured_limits(*form);
  }
  const SourceTree tree = form ? with_shipped(form->files) : load_templates(request.templates);
  const Task task = find_task(tree, form ? form->task : request.subject);
  CheckRequest wanted;
  wanted.device = virtual_device(request.device);
  wanted.shapes = parse_shapes(task, request.shapes);
  wanted.options = parse_options(task, request.options);
  wanted.family = request.family;
  if (form) wanted.placed = [&form](const std::string& message) { return form->in_authors_places(message); };
  const TaskCheck result = check_task(tree, task, wanted);
  print("{}", request.json ? check_document(result, limits) : check_text(result, limits, terminal_of(stdout)));
  return result.fine() ? kDone : kNothingValid;
}

}  // namespace

void add_check(CLI::App& app, Invocation& invocation) {
  auto [command, request] =
      add_command(app, invocation, "check",
                  "Render, compile, run and sanitise the first genome of each family, and report every fault", check);
  add_option(command, "TASK|FILE", "", request.subject, "A task, or what evo tune takes: FILE.json or FILE.cu")
      ->required();
  add_option(command, "--device", "DEVICE", request.device, "A virtual GPU: vgpu or vgpu:MODEL (docs/devices.md)");
  add_option(command, "--shapes", "A,B", request.shapes, "Only these shapes, by name or by all their sizes");
  add_option(command, "--option", "NAME=VALUE", request.options,
             "An option of the task, such as out=bf16; may be repeated");
  add_option(command, "--family", "NAME", request.family, "Only this family");
  add_usual_options(command, request);
}

}  // namespace evo::cli
