#include "cli/check/sanitised_program.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "cli/text/json_text.h"
#include "cli/text/terminal.h"
#include "evaluator/base/cores.h"
#include "evaluator/compile/compiler.h"
#include "evaluator/vgpu/cost/device_models.h"

namespace evo::cli {
namespace {

constexpr std::uint64_t kModule = 1;

std::unique_ptr<vgpu::VirtualGpu> sanitising(const DeviceInfo& device) {
  auto gpu = vgpu::make_device(device, usable_cores());
  gpu->sanitise();
  return gpu;
}

}  // namespace

std::string PlacedFinding::brief() const {
  return fmt::format("{}: {}", vgpu::name_of(finding.kind),
                     one_line(finding.brief.empty() ? finding.text : finding.brief));
}

nlohmann::ordered_json PlacedFinding::json() const {
  return {{"kind", vgpu::name_of(finding.kind)},
          {"kernel", finding.kernel},
          {"file", origin ? Json(origin->file) : Json()},
          {"line", origin ? origin->line : finding.line},
          {"count", finding.count},
          {"brief", finding.brief.empty() ? Json() : Json(finding.brief)},
          {"text", finding.text}};
}

std::optional<DeviceInfo> virtual_device_for(const DeviceRecord& record) {
  std::optional<DeviceInfo> alike;
  for (const std::string& name : vgpu::model_names()) {
    DeviceInfo model = vgpu::model_info(name);
    if (record.kind == vgpu::kKind ? model.id == record.id : !alike && model.arch == record.arch)
      alike = std::move(model);
  }
  return alike;
}

SanitisedProgram::SanitisedProgram(const DeviceInfo& device, const Program& program, Binary binary)
    : program_(program), gpu_(sanitising(device)), server_(*gpu_) {
  const auto loaded = server_.load({kModule, std::move(binary), program.plans});
  if (const auto* failed = std::get_if<protocol::Failed>(&loaded)) not_loaded_ = failed->failure;
}

void SanitisedProgram::limit_instructions(std::uint64_t of_a_warp, std::uint64_t of_a_launch) {
  gpu_->limit_instructions(of_a_warp);
  gpu_->limit_launches(of_a_launch);
}

std::variant<protocol::Ran, Failure> SanitisedProgram::run(const Case& one) {
  if (not_loaded_) return *not_loaded_;
  protocol::Reply reply = server_.run({kModule, one.shape.name, one.recipe, 1});
  if (auto* failed = std::get_if<protocol::Failed>(&reply)) return translated(std::move(failed->failure), program_);
  return std::move(std::get<protocol::Ran>(reply));
}

std::vector<PlacedFinding> SanitisedProgram::findings(vgpu::Strictness strictness) const {
  std::vector<PlacedFinding> placed;
  for (vgpu::Finding& finding : gpu_->findings(strictness)) {
    finding.text = program_.lines.translated(finding.text);
    finding.brief = program_.lines.translated(finding.brief);
    std::optional<LineMap::Origin> origin;
    if (finding.line != 0) origin = program_.lines.origin_of(finding.line);
    placed.push_back({std::move(finding), std::move(origin)});
  }
  std::ranges::stable_partition(placed, [](const PlacedFinding& one) { return !one.finding.brief.empty(); });
  return placed;
}

}  // namespace evo::cli
