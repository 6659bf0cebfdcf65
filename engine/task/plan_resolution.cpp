#include "engine/task/plan_resolution.h"

#include <fmt/format.h>

#include <bit>
#include <limits>
#include <optional>
#include <span>
#include <utility>

#include "engine/base/error.h"
#include "engine/base/text.h"
#include "engine/task/error_context.h"
#include "engine/task/scope.h"

namespace evo {
namespace {

// A number for the driver: at least `least`, at most what 31 bits hold. What the device allows is less and is
// the evaluator's to check.
std::uint32_t bounded(const Expression& expression, const Bindings& scope, std::int64_t least, std::string_view what) {
  const std::int64_t value = expression.evaluate_int(scope);
  if (value < least || value > std::numeric_limits<std::int32_t>::max()) {
    throw usage_error(fmt::format("{} '{}' is {}: must be {} to 2^31 - 1", what, expression.text(), value, least));
  }
  return static_cast<std::uint32_t>(value);
}

std::uint64_t byte_count(const Expression& expression, const Bindings& scope, std::string_view what) {
  const std::int64_t value = expression.evaluate_int(scope);
  if (value < 1) throw usage_error(fmt::format("{} '{}' is {}: must be positive", what, expression.text(), value));
  return static_cast<std::uint64_t>(value);
}

Dim3 dims_of(std::span<const Expression, 3> dims, const Bindings& scope, std::string_view what) {
  return {bounded(dims[0], scope, 1, what), bounded(dims[1], scope, 1, what), bounded(dims[2], scope, 1, what)};
}

enum class Side : std::uint8_t { candidate, reference };

std::uint64_t bytes_of_extent(const Tensor& tensor, DType dtype, std::int64_t extent) {
  if (extent > std::numeric_limits<std::int64_t>::max() / 8)
    throw usage_error(fmt::format("tensor '{}' has more bytes than 64 bits can count", tensor.name));
  return bytes_for(dtype, static_cast<std::uint64_t>(extent));
}

std::vector<std::uint64_t> unsigned_of(const std::vector<std::int64_t>& values) {
  return {values.begin(), values.end()};
}

std::vector<PlanTensor> plan_tensors(const Task& task, const Bindings& scope, Side side) {
  std::vector<PlanTensor> tensors;
  const auto add = [&](const Tensor& tensor, DType dtype, bool output) {
    PlanTensor& added = tensors.emplace_back();
    added.name = tensor.name;
    added.dtype = dtype;
    added.output = output;
    added.inout = tensor.inout;
    if (!is_present(tensor, scope)) return;
    added.bytes = bytes_of_extent(tensor, dtype, extent_of(tensor, scope));
    if (tensor.strides.empty()) return;
    if (bits_of(dtype) < 8) throw usage_error(fmt::format("tensor '{}': {} has no strides", tensor.name, tensor.dtype));
    added.dims = unsigned_of(dims_of(tensor, scope));
    added.strides = unsigned_of(strides_of(tensor, scope));
  };
  const auto add_all = [&](std::string_view key, const std::vector<Tensor>& all, bool outputs) {
    for (std::size_t i = 0; i < all.size(); ++i) {
      const DType dtype = dtype_of(all[i], scope);
      within(task, fmt::format("{}[{}].dims", key, i), [&] {
        add(all[i], outputs && side == Side::reference ? reference_dtype(task, all[i], dtype) : dtype, outputs);
      });
    }
  };
  add_all("inputs", task.inputs, false);
  add_all("outputs", task.outputs, true);
  return tensors;
}

template <typename Named>
const Named* find(const std::vector<Named>& all, std::string_view name, std::size_t& index) {
  for (index = 0; index < all.size(); ++index) {
    if (all[index].name == name) return &all[index];
  }
  return nullptr;
}

// A tensor, workspace or tensor map of the plan by name.
std::optional<Argument> named_argument(std::string_view name, const Plan& plan) {
  Argument argument;
  if (find(plan.tensors, name, argument.index)) {
    argument.kind = Argument::Kind::tensor;
  } else if (find(plan.workspaces, name, argument.index)) {
    argument.kind = Argument::Kind::workspace;
  } else if (find(plan.tensor_maps, name, argument.index)) {
    argument.kind = Argument::Kind::tensor_map;
  } else {
    return std::nullopt;
  }
  return argument;
}

Argument argument_of(const ArgumentSpec& spec, const Plan& plan, const Bindings& scope) {
  if (spec.may_be_name) {
    if (const auto named = named_argument(spec.text, plan)) return *named;
  }
  try {
    return {Argument::Kind::value, 0, evaluate(spec, scope)};
  } catch (const Error& error) {
    throw usage_error(fmt::format("argument {}", error.what()));
  }
}

Workspace workspace_of(const WorkspaceSpec& spec, const Bindings& scope) {
  if (!spec.when.evaluate_bool(scope)) return {spec.name, 0, false};
  return {spec.name, byte_count(spec.bytes, scope, "workspace size"), spec.zeroed.evaluate_bool(scope)};
}

TensorMap tensor_map_of(const TensorMapSpec& spec, const Plan& plan, const Bindings& scope) {
  TensorMap map;
  map.name = spec.name;
  const auto source = named_argument(spec.source, plan);
  if (!source) throw usage_error(fmt::format("tensor map '{}': no tensor or workspace '{}'", spec.name, spec.source));
  map.source = *source;
  map.dtype = dtype_of(Tensor{.name = spec.name, .dtype = spec.dtype}, scope);
  for (const Expression& dim : spec.dims) map.dims.push_back(byte_count(dim, scope, "tensor map dim"));
  for (const Expression& stride : spec.strides_bytes)
    map.strides_bytes.push_back(byte_count(stride, scope, "tensor map stride"));
  for (const Expression& extent : spec.box) map.box.push_back(bounded(extent, scope, 1, "tensor map box"));
  map.swizzle_bytes = bounded(spec.swizzle_bytes, scope, 0, "tensor map swizzle");
  if (map.swizzle_bytes != 0 && map.swizzle_bytes != 32 && map.swizzle_bytes != 64 && map.swizzle_bytes != 128) {
    throw usage_error(
        fmt::format("tensor map '{}': swizzle of {} bytes; there are 0, 32, 64, 128", map.name, map.swizzle_bytes));
  }
  return map;
}

/// A tensor that is absent fills nothing.
void add_constant(const ConstantSpec& spec, const Bindings& scope, Plan& plan) {
  if (!spec.when.evaluate_bool(scope)) return;
  Argument source = argument_of(spec.value, plan, scope);
  if (source.kind == Argument::Kind::tensor && plan.tensors[source.index].bytes == 0) return;
  plan.constants.push_back({spec.symbol, std::move(source)});
}

std::string kernel_name(const TextTemplate& text, const Bindings& scope) {
  std::string name = text.render(scope);
  if (!is_kernel_name(name)) throw usage_error(fmt::format("kernel '{}' is not a name", name));
  return name;
}

Launch launch_of(const LaunchSpec& spec, const Plan& plan, const Bindings& scope) {
  Launch launch;
  launch.kernel = kernel_name(spec.kernel_name, scope);
  launch.grid = dims_of(spec.grid, scope, "grid");
  launch.block = dims_of(spec.block, scope, "block");
  launch.cluster = dims_of(spec.cluster, scope, "cluster");
  launch.dynamic_smem_bytes = bounded(spec.dynamic_smem_bytes, scope, 0, "dynamic shared memory");
  launch.programmatic = spec.programmatic.evaluate_bool(scope);
  for (const ArgumentSpec& argument : spec.arguments) launch.arguments.push_back(argument_of(argument, plan, scope));
  return launch;
}

}  // namespace

DType reference_dtype(const Task& task, const Tensor& output, DType dtype) {
  if (task.typed_reference) return dtype;
  if (!output.scale.empty()) return DType::f32;
  return is_floating(dtype) && dtype != DType::f64 ? DType::f32 : dtype;
}

Plan resolve_plan(const Task& task, const Family& family, const Genome& genome, const Bindings& options,
                  const Shape& shape, const Bindings& facts) {
  const Bindings known = joined(facts, options, shape.parameters);
  const Bindings scope = scope_of(family, genome, known);

  Plan plan;
  plan.tensors = plan_tensors(task, scope, Side::candidate);
  for (const WorkspaceSpec& spec : family.workspaces) {
    plan.workspaces.push_back(
        within(family, scope, "workspace " + spec.name, [&] { return workspace_of(spec, scope); }));
  }
  for (const TensorMapSpec& spec : family.tensor_maps) {
    within(family, scope, "tensor map " + spec.name, [&] {
      if (spec.when.evaluate_bool(scope)) plan.tensor_maps.push_back(tensor_map_of(spec, plan, scope));
    });
  }
  for (const ConstantSpec& spec : family.constants)
    within(family, scope, "constants." + spec.symbol, [&] { add_constant(spec, scope, plan); });
  for (const LaunchSpec& spec : family.launches) {
    within(family, scope, "launch " + spec.kernel, [&] {
      if (spec.when.evaluate_bool(scope)) plan.launches.push_back(launch_of(spec, plan, scope));
    });
  }
  return plan;
}

Plan reference_plan(const Task& task, const Bindings& options, const Shape& shape) {
  const Bindings scope = joined(options, shape.parameters);
  Plan plan;
  plan.tensors = plan_tensors(task, scope, Side::reference);
  Launch launch;
  launch.kernel =
      within(task, "reference.kernel", [&] { return kernel_name(TextTemplate::parse(task.reference_kernel), scope); });
  launch.grid = within(task, "reference.grid", [&] { return dims_of(task.reference_grid, scope, "grid"); });
  launch.block = within(task, "reference.block", [&] { return dims_of(task.reference_block, scope, "block"); });
  launch.dynamic_smem_bytes = within(task, "reference.dynamic_smem",
                                     [&] { return bounded(task.reference_smem, scope, 0, "dynamic shared memory"); });
  for (std::size_t i = 0; i < task.reference_arguments.size(); ++i) {
    launch.arguments.push_back(within(task, fmt::format("reference.arguments[{}]", i),
                                      [&] { return argument_of(task.reference_arguments[i], plan, scope); }));
  }
  for (const ConstantSpec& spec : task.reference_constants)
    within(task, "reference.constants." + spec.symbol, [&] { add_constant(spec, scope, plan); });
  plan.launches.push_back(std::move(launch));
  return plan;
}

std::string why_malformed(const TensorMap& map) {
  if (map.dims.empty() || map.dims.size() > 5) return "has 0 or more than 5 dims";
  if (map.strides_bytes.size() + 1 != map.dims.size()) return "needs one stride fewer than dims";
  if (map.box.size() != map.dims.size()) return "needs one box size for each dim";
  const std::uint32_t swizzle = map.swizzle_bytes;
  const bool known = swizzle == 0 || (swizzle >= 32 && swizzle <= 128 && std::has_single_bit(swizzle));
  return known ? "" : "has a swizzle other than 0, 32, 64 or 128 bytes";
}

}  // namespace evo
