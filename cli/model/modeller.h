#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>

#include "engine/task/candidate.h"
#include "evaluator/compile/compiler.h"
#include "evaluator/device/device_buffers.h"
#include "evaluator/vgpu/virtual_device.h"

namespace evo::cli {

/// A candidate's modelled cost at one shape.
struct Modelled {
  const Program* program = nullptr;  ///< Of the candidate: the one that the shape needs.
  Build build;
  vgpu::PlanCost cost;
};

/// The virtual GPU that models a GPU: "vgpu:h200" for "NVIDIA H200"; empty when there is none.
std::optional<std::string> find_virtual_gpu_like(const std::string& gpu);
/// The same; throws usage_error when there is none.
std::string virtual_gpu_like(const std::string& gpu);

/// The case whose execution the cost model observes.
CaseRecipe modelled_case(const Task& task, const Target& target, const Shape& shape);

/// Models candidates of one target on one virtual GPU. It runs only as much of a candidate as the cost model needs, and
/// checks no outputs. Each thread needs an object of its own.
class Modeller {
 public:
  /// `device`: a virtual GPU; usage_error otherwise. `kept`: a folder that caches compiled programs; empty: no cache.
  /// Throws machine_error when there is no compiler, or the folder cannot be made.
  Modeller(Task task, Target target, DeviceInfo device, std::filesystem::path kept = {});

  const DeviceInfo& device() const { return info_; }
  /// With a warm or, if `cold`, an empty L2 cache. A failure when the candidate does not compile or the virtual GPU
  /// rejects it.
  std::variant<Modelled, Failure> model(const Candidate& candidate, const Shape& shape, bool cold = false);

 private:
  std::variant<Binary, Failure> compiled(const Program& program);
  const PristineInputs& inputs_of(const Shape& shape);

  Task task_;
  Target target_;
  DeviceInfo info_;
  std::filesystem::path kept_;
  std::unique_ptr<Compiler> compiler_;
  std::unique_ptr<vgpu::VirtualGpu> gpu_;
  std::map<std::string, PristineInputs> inputs_;  ///< By shape.
};

}  // namespace evo::cli
