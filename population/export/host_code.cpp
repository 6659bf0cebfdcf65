#include "population/export/host_code.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "population/code/alignment.h"
#include "population/code/launch_function.h"
#include "population/code/signature.h"
#include "population/code/text.h"
#include "population/export/choice.h"

namespace evo::embedded {
extern const std::string_view export_host_helpers;  // host_helpers.cuh
}

namespace evo {
namespace {

std::string listed_texts(const std::vector<Expression>& expressions) {
  std::vector<std::string> texts;
  for (const Expression& expression : expressions) texts.push_back(expression.text());
  return fmt::format("[{}]", fmt::join(texts, ", "));
}

std::string scale_doc(const Tensor& tensor) {
  if (tensor.scale.empty()) return {};
  if (tensor.zero_point.empty()) return fmt::format(", real value = code * {}", tensor.scale);
  return fmt::format(", real value = (code - {}) * {}", tensor.zero_point, tensor.scale);
}

std::string strides_doc(const Tensor& tensor) {
  if (tensor.strides.empty()) return {};
  if (tensor.strides.size() == 2 && tensor.strides[1].text() == "1")
    return fmt::format(", rows are {} elements apart", tensor.strides[0].text());
  return fmt::format(", strides {} in elements", listed_texts(tensor.strides));
}

std::string tensor_doc(const ExportRequest& request, const TensorPlace& place) {
  const Tensor& tensor = *place.tensor;
  const DType dtype = dtype_of(tensor, request.provenance.target.options);
  const std::string_view direction = tensor.inout ? "in out" : place.output ? "out" : "in ";
  const std::string_view packed = bits_of(dtype) < 8 ? ", two in a byte, the first in its low half" : "";
  return comment_safe(fmt::format("//   {:<8} {} {} {}{}{}{}", host_name(tensor.name), direction, name_of(dtype),
                                  listed_texts(tensor.dims), packed, scale_doc(tensor), strides_doc(tensor))) +
         "\n";
}

/// What task and families require of the sizes, beyond what is known before a launch.
std::vector<std::string> requirement_texts(const std::vector<Specialised>& specialisations) {
  std::vector<std::string> texts;
  for (const Specialised& specialised : specialisations) {
    for (const Expression* required : {&specialised.request->task.legal, &specialised.request->family.legal}) {
      const bool open = !required->evaluate_partially(specialised.scope);
      if (open && std::ranges::find(texts, required->text()) == texts.end()) texts.push_back(required->text());
    }
  }
  return texts;
}

/// The variables that calls fill, each once.
std::vector<std::string> filled_variables(const std::vector<Specialised>& specialisations) {
  std::vector<std::string> symbols;
  for (const Specialised& specialised : specialisations) {
    for (const ConstantSpec& constant : specialised.request->family.constants)
      if (std::ranges::find(symbols, constant.symbol) == symbols.end()) symbols.push_back(constant.symbol);
  }
  return symbols;
}

/// Each set of specialised values once, in order.
std::vector<const Specialised*> distinct(const std::vector<Specialised>& specialisations) {
  std::vector<const Specialised*> first;
  for (const Specialised& specialised : specialisations) {
    const auto same = [&](const Specialised* other) { return other->values == specialised.values; };
    if (std::none_of(first.begin(), first.end(), same)) first.push_back(&specialised);
  }
  return first;
}

std::string supported(const std::vector<Specialised>& specialisations) {
  std::vector<std::string> texts;
  for (const Specialised* specialised : distinct(specialisations)) {
    std::vector<std::string> values;
    for (const auto& [name, value] : specialised->values) values.push_back(name + " = " + expr::to_string(value));
    if (!values.empty()) texts.push_back(fmt::format("{}", fmt::join(values, ", ")));
  }
  return fmt::format("{}", fmt::join(texts, " or "));
}

/// Writes the public functions of the file. `choosing`: a call's kernel is chosen by its size.
class LauncherWriter {
 public:
  LauncherWriter(const std::vector<Specialised>& specialisations, bool choosing)
      : specialisations_(specialisations),
        request_(*specialisations.front().request),
        task_(request_.task),
        signature_(signature_of(request_)),
        choosing_(choosing),
        workspace_(needs_workspace(specialisations)) {}

  std::string write() const {
    return (choosing_ ? kernel_number() : "") + (workspace_ ? workspace_bytes() : "") + launcher();
  }

  std::string declarations() const {
    const std::string bytes =
        fmt::format("size_t {}_workspace_bytes({});\n", name(), fmt::join(signature_.sizes, ", "));
    return (workspace_ ? bytes : "") + head(");");
  }

 private:
  const std::string& name() const { return specialisations_.front().names.launcher; }

  /// A function of the host namespace.
  std::string host(const std::string& function) const {
    return specialisations_.front().names.name_space("host") + "::" + function;
  }

  std::string doc() const {
    std::string doc = task_.summary.empty() ? "" : comment_safe("// " + task_.summary) + "\n";
    bool strided = false;
    for (const TensorPlace& place : present_tensors(request_)) {
      doc += tensor_doc(request_, place);
      strided = strided || !place.tensor->strides.empty();
    }
    doc += fmt::format(
        "// Tensors are device memory, row-major and densely packed{}; their addresses are multiples of {}.\n",
        strided ? " but where strides are given" : "", kTensorAlignment);
    if (workspace_) {
      doc += fmt::format(
          "//   workspace  device memory of {}_workspace_bytes(...) bytes for this call alone; its address is a "
          "multiple "
          "of {}, as cudaMalloc's\n",
          name(), kWorkspaceAlignment);
    }
    if (choosing_) doc += fmt::format("// {}_kernel(...) tells which kernel runs.\n", name());
    if (const auto filled = filled_variables(specialisations_); !filled.empty())
      doc += comment_safe(fmt::format("// Fills {} in the stream, ahead of the kernels: calls that overlap must fill "
                                      "the same. Latencies above leave that out.",
                                      fmt::join(filled, ", "))) +
             "\n";
    doc +=
        "// Returns once everything is in the stream; keeps nothing that depends on thread, stream or context.\n"
        "// cudaErrorNoKernelImageForDevice: the file was compiled for none of the device's targets that run it.\n"
        "// cudaErrorInvalidValue: a size is not positive or too large,\n"
        "// or an address is null or not aligned";
    const std::string values = supported(specialisations_);
    if (!values.empty()) doc += ",\n// or it is not one that this file has a kernel for: " + values;
    for (const std::string& required : requirement_texts(specialisations_))
      doc += ",\n" + comment_safe("// or the sizes do not meet what is required: " + required);
    return doc + ".\n";
  }

  /// "case 1: " in a switch over the chosen kernel, else "if (D == 64) ".
  std::string guard(std::size_t index) const {
    if (choosing_) return fmt::format("    case {}: ", index);
    return fmt::format("  if ({}) ", condition_of(specialisations_[index]));
  }

  /// The rest of a function of the sizes, from its parameters on: `answer` for the kernel that a call of this size
  /// takes, `refused` for a size that is refused.
  template <class Answer>
  std::string size_function(Answer answer, std::string_view refused) const {
    std::string code = fmt::format("({}) {{\n  if ({}) return {};\n", fmt::join(signature_.sizes, ", "),
                                   signature_.not_positive, refused);
    code += open();
    for (std::size_t i = 0; i < specialisations_.size(); ++i)
      code += fmt::format("{}return {} ? {} : {};\n", guard(i), accepted(i), answer(i), refused);
    return code + close(refused);
  }

  std::string open() const {
    if (!choosing_) return {};
    return fmt::format("  switch ({}({})) {{\n", host("choose"), signature_.shape);
  }
  std::string close(std::string_view otherwise) const {
    return choosing_ ? fmt::format("    default: return {};\n  }}\n}}\n", otherwise)
                     : fmt::format("  return {};\n}}\n", otherwise);
  }

  /// Whether the kernel takes a call of this size.
  std::string accepted(std::size_t index) const {
    return fmt::format("{}({{{}}})", host("accepted" + tail_of(specialisations_[index])), signature_.shape);
  }

  std::string kernel_number() const {
    return fmt::format(
               "\n// The number of the kernel that a call of {0} of this size runs, as at the top of this file; -1 "
               "for a size\n// that it refuses.\nint {0}_kernel",
               name()) +
           size_function([](std::size_t i) { return std::to_string(i); }, "-1");
  }

  std::string workspace_bytes() const {
    const auto bytes = [this](std::size_t i) {
      return fmt::format("static_cast<size_t>({}({}).all)", host("workspaces" + tail_of(specialisations_[i])),
                         signature_.shape);
    };
    return fmt::format(
               "\n// Bytes of scratch memory that a call of {0} of this size needs; 0 for a size that it refuses.\n"
               "size_t {0}_workspace_bytes",
               name()) +
           size_function(bytes, "0");
  }

  /// The launcher up to its body.
  std::string head(std::string_view tail) const {
    std::vector<std::string> parameters = signature_.tensors;
    parameters.insert(parameters.end(), signature_.sizes.begin(), signature_.sizes.end());
    if (workspace_) parameters.emplace_back("void* workspace");
    parameters.emplace_back("cudaStream_t stream");
    return wrapped(fmt::format("cudaError_t {}(", name()), parameters, tail);
  }

  /// Checks, then the launch function of one kernel.
  std::string launcher() const {
    std::string code = "\n" + doc() + head(") {");
    code += fmt::format("  if ({}) return cudaErrorInvalidValue;\n", signature_.not_positive);
    code += fmt::format("  if (!{}({{{}}}, {})) return cudaErrorInvalidValue;\n", host("aligned"),
                        fmt::join(signature_.arguments, ", "), kTensorAlignment);
    code += open();
    for (std::size_t i = 0; i < specialisations_.size(); ++i) {
      std::vector<std::string> arguments = signature_.arguments;
      arguments.insert(arguments.end(), {signature_.shape, workspace_ ? "workspace" : "nullptr", "stream"});
      code += wrapped(fmt::format("{}return {}(", guard(i), host("launch" + tail_of(specialisations_[i]))), arguments,
                      ");");
    }
    return code + close("cudaErrorInvalidValue");
  }

  const std::vector<Specialised>& specialisations_;
  const ExportRequest& request_;
  const Task& task_;
  Signature signature_;
  bool choosing_;
  bool workspace_;
};

}  // namespace

std::string host_code(const std::vector<Specialised>& specialisations, const std::vector<Measured>& measured,
                      const TargetGuard& guard) {
  const std::string host = specialisations.front().names.name_space("host");
  std::string launches;
  for (const Specialised& specialised : specialisations) launches += launch_function(specialised, !guard.macro.empty());
  const auto uses = [&](std::string_view text) { return launches.find(text) != std::string::npos; };
  std::string code =
      "\n" + rendered(embedded::export_host_helpers,
                      {{"host", host},
                       {"other_target", guard.macro},
                       {"guarded", !guard.macro.empty()},
                       {"reals", uses("static_cast<double>")},
                       {"tensor_maps", std::ranges::any_of(specialisations,
                                                           [](const Specialised& s) {
                                                             return !s.request->family.tensor_maps.empty();
                                                           })},
                       {"shared_memory", uses(" = allow_shared_memory(")},
                       {"more_shared_memory", uses(" = allow_more_shared_memory(")},
                       {"fills", uses(" = fill(")}});
  code += launches;
  if (!measured.empty()) code += choice_code(specialisations, measured);
  return code + fmt::format("\n}}  // namespace {}\n\n#pragma GCC visibility pop\n", host) +
         LauncherWriter(specialisations, !measured.empty()).write();
}

std::string launcher_declarations(const std::vector<Specialised>& specialisations) {
  return LauncherWriter(specialisations, false).declarations();
}

}  // namespace evo
