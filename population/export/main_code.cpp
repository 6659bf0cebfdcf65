#include "population/export/main_code.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "engine/base/text.h"
#include "engine/device/device_kind.h"
#include "engine/expression/expression_cpp.h"
#include "engine/task/limits.h"
#include "engine/task/plan_resolution.h"
#include "engine/task/scope.h"
#include "population/code/alignment.h"
#include "population/code/argument_code.h"
#include "population/code/kernel_source.h"
#include "population/code/text.h"
#include "population/export/main_draws.h"
#include "population/export/main_numbers.h"

// main_head.cuh, main_types.cuh, ...
namespace evo::embedded {
extern const std::string_view export_main_head, export_main_types, export_main_data, export_main_numbers,
    export_main_scales, export_main_draw_by_kind, export_main_draw, export_main_compare, export_main_buffers,
    export_main_calls, export_main_run;
}  // namespace evo::embedded

namespace evo {
namespace {

std::string c_literal(std::string_view text) {
  std::string result = "\"";
  for (const char c : comment_safe(text)) {
    if (c == '"' || c == '\\') result += '\\';
    result += c;
  }
  return result + "\"";
}

/// Writes the functions of main that depend on the task.
class MainWriter {
 public:
  MainWriter(const std::vector<Specialised>& kernels, const std::vector<Measured>& measured)
      : request_(*kernels.front().request),
        task_(request_.task),
        options_(request_.provenance.target.options),
        tensors_(present_tensors(request_)),
        kernels_(kernels),
        measured_(measured) {
    for (const Specialised& kernel : kernels) {
      const auto same = [&](const Specialised& other) { return other.values == kernel.values; };
      if (std::none_of(specialisations_.begin(), specialisations_.end(), same)) specialisations_.push_back(kernel);
    }
    // The dtypes of the reference's outputs do not depend on the shape.
    const Plan plan = reference_plan(task_, options_, request_.provenance.target.timed.front());
    for (const PlanTensor& tensor : plan.tensors) wanted_[tensor.name] = tensor.dtype;
  }

  std::string write() const {
    const Bindings values = this->values();
    const auto part = [&](std::string_view text) { return "\n" + rendered(text, values); };
    std::string code = part(embedded::export_main_head) + references() + part(embedded::export_main_types) + tables();
    code += part(embedded::export_main_data) + part(embedded::export_main_numbers);
    if (any_scaled()) code += part(embedded::export_main_scales);
    if (any_drawn_by_kind()) code += part(embedded::export_main_draw_by_kind);
    code += part(embedded::export_main_draw) + part(embedded::export_main_compare);
    return code + part(embedded::export_main_buffers) + part(embedded::export_main_calls) + reference_call() +
           part(embedded::export_main_run);
  }

 private:
  /// What the texts leave open.
  Bindings values() const {
    const Provenance& provenance = request_.provenance;
    const std::string modelled = kind_named(provenance.device.kind).modelled ? "modelled, " : "";
    std::vector<std::string> addresses, sizes, numbered_sizes;
    for (std::size_t i = 0; i < tensors_.size(); ++i) addresses.push_back(pointer(i));
    for (const std::string& name : task_.shape_parameters) {
      sizes.push_back(fmt::format("static_cast<int>({})", host_name(name)));
      numbered_sizes.push_back(fmt::format("static_cast<int>(p[{}])", numbered_sizes.size()));
    }
    Bindings values = main_numbers(dtypes());
    values.insert({{"rank", static_cast<std::int64_t>(task_.shape_parameters.size())},
                   {"task", task_.name},
                   {"launcher", launcher()},
                   {"main", kernels_.front().names.name_space("main")},
                   {"scaled", any_scaled()},
                   {"scaled_outputs", any_scaled_output()},
                   {"zero_points", any_zero_point_of_output()},
                   {"drawn_by_kind", any_drawn_by_kind()},
                   {"equal", any_equal()},
                   {"inout", any_inout()},
                   {"choosing", !measured_.empty()},
                   {"parameters", parameters()},
                   {"workspace", needs_workspace(kernels_)},
                   {"addresses", fmt::format("{}", fmt::join(addresses, ", "))},
                   {"sizes", fmt::format("{}", fmt::join(sizes, ", "))},
                   {"numbered_sizes", fmt::format("{}", fmt::join(numbered_sizes, ", "))},
                   {"alignment", std::int64_t{kTensorAlignment}},
                   {"claimant", c_literal(modelled + provenance.device.name)},
                   {"default_shapes", default_shapes()},
                   {"usage", fmt::format("{}", fmt::join(task_.shape_parameters, ","))},
                   {"supported", supported_text()}});
    return values;
  }

  std::string cpp(const Expression& expression, const Bindings& known) const {
    return expr::to_cpp(expression, known, written_parameters(task_));
  }

  const std::string& launcher() const { return kernels_.front().names.launcher; }

  // --- what the task has

  DType dtype(const Tensor& tensor) const { return dtype_of(tensor, options_); }

  template <class Test>
  bool any_tensor(Test test) const {
    return std::any_of(tensors_.begin(), tensors_.end(), test);
  }
  bool any_scaled() const {
    return any_tensor([&](const TensorPlace& place) { return index_of(place.tensor->scale) >= 0; });
  }
  bool any_scaled_output() const {
    return any_tensor([&](const TensorPlace& place) { return place.output && index_of(place.tensor->scale) >= 0; });
  }
  bool any_zero_point_of_output() const {
    return any_tensor(
        [&](const TensorPlace& place) { return place.output && index_of(place.tensor->zero_point) >= 0; });
  }
  bool any_equal() const {
    return any_tensor([](const TensorPlace& place) { return !place.tensor->any_of_equal.empty(); });
  }
  bool any_inout() const {
    return any_tensor([](const TensorPlace& place) { return place.tensor->inout; });
  }
  bool any_drawn_by_kind() const {
    return any_tensor([&](const TensorPlace& place) { return is_drawn_by_kind(place); });
  }

  /// Of the tensors, of what the reference writes, and float.
  std::set<DType> dtypes() const {
    std::set<DType> used = {DType::f32};
    for (const TensorPlace& place : tensors_) {
      used.insert(dtype(*place.tensor));
      if (place.output) used.insert(wanted_.at(place.tensor->name));
    }
    return used;
  }

  /// Position among the tensors that are there; -1 for none.
  int index_of(const std::string& name) const {
    for (std::size_t i = 0; i < tensors_.size(); ++i) {
      if (tensors_[i].tensor->name == name) return static_cast<int>(i);
    }
    return -1;
  }

  /// Scales and zero points of inputs are computed from the values that they quantise.
  bool is_computed(const Tensor& tensor) const {
    return any_tensor([&](const TensorPlace& other) {
      return !other.output && (other.tensor->scale == tensor.name || other.tensor->zero_point == tensor.name);
    });
  }

  /// Whether it is drawn other than by N(0, 1).
  bool is_drawn_by_kind(const TensorPlace& place) const {
    const Tensor& tensor = *place.tensor;
    if ((place.output && !tensor.inout) || is_computed(tensor) || !tensor.scale.empty()) return false;
    return tensor.draw.kind != DrawKind::automatic || is_integer(dtype(tensor));
  }

  /// The statements that name the sizes of a call, whose first one begins a line and whose last one ends none.
  std::string parameters() const {
    std::vector<std::string> lines;
    for (const std::string& name : task_.shape_parameters)
      lines.push_back(fmt::format("  [[maybe_unused]] const long long {} = p[{}];", host_name(name), lines.size()));
    return fmt::format("{}", fmt::join(lines, "\n"));
  }

  std::string values_of(const Shape& shape) const {
    return joined(task_.shape_parameters, ", ",
                  [&](const std::string& name) { return expr::to_string(shape.parameters.at(name)); });
  }

  /// Without arguments the first timed shape is taken; of several kernels each at every shape it is for.
  std::string default_shapes() const {
    if (measured_.empty()) return fmt::format("{{{}}}", values_of(request_.provenance.target.timed.front()));
    return joined(measured_, ", ",
                  [&](const Measured& measured) { return fmt::format("{{{}}}", values_of(*measured.shape)); });
  }

  std::string supported_text() const {
    std::vector<std::string> texts;
    for (const Specialised& specialised : specialisations_) {
      if (!specialised.values.empty()) texts.push_back(condition_of(specialised));
    }
    std::string text = texts.empty() ? "" : fmt::format(", with {}", fmt::join(texts, " or "));
    if (!task_.legal.evaluate_partially(options_)) text += fmt::format(", where {}", task_.legal.text());
    const std::string quoted = c_literal(text);  // Within a format.
    std::string format;
    for (const char c : quoted.substr(1, quoted.size() - 2)) format += c == '%' ? "%%" : std::string(1, c);
    return format;
  }

  std::string references() const {
    std::string code;
    for (std::size_t i = 0; i < specialisations_.size(); ++i) {
      const Specialised& specialised = specialisations_[i];
      const std::string& source = specialised.request->references[specialised.program].source;
      code += "\n" + includes_of(source) + kernel_block(source, "", reference_block_of(specialised));
    }
    return code;
  }

  std::string claim(const Shape& shape, double us) const {
    return fmt::format("{{{}, {{{}}}, {:#.6g}}}", c_literal(shape.name), values_of(shape), us);
  }

  std::string claims() const {
    std::vector<std::string> rows;
    for (const Measured& measured : measured_) rows.push_back(claim(*measured.shape, measured.us));
    for (const Timing& timing : request_.provenance.timings) {
      if (timing.cold || !measured_.empty()) continue;
      for (const Shape& shape : request_.provenance.target.timed) {
        if (shape.name == timing.shape) rows.push_back(claim(shape, timing.median_us));
      }
    }
    // C++ has no empty array.
    if (rows.empty()) rows.push_back("{\"\", {}, 0.0}");
    return fmt::format("\nconst Claim claims[] = {{{}}};\n", fmt::join(rows, ", "));
  }

  std::string list_of(const std::vector<Expression>& expressions) const {
    std::vector<std::string> values;
    for (const Expression& expression : expressions) values.push_back(cpp(expression, options_));
    return fmt::format("{{{}}}", fmt::join(values, ", "));
  }

  std::string tensor_row(const TensorPlace& place) const {
    const Tensor& tensor = *place.tensor;
    return fmt::format("      {{{}, DType::{}, {}, {}}},\n", c_literal(tensor.name), main_dtype(dtype(tensor)),
                       place.output, list_of(tensor.dims));
  }

  /// Statements about tensor number `index` that its row leaves out.
  std::string tensor_details(std::size_t index) const {
    const TensorPlace& place = tensors_[index];
    const Tensor& tensor = *place.tensor;
    std::string code;
    const auto set = [&](std::string_view member, const std::string& value) {
      code += fmt::format("  tensors[{}].{} = {};\n", index, member, value);
    };
    if (!tensor.strides.empty()) set("strides", list_of(tensor.strides));
    if (index_of(tensor.scale) >= 0) set("scale", std::to_string(index_of(tensor.scale)));
    if (index_of(tensor.zero_point) >= 0) set("zero_point", std::to_string(index_of(tensor.zero_point)));
    if (is_computed(tensor)) set("computed", "true");
    if (is_drawn_by_kind(place)) code += main_draw(task_, options_, tensor, index);
    if (!place.output) return code;
    if (tensor.inout) set("inout", "true");
    if (const DType wanted = wanted_.at(tensor.name); wanted != DType::f32)
      set("wanted", "DType::" + main_dtype(wanted));
    if (!tensor.any_of_equal.empty()) set("any_of_equal", std::to_string(index_of(tensor.any_of_equal)));
    set("limits", limits_text(tensor));
    return code;
  }

  std::string limits_text(const Tensor& tensor) const {
    const Limits limits = limits_of_output(task_, tensor, options_, limits_of(task_, request_.provenance.target));
    return fmt::format("{{{:#}, {:#}, {:#}, {:#}, {:#}, {:#}, {:#}, {}}}", limits.relative_l2, limits.cosine,
                       limits.max_abs, limits.row_l2, limits.atol, limits.rtol,
                       is_integer(dtype(tensor)) ? limits.off_by_one : 0, limits.exact);
  }

  /// The bytes of the files that tensors are drawn from, without the header of a .npy (NEP 1).
  std::string draw_files() const {
    std::string code;
    for (std::size_t i = 0; i < tensors_.size(); ++i) {
      const Draw& draw = tensors_[i].tensor->draw;
      if (draw.kind == DrawKind::file && is_drawn_by_kind(tensors_[i])) code += main_draw_file(task_, draw, i);
    }
    return code.empty() ? "" : "\n" + code;
  }

  std::string tables() const {
    const std::string names = joined(task_.shape_parameters, ", ", c_literal);
    std::string code = fmt::format("\nconst std::string parameter_names[] = {{{}}};\n", names) + claims();
    code += draw_files();
    code += "\ninline std::vector<Tensor> tensors_of(const long long* p) {\n" + parameters();
    code += "\n  std::vector<Tensor> tensors = {\n";
    for (const TensorPlace& place : tensors_) code += tensor_row(place);
    code += "  };\n";
    if (any_tensor([](const TensorPlace& place) { return place.output; }))
      code += "  // relative_l2, cosine, max_abs, row_l2, atol, rtol, off_by_one, exact\n";
    for (std::size_t i = 0; i < tensors_.size(); ++i) code += tensor_details(i);
    code += "  return tensors;\n}\n\ninline double flops(const long long* p) {\n" + parameters();
    code += fmt::format("\n  return static_cast<double>({});\n}}\n", cpp(task_.flops, options_));
    code += "\ninline bool supported(const long long* p) {\n" + parameters() + "\n  return ";
    std::string supported = joined(specialisations_, " || ", [&](const Specialised& specialised) {
      return "(" + condition_of(specialised) + ")";
    });
    if (!task_.legal.evaluate_partially(options_))
      supported = fmt::format("({}) && {}", supported, cpp(as_condition(task_.legal), options_));
    return code + supported + ";\n}\n";
  }

  std::string pointer(std::size_t index) const {
    const std::string type = pointer_type(tensors_[index], request_);
    if (type.ends_with("void*")) return fmt::format("buffers[{}]", index);
    return fmt::format("static_cast<{}>(buffers[{}])", type, index);
  }

  /// Inputs come from `buffers`; outputs, which the reference writes in dtypes of its own, go to `oracle`.
  std::string reference_call() const {
    std::string code =
        "\ninline cudaError_t reference(const Buffers& buffers, const Buffers& oracle, const long long* p) "
        "{\n" +
        parameters() + "\n";
    for (const Specialised& specialised : specialisations_) {
      const Bindings known = joined(options_, specialised.values);
      code += fmt::format("  if ({}) {{\n", condition_of(specialised));
      std::vector<std::string> arguments;
      for (std::size_t i = 0; i < task_.reference_arguments.size(); ++i) {
        code += reference_argument(task_.reference_arguments[i], i, known);
        arguments.push_back(fmt::format("&argument_{}", i));
      }
      const auto triple = [&](const Expression(&dims)[3]) {
        return fmt::format("static_cast<unsigned>({}), static_cast<unsigned>({}), static_cast<unsigned>({})",
                           cpp(dims[0], known), cpp(dims[1], known), cpp(dims[2], known));
      };
      code += fmt::format("    void* arguments[] = {{{}}};\n", fmt::join(arguments, ", "));
      for (const ConstantSpec& constant : task_.reference_constants)
        code += reference_constant(constant, specialised, known);
      const std::string kernel = address_of(reference_kernel_of(specialised), reference_block_of(specialised));
      std::string smem = "0";
      if (task_.reference_smem.text() != "0") {
        smem = fmt::format("static_cast<size_t>({})", cpp(task_.reference_smem, known));
        code += fmt::format(
            "    if (cudaError_t e = cudaFuncSetAttribute({}, cudaFuncAttributeMaxDynamicSharedMemorySize,\n"
            "                                             static_cast<int>({})))\n      return e;\n",
            kernel, smem);
      }
      code += fmt::format("    return cudaLaunchKernel({}, dim3({}), dim3({}), arguments, {}, nullptr);\n  }}\n",
                          kernel, triple(task_.reference_grid), triple(task_.reference_block), smem);
    }
    return code + "  return cudaErrorInvalidValue;\n}\n";
  }

  std::string reference_constant(const ConstantSpec& constant, const Specialised& specialised,
                                 const Bindings& known) const {
    const int index = index_of(constant.value.text);
    if (index < 0 && task_.tensor(constant.value.text) != nullptr) return {};
    const std::optional<Value> used = constant.when.evaluate_partially(known);
    const std::string condition =
        used && Expression::constant(*used).evaluate_bool({}) ? "" : fmt::format("if ({}) ", cpp(constant.when, known));
    const auto write = [&](const Expression& value) { return cpp(value, known); };
    const KernelBlock block = reference_block_of(specialised);
    const std::string variable = fmt::format("{}::{}", block.name_space, symbol_of(constant.symbol, block));
    const std::string from = index < 0 ? "&argument_0" : fmt::format("buffers[{}]", index);
    return fmt::format(
        "    {0}{{\n{1}      if (cudaError_t e = cudaMemcpyToSymbol({2}, {3}, sizeof({2}), 0, {4}))\n"
        "        return e;\n    }}\n",
        condition, index < 0 ? declared_argument(constant.value, 0, write) : "", variable, from,
        index < 0 ? "cudaMemcpyHostToDevice" : "cudaMemcpyDeviceToDevice");
  }

  std::string reference_argument(const ArgumentSpec& argument, std::size_t position, const Bindings& known) const {
    const int index = index_of(argument.text);
    if (index >= 0) {
      const std::string_view side = tensors_[static_cast<std::size_t>(index)].output ? "oracle" : "buffers";
      return fmt::format("    void* argument_{} = {}[{}];\n", position, side, index);
    }
    if (task_.tensor(argument.text) != nullptr) return declared_null(position);
    return declared_argument(argument, position, [&](const Expression& value) { return cpp(value, known); });
  }

  const ExportRequest& request_;
  const Task& task_;
  const Bindings& options_;
  std::vector<TensorPlace> tensors_;     ///< Their positions are the program's indices.
  std::map<std::string, DType> wanted_;  ///< What the reference writes, by the output's name.
  const std::vector<Specialised>& kernels_;
  const std::vector<Measured>& measured_;
  std::vector<Specialised> specialisations_;  ///< The first kernel of each.
};

}  // namespace

std::string main_code(const std::vector<Specialised>& specialisations, const std::vector<Measured>& measured) {
  return MainWriter(specialisations, measured).write();
}

}  // namespace evo
