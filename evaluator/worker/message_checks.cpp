#include "evaluator/worker/message_checks.h"

#include <fmt/format.h>

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <string>
#include <variant>

#include "engine/base/text.h"
#include "engine/task/argument.h"
#include "evaluator/compile/ptx_text.h"

namespace evo::protocol {
namespace {

void require(bool sound, const std::string& why) {
  if (!sound) throw ProtocolError(why);
}

// ---- Plans

void check(const Scalar& scalar) {
  const DType element = scalar.type.element;
  require(scalar.type.components >= 1 && scalar.type.components <= 4 && bits_of(element) >= 8 &&
              scalar.components.size() == scalar.type.components,
          "a scalar of no such type");
  for (const Number& component : scalar.components)
    require(
        std::holds_alternative<double>(component) == is_floating(element) && why_not_held(element, component).empty(),
        "a scalar that its type does not hold");
}

void check(const Argument& argument) {
  for (const Scalar& field : argument.fields) check(field);
}

/// Strides that leave the tensor would let a layout be read out of bounds.
void check(const PlanTensor& tensor) {
  require(tensor.dims.size() == tensor.strides.size(), "a tensor with other strides than dims");
  std::uint64_t last = 0;
  for (std::size_t i = 0; i < tensor.dims.size(); ++i) {
    std::uint64_t step = 0;
    require(tensor.dims[i] != 0 && !__builtin_mul_overflow(tensor.dims[i] - 1, tensor.strides[i], &step) &&
                !__builtin_add_overflow(last, step, &last),
            "a tensor with impossible dims");
  }
  require(tensor.dims.empty() || (bits_of(tensor.dtype) >= 8 && last < tensor.bytes / size_of(tensor.dtype)),
          "a tensor whose strides leave it");
}

void check(const Constant& constant, const Plan& plan) {
  check(constant.source);
  require(is_variable_name(constant.symbol), "a constant without the name of a variable");
  const bool tensor = constant.source.kind == Argument::Kind::tensor && constant.source.index < plan.tensors.size();
  require(tensor || constant.source.kind == Argument::Kind::value,
          "a constant that neither a tensor nor a value fills");
}

void check(const Plan& plan) {
  for (const PlanTensor& tensor : plan.tensors) check(tensor);
  for (const TensorMap& map : plan.tensor_maps) check(map.source);
  for (const Constant& constant : plan.constants) check(constant, plan);
  for (const Launch& launch : plan.launches) {
    for (const Argument& argument : launch.arguments) check(argument);
  }
}

// ---- Inputs

/// An absent input has no elements.
bool has_possible_sizes(const InputRecipe& input) {
  if (!std::ranges::all_of(input.dims, [](std::uint64_t size) { return size > 0; })) return false;
  if (input.strides.size() > input.dims.size()) return false;
  if (!input.dims.empty()) {
    std::uint64_t product = 1;
    for (const std::uint64_t dim : input.dims)
      if (__builtin_mul_overflow(product, dim, &product)) return false;
    if (product != input.elements) return false;
  }
  if (input.scale) {
    if (input.dims.empty() || input.scale_dims.size() != input.dims.size()) return false;
    for (std::size_t i = 0; i < input.dims.size(); ++i)
      if (input.scale_dims[i] == 0 || input.scale_dims[i] > input.dims[i]) return false;
  }
  if (input.elements == 0) return !input.scale && input.dims.empty() && input.strides.empty();
  const auto divides = [&](std::uint64_t part) { return part > 0 && input.elements % part == 0; };
  return divides(input.row) && divides(input.matrix) && input.group > 0 && input.matrix % input.row == 0;
}

void check(const CaseRecipe& recipe) {
  for (const InputRecipe& input : recipe.inputs) {
    require(has_possible_sizes(input), "input " + input.name + " has impossible sizes");
    std::uint64_t groups = 1;
    for (const std::uint64_t dim : input.scale_dims) groups *= dim;
    for (const auto& index : {input.scale, input.zero_point}) {
      if (!index) continue;
      require(*index < recipe.inputs.size(), "input " + input.name + " has scales or zero points that are no input");
      require(recipe.inputs[*index].elements == groups,
              "input " + input.name + " has not as many groups as scales or zero points");
    }
  }
}

// ---- Programs

/// Names in PTX go to the driver.
void check(const Build& build) {
  for (const auto* names : {&build.kernel_names, &build.variables}) {
    for (const auto& [name, ptx_name] : *names)
      require(!ptx_name.empty() && std::ranges::all_of(ptx_name, ptx_text::is_name_character),
              fmt::format("{} has a name in PTX that is none", name));
  }
}

/// A wrong worker could otherwise make a candidate valid.
void check(const Failure& failure) {
  require(failure.verdict != Verdict::valid, "a failure cannot be valid");
}

// ---- Messages

void check(const Compile& request) {
  require(std::ranges::all_of(request.kernels, is_kernel_name), "field kernels is no list of names");
  require(std::ranges::all_of(request.variables, is_variable_name), "field variables is no list of names");
}

void check(const Load& request) {
  check(request.binary.build);
  for (const auto& [shape, plan] : request.plans) check(plan);
}

void check(const Run& request) {
  if (request.recipe) check(*request.recipe);
}

void check(const KeepAnswer& request) {
  check(request.recipe);
}

void check(const Time& request) {
  for (const CaseRecipe& recipe : request.rotation) check(recipe);
  if (request.afterwards) check(*request.afterwards);
  if (request.probe) check(request.probe->other);
}

void check(const ReadCounters& request) {
  check(request.recipe);
}

void check(const Model& request) {
  check(request.compile);
  check(request.plan);
  check(request.recipe);
}

void check(const Compiled& reply) {
  check(reply.binary.build);
}

void check(const Ran& reply) {
  if (reply.unrepeatable) check(*reply.unrepeatable);
}

void check(const Modelled& reply) {
  check(reply.binary.build);
  if (reply.failure) check(*reply.failure);
}

void check(const Failed& reply) {
  check(reply.failure);
}

/// Their types say all.
template <class Message, class... Messages>
concept OneOf = (std::same_as<Message, Messages> || ...);
void check(const OneOf<Unload, Ready, Started, Done, Timed, Profiled, Broken> auto& /*message*/) {}

}  // namespace

void check(const Request& request) {
  std::visit([](const auto& one) { check(one); }, request);
}

void check(const Reply& reply) {
  std::visit([](const auto& one) { check(one); }, reply);
}

}  // namespace evo::protocol
