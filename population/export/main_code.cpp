#include "population/export/main_code.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "engine/device/device_kind.h"
#include "engine/expression/expression_cpp.h"
#include "population/export/fixed_text.h"
#include "population/export/kernel_source.h"
#include "population/export/text.h"

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
      : request_(*kernels.front().request), task_(request_.task), kernels_(kernels), measured_(measured) {
    for (const Specialised& kernel : kernels) {
      const auto same = [&](const Specialised& other) { return other.values == kernel.values; };
      if (std::none_of(specialisations_.begin(), specialisations_.end(), same)) specialisations_.push_back(kernel);
    }
  }

  std::string write() const {
    const std::string rank = std::to_string(task_.shape_parameters.size());
    const Provenance& provenance = request_.provenance;
    const Limits& limits = limits_of(task_, provenance.target);
    const std::string modelled = kind_named(provenance.device.kind).modelled ? "modelled, " : "";
    const std::vector<std::pair<std::string_view, std::string>> values = {
        {"@RANK@", rank},
        {"@TASK@", task_.name},
        {"@RELATIVE_L2@", limit(limits.relative_l2, "INFINITY")},
        {"@COSINE@", limit(limits.cosine, "-1.0")},
        {"@MAX_ABS@", limit(limits.max_abs, "0.0")},
        {"@CLAIMANT@", c_literal(modelled + provenance.device.name)},
        {"@DEFAULT_SHAPES@", default_shapes()},
        {"@KERNEL_NUMBER@", kernel_number()},
        {"@USAGE@", fmt::format("{}", fmt::join(task_.shape_parameters, ","))},
        {"@SUPPORTED@", supported_text()},
    };
    return std::string(kMainHead) + references() + filled(kMainTypes, values) + tables() + std::string(kMainData) +
           calls() + filled(kMainRun, values);
  }

 private:
  std::string cpp(const Expression& expression, const Bindings& known) const {
    return expr::to_cpp(expression, known, written_parameters(task_));
  }

  static std::string limit(double value, std::string_view none) {
    return value == 0 ? std::string(none) : fmt::format("{:#}", value);
  }

  std::string parameters() const {
    std::string code;
    for (std::size_t i = 0; i < task_.shape_parameters.size(); ++i) {
      code += fmt::format("  [[maybe_unused]] const long long {} = p[{}];\n", host_name(task_.shape_parameters[i]), i);
    }
    return code;
  }

  std::string values_of(const Shape& shape) const {
    std::vector<std::string> values;
    for (const std::string& name : task_.shape_parameters) {
      values.push_back(expr::to_string(shape.parameters.at(name)));
    }
    return fmt::format("{}", fmt::join(values, ", "));
  }

  /// Without arguments the first timed shape is taken; of several kernels each at every shape it is for.
  std::string default_shapes() const {
    if (measured_.empty()) return fmt::format("{{{}}}", values_of(request_.provenance.target.timed.front()));
    std::vector<std::string> shapes;
    for (const Measured& measured : measured_) shapes.push_back(fmt::format("{{{}}}", values_of(*measured.shape)));
    return fmt::format("{}", fmt::join(shapes, ", "));
  }

  /// The statement that names the kernel of a call.
  std::string kernel_number() const {
    if (measured_.empty()) return {};
    std::vector<std::string> sizes;
    for (std::size_t i = 0; i < task_.shape_parameters.size(); ++i)
      sizes.push_back(fmt::format("static_cast<int>(p[{}])", i));
    return fmt::format("  std::printf(\" kernel %d\", evo_{}_kernel({}));\n", task_.name, fmt::join(sizes, ", "));
  }

  std::string supported_text() const {
    std::vector<std::string> texts;
    for (const Specialised& specialised : specialisations_) {
      if (!specialised.values.empty()) texts.push_back(condition_of(specialised));
    }
    return texts.empty() ? "" : fmt::format(", with {}", fmt::join(texts, " or "));
  }

  std::string references() const {
    std::string code;
    for (std::size_t i = 0; i < specialisations_.size(); ++i) {
      const Specialised& specialised = specialisations_[i];
      code += "\n" + kernel_block(specialised.request->references[specialised.program].source, "",
                                  reference_space(specialised), {task_.reference_kernel}, specialised.suffix);
    }
    return code;
  }

  static std::string reference_space(const Specialised& specialised) { return specialised.name_space + "_reference"; }

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

  int index_of(const std::string& name) const {
    for (std::size_t i = 0; i < task_.inputs.size(); ++i) {
      if (task_.inputs[i].name == name) return static_cast<int>(i);
    }
    return -1;
  }

  bool holds_scales(const Tensor& tensor) const {
    return std::any_of(task_.inputs.begin(), task_.inputs.end(),
                       [&](const Tensor& t) { return t.scale == tensor.name; });
  }

  std::string tensor_row(const Tensor& tensor, bool output) const {
    const Bindings& options = request_.provenance.target.options;
    std::vector<std::string> dims;
    for (const Expression& dim : tensor.dims) dims.push_back(cpp(dim, options));
    if (dims.empty()) dims.emplace_back("1LL");
    return fmt::format("      {{{}, DType::{}, {}, {}, {}, {}}},\n", c_literal(tensor.name),
                       name_of(dtype_of(tensor, options)), output, fmt::join(dims, " * "), index_of(tensor.scale),
                       holds_scales(tensor));
  }

  std::string tables() const {
    std::vector<std::string> names;
    for (const std::string& name : task_.shape_parameters) names.push_back(c_literal(name));
    std::string code =
        fmt::format("\nconst std::string parameter_names[] = {{{}}};\n", fmt::join(names, ", ")) + claims();
    code += "\ninline std::vector<Tensor> tensors_of(const long long* p) {\n" + parameters() + "  return {\n";
    for (const Tensor& tensor : task_.inputs) code += tensor_row(tensor, false);
    for (const Tensor& tensor : task_.outputs) code += tensor_row(tensor, true);
    code += "  };\n}\n\ninline double flops(const long long* p) {\n" + parameters();
    code +=
        fmt::format("  return static_cast<double>({});\n}}\n", cpp(task_.flops, request_.provenance.target.options));
    code += "\ninline bool supported(const long long* p) {\n" + parameters() + "  return ";
    std::vector<std::string> conditions;
    for (const Specialised& specialised : specialisations_) conditions.push_back("(" + condition_of(specialised) + ")");
    return code + fmt::format("{};\n}}\n", fmt::join(conditions, " || "));
  }

  std::string pointer(const Tensor& tensor, std::size_t index, bool output) const {
    const bool typed = dtype_of(tensor, request_.provenance.target.options) == DType::f32;
    if (!typed) return fmt::format("buffers[{}]", index);
    return fmt::format("static_cast<{}float*>(buffers[{}])", output ? "" : "const ", index);
  }

  /// Calls of the launcher and the reference, as kMainRun uses them.
  std::string calls() const {
    std::vector<std::string> arguments;
    for (const Tensor& tensor : task_.inputs) arguments.push_back(pointer(tensor, arguments.size(), false));
    for (const Tensor& tensor : task_.outputs) arguments.push_back(pointer(tensor, arguments.size(), true));
    std::vector<std::string> sizes;
    for (const std::string& name : task_.shape_parameters)
      sizes.push_back(fmt::format("static_cast<int>({})", host_name(name)));
    const bool workspace = needs_workspace(kernels_);
    std::string code = "\ninline size_t workspace_bytes([[maybe_unused]] const long long* p) {\n";
    if (workspace) {
      code += parameters() + fmt::format("  return evo_{}_workspace_bytes({});\n", task_.name, fmt::join(sizes, ", "));
    } else {
      code += "  return 0;\n";
    }
    code +=
        "}\n\ninline cudaError_t call(const Buffers& buffers, [[maybe_unused]] void* workspace, const long "
        "long* p, cudaStream_t stream) {\n";
    code += parameters();
    code += fmt::format("  return evo_{}({}, {}, {}stream);\n}}\n", task_.name, fmt::join(arguments, ", "),
                        fmt::join(sizes, ", "), workspace ? "workspace, " : "");
    return code + reference_call();
  }

  /// Inputs come from `buffers`, outputs, which the reference writes as f32, go to `oracle`.
  std::string reference_call() const {
    std::string code =
        "\ninline cudaError_t reference(const Buffers& buffers, const Buffers& oracle, const long long* p) "
        "{\n" +
        parameters();
    for (const Specialised& specialised : specialisations_) {
      Bindings known = request_.provenance.target.options;
      known.insert(specialised.values.begin(), specialised.values.end());
      code += fmt::format("  if ({}) {{\n", condition_of(specialised));
      std::vector<std::string> arguments;
      for (std::size_t i = 0; i < task_.reference_arguments.size(); ++i) {
        const std::string& name = task_.reference_arguments[i].text;
        code += "    " + reference_argument(name, i, known);
        arguments.push_back(fmt::format("&argument_{}", i));
      }
      const auto triple = [&](const Expression(&dims)[3]) {
        return fmt::format("static_cast<unsigned>({}), static_cast<unsigned>({}), static_cast<unsigned>({})",
                           cpp(dims[0], known), cpp(dims[1], known), cpp(dims[2], known));
      };
      code += fmt::format("    void* arguments[] = {{{}}};\n", fmt::join(arguments, ", "));
      code += fmt::format(
          "    return cudaLaunchKernel((const void*)&{}::{}, dim3({}), dim3({}), arguments, 0, nullptr);\n  "
          "}}\n",
          reference_space(specialised), symbol_of(task_.reference_kernel, specialised), triple(task_.reference_grid),
          triple(task_.reference_block));
    }
    return code + "  return cudaErrorInvalidValue;\n}\n";
  }

  std::string reference_argument(const std::string& name, std::size_t position, const Bindings& known) const {
    for (std::size_t i = 0; i < task_.inputs.size(); ++i) {
      if (task_.inputs[i].name == name) return fmt::format("void* argument_{} = buffers[{}];\n", position, i);
    }
    for (std::size_t i = 0; i < task_.outputs.size(); ++i) {
      if (task_.outputs[i].name == name) {
        return fmt::format("void* argument_{} = oracle[{}];\n", position, task_.inputs.size() + i);
      }
    }
    return fmt::format("int argument_{} = static_cast<int>({});\n", position, cpp(Expression::parse(name), known));
  }

  const ExportRequest& request_;
  const Task& task_;
  const std::vector<Specialised>& kernels_;
  const std::vector<Measured>& measured_;
  std::vector<Specialised> specialisations_;  ///< The first kernel of each.
};

}  // namespace

std::string main_code(const std::vector<Specialised>& specialisations, const std::vector<Measured>& measured) {
  return MainWriter(specialisations, measured).write();
}

}  // namespace evo
