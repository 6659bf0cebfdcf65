#include "cli/check/finding_json.h"

#include <nlohmann/json.hpp>

namespace evo::cli {

nlohmann::ordered_json finding_json(const PlacedFinding& found) {
  using Json = nlohmann::ordered_json;
  const auto& [finding, origin] = found;
  return {{"kind", vgpu::name_of(finding.kind)},
          {"kernel", finding.kernel},
          {"file", origin ? Json(origin->file) : Json()},
          {"line", origin ? origin->line : finding.line},
          {"count", finding.count},
          {"brief", finding.brief.empty() ? Json() : Json(finding.brief)},
          {"text", finding.text}};
}

}  // namespace evo::cli
