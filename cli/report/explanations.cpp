#include "cli/report/explanations.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "cli/model/cost_report.h"
#include "cli/model/modeller.h"
#include "cli/subject/restore.h"
#include "cli/text/json_text.h"
#include "engine/base/error.h"
#include "engine/device/device_kind.h"
#include "evaluator/hosts/devices.h"

namespace evo::cli {
namespace {

Json launches_json(const Modelled& modelled) {
  Json launches = Json::array();
  for (const vgpu::LaunchCost& cost : modelled.cost.launches)
    launches.push_back(launch_cost_json(cost, *modelled.program));
  return launches;
}

Json kernel_json(const Store& store, CandidateId id, const DeviceInfo& device) {
  const Restored restored = restore(store, id);
  Target target = restored.run.info.target;
  const Candidate candidate = restored_candidate(restored, target);
  Modeller modeller(restored.task, target, device);
  Json shapes = Json::array();
  for (const Shape& shape : target.timed) {
    const auto modelled = modeller.model(candidate, shape);
    if (const auto* failure = std::get_if<Failure>(&modelled))
      throw usage_error(fmt::format("candidate {} cannot be modelled at {}: {}", id, shape.name, failure->reason));
    const auto& one = std::get<Modelled>(modelled);
    shapes.push_back({{"shape", shape.name}, {"modelled_us", one.cost.latency_us}, {"launches", launches_json(one)}});
  }
  return {{"candidate", id}, {"shapes", shapes}};
}

Json none(const std::string& why) {
  return {{"model", ""}, {"kernels", Json::array()}, {"why_none", why}};
}

}  // namespace

nlohmann::ordered_json explanations_json(const Store& store, const PageSubject& subject, std::size_t most) {
  std::vector<CandidateId> kernels;
  for (const CandidateRow& row : subject.best)
    if (!row.programs.empty() && kernels.size() < most) kernels.push_back(row.id);
  if (most == 0) return none("None was asked for: evo report -o FILE --explain 1 asks for the fastest kernel.");
  if (subject.best.empty()) return none("No candidate was valid.");
  if (kernels.empty()) return none("The runs were imported without the sources of their kernels.");
  const DeviceRecord& record = subject.device;
  const auto name = kind_named(record.kind).modelled ? std::optional(record.id) : find_virtual_gpu_like(record.name);
  if (!name) return none(fmt::format("No virtual GPU models {}.", record.name));
  try {
    const DeviceInfo device = resolve_device(*name);
    Json list = Json::array();
    for (const CandidateId id : kernels) list.push_back(kernel_json(store, id, device));
    return {{"model", device.id}, {"kernels", list}, {"why_none", ""}};
  } catch (const Error& error) {
    return none(fmt::format("The cost model could not be asked: {}", error.what()));
  }
}

}  // namespace evo::cli
