#include "cli/check/argument_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>

#include "cli/kernel/parameter_check.h"
#include "evaluator/numbers/elements.h"
#include "evaluator/vgpu/ptx/load_error.h"
#include "evaluator/vgpu/ptx/parser.h"

namespace evo::cli {
namespace {

constexpr std::size_t kDevicePointerBytes = 8;
constexpr std::size_t kTensorMapBytes = 128;

GivenArgument address_of(std::string text) {
  return {std::move(text), kDevicePointerBytes, true, std::nullopt, std::nullopt};
}

GivenArgument given_value(const Argument& argument) {
  const std::size_t bytes = bytes_of(argument.fields).size();
  if (argument.fields.size() != 1)
    return {fmt::format("a struct of {} bytes", bytes), bytes, false, std::nullopt, std::nullopt};
  const ValueType type = argument.fields.front().type;
  return {type.name(), bytes, false, type, std::nullopt};
}

GivenArgument given_argument(const Argument& argument, const Plan& plan) {
  switch (argument.kind) {
    case Argument::Kind::tensor: {
      const PlanTensor& tensor = plan.tensors.at(argument.index);
      GivenArgument given = address_of(fmt::format("tensor {} of {}", tensor.name, name_of(tensor.dtype)));
      given.elements = tensor.dtype;
      return given;
    }
    case Argument::Kind::workspace:
      return address_of(fmt::format("workspace {}, a pointer", plan.workspaces.at(argument.index).name));
    case Argument::Kind::tensor_map:
      return {fmt::format("tensor map {}", plan.tensor_maps.at(argument.index).name), kTensorMapBytes, false,
              std::nullopt, std::nullopt};
    case Argument::Kind::value:
      break;
  }
  return given_value(argument);
}

/// The modules of a binary's PTX; null where loading will say why there is none.
std::unique_ptr<vgpu::ptx::Module> parsed(const Binary& binary) {
  try {
    return vgpu::ptx::parse(binary.ptx);
  } catch (const vgpu::LoadError&) {
    return nullptr;
  }
}

std::optional<std::vector<vgpu::DeclaredParameter>> parameters_of(const vgpu::ptx::Module& module,
                                                                  const std::string& ptx_name) {
  const auto found = module.function_index.find(ptx_name);
  if (found == module.function_index.end()) return std::nullopt;
  const vgpu::ptx::Function& kernel = module.functions[found->second];
  std::vector<vgpu::DeclaredParameter> parameters;
  for (std::size_t i = 0; i < kernel.parameter_count; ++i) {
    const vgpu::ptx::Variable& parameter = kernel.variables[kernel.result_count + i];
    parameters.push_back({parameter.bytes, std::string(vgpu::ptx::name_of(parameter.type))});
  }
  return parameters;
}

/// `place`: of the list of arguments, "scale/plain/family.json: launches[0].arguments".
std::vector<std::string> wrong_in_launch(const Binary& binary, const vgpu::ptx::Module& module, const Plan& plan,
                                         const Launch& launch, const std::string& place) {
  const std::string ptx_name = binary.build.ptx_name(launch.kernel);
  const auto parameters = parameters_of(module, ptx_name);
  if (!parameters) return {};
  const std::string wrong = wrong_number(launch.kernel, ptx_name, parameters->size(), launch.arguments.size());
  if (!wrong.empty()) return {fmt::format("{}: {}", place, wrong)};
  std::vector<GivenArgument> given;
  for (const Argument& argument : launch.arguments) given.push_back(given_argument(argument, plan));
  std::vector<std::string> lines;
  for (const Misfit& misfit : misfits(ptx_name, *parameters, given))
    lines.push_back(fmt::format("{}[{}]: {} is given, {} takes {}", place, misfit.index, misfit.given, launch.kernel,
                                misfit.taken));
  return lines;
}

/// The number in family.json of a plan's launch: launches whose condition is false are not in the plan.
std::size_t number_of(std::size_t launch, const Plan& plan, const Family& family) {
  if (plan.launches.size() == family.launches.size()) return launch;
  const auto named = std::ranges::find(family.launches, plan.launches[launch].kernel, &LaunchSpec::kernel);
  return named == family.launches.end() ? launch : static_cast<std::size_t>(named - family.launches.begin());
}

}  // namespace

std::vector<std::string> wrong_arguments(const Binary& binary, const Plan& plan, const Family& family) {
  const auto module = parsed(binary);
  std::vector<std::string> lines;
  for (std::size_t i = 0; module && i < plan.launches.size(); ++i) {
    const std::string place =
        fmt::format("{}/{}/family.json: launches[{}].arguments", family.task, family.name, number_of(i, plan, family));
    for (std::string& line : wrong_in_launch(binary, *module, plan, plan.launches[i], place))
      lines.push_back(std::move(line));
  }
  return lines;
}

std::vector<std::string> wrong_reference_arguments(const Binary& binary, const Plan& plan, const Task& task) {
  const auto module = parsed(binary);
  if (!module) return {};
  return wrong_in_launch(binary, *module, plan, plan.launches.front(),
                         fmt::format("{}/task.json: reference.arguments", task.name));
}

}  // namespace evo::cli
