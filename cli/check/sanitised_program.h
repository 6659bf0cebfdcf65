#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "engine/result/evaluation.h"
#include "engine/task/candidate.h"
#include "evaluator/device/device.h"
#include "evaluator/judge/cases.h"
#include "evaluator/vgpu/machine/finding.h"
#include "evaluator/vgpu/virtual_device.h"
#include "evaluator/worker/device_server.h"
#include "population/store/records.h"

namespace evo::cli {

/// A finding whose texts name the templates, and the line of one that it is in.
struct PlacedFinding {
  vgpu::Finding finding;
  std::optional<LineMap::Origin> origin;  ///< Empty where no template is known.

  /// "race: missing __syncthreads: scale/plain/kernel.cu:14 writes 'tile', scale/plain/kernel.cu:19 reads it": the
  /// cause in short where there is one, else the whole text.
  std::string brief() const;
  /// As documents have it (docs/json.md, `sanitize`).
  nlohmann::ordered_json json() const;
};

/// A virtual GPU that runs what was compiled for the device of a record: that device itself, or a model of its
/// architecture. Empty: there is none.
std::optional<DeviceInfo> virtual_device_for(const DeviceRecord& record);

/// A program on a virtual GPU of its own, which sanitises every launch.
class SanitisedProgram {
 public:
  SanitisedProgram(const DeviceInfo& device, const Program& program, Binary binary);
  SanitisedProgram(const SanitisedProgram&) = delete;
  SanitisedProgram& operator=(const SanitisedProgram&) = delete;

  /// From now on a launch ends once a warp, or all warps together, have executed more instructions. Findings until then
  /// stay.
  void limit_instructions(std::uint64_t of_a_warp, std::uint64_t of_a_launch);

  /// Runs one case; the program must have a plan for its shape. A refusal of the device, or the end of a launch, is a
  /// Failure whose reason names the templates.
  std::variant<protocol::Ran, Failure> run(const Case& one);

  /// Of all cases until now; those whose cause is known in short come first.
  std::vector<PlacedFinding> findings(vgpu::Strictness strictness = vgpu::Strictness::usual) const;

 private:
  const Program& program_;
  std::unique_ptr<vgpu::VirtualGpu> gpu_;
  DeviceServer server_;
  std::optional<Failure> not_loaded_;
};

}  // namespace evo::cli
