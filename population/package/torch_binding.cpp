#include "population/package/torch_binding.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <set>

#include "engine/base/text.h"
#include "engine/expression/expression_cpp.h"
#include "population/code/alignment.h"
#include "population/code/text.h"
#include "population/export/export.h"
#include "population/package/filled.h"

// torch_binding.cpp.in, ...
namespace evo::embedded {
extern const std::string_view torch_binding, torch_binding_checks, torch_classic, torch_function;
}  // namespace evo::embedded

namespace evo {
namespace {

/// Writes what is particular to a call.
class BindingWriter {
 public:
  explicit BindingWriter(const TorchBinding& binding) : binding_(binding), call_(binding.call) {}

  /// Operators of torch.
  std::string operators() const {
    std::string declarations;
    for (std::size_t i = 0; i < binding_.launchers.size(); ++i)
      declarations += fmt::format("// kernels/{}.cu\n{}", binding_.launchers[i], launcher_declarations(programs_of(i)));
    return filled(embedded::torch_binding, {{"NAME", binding_.request.name},
                                            {"CLASSIC", std::string(embedded::torch_classic)},
                                            {"DECLARATIONS", declarations},
                                            {"FUNCTIONS", functions()},
                                            {"SCHEMAS", schemas()},
                                            {"IMPLEMENTATIONS", implementations()}});
  }

  /// A function of pybind11 in the file of the launchers.
  std::string function(const std::string& name) const {
    return "\n" +
           filled(embedded::torch_function,
                  {{"CLASSIC", std::string(embedded::torch_classic)}, {"FUNCTIONS", functions()}, {"FUNCTION", name}});
  }

 private:
  std::string functions() const {
    std::string dtypes;
    for (const TorchDType& dtype : torch_dtypes())
      dtypes += fmt::format("case ScalarType::{}: return \"{}\";\n", dtype.scalar, dtype.python);
    std::string code =
        filled(embedded::torch_binding_checks,
               {{"NAME", binding_.request.name}, {"DTYPES", dtypes}, {"ALIGNMENT", std::to_string(kTensorAlignment)}});
    if (!binding_.measured.empty()) code += choice_code(binding_.kernels, binding_.measured);
    return code + sizes() + into_outputs() + functional();
  }

  /// The programs of one of the request's kernels, by its launcher's name.
  std::vector<Specialised> programs_of(std::size_t kernel) const {
    std::vector<Specialised> programs;
    for (const Specialised& program : binding_.kernels) {
      if (program.request != &binding_.request.kernels[kernel]) continue;
      programs.push_back(program);
      programs.back().names.launcher = binding_.launchers[kernel];
    }
    return programs;
  }

  /// "const Tensor& q": the tensors that are read, then the sizes that are arguments.
  std::vector<std::string> read_parameters() const {
    std::vector<std::string> parameters;
    for (const TorchTensor* tensor : call_.read()) parameters.push_back("const Tensor& " + tensor->name);
    for (const std::string& size : call_.size_arguments()) parameters.push_back("int64_t " + size);
    return parameters;
  }

  std::string read_arguments() const {
    std::string arguments = names_of(call_.read());
    for (const std::string& size : call_.size_arguments()) arguments += ", " + size;
    return arguments;
  }

  std::string cpp(const Expression& expression) const { return to_cpp(expression, call_.options); }

  std::string listed(const std::vector<Expression>& expressions) const {
    return joined(expressions, ", ", [&](const Expression& expression) { return cpp(expression); });
  }

  /// "const Sizes sizes = sizes_of(q, k, v);" and the names of the sizes that are not arguments.
  std::string known_sizes() const {
    std::string code = fmt::format("  const Sizes sizes = sizes_of({});\n", read_arguments());
    for (const TorchSize& size : call_.sizes)
      if (!size.argument) code += fmt::format("  [[maybe_unused]] const int64_t {0} = sizes.{0};\n", size.parameter);
    return code;
  }

  std::string sizes() const {
    std::string code = "\n// The sizes of a call, as its tensors have them.\nstruct Sizes {\n";
    for (const TorchSize& size : call_.sizes) code += fmt::format("  int64_t {};\n", size.parameter);
    code += "};\n\n" + unused(wrapped("Sizes sizes_of(", read_parameters(), ") {"));
    std::set<std::size_t> asked;
    for (const TorchSize& size : call_.sizes) {
      if (size.argument || !asked.insert(size.tensor).second) continue;
      const TorchTensor& tensor = call_.tensors[size.tensor];
      code += fmt::format("  expect_dims({0}, \"{0}\", {1});\n", tensor.name, tensor.tensor->dims.size());
    }
    std::vector<std::string> values;
    for (const TorchSize& size : call_.sizes)
      values.push_back(size.argument ? size.parameter
                                     : fmt::format("{}.size({})", call_.tensors[size.tensor].name, size.dim));
    code += fmt::format("  const Sizes sizes = {{{}}};\n", fmt::join(values, ", "));
    code += "  for (const int64_t size : {";
    values.clear();
    for (const TorchSize& size : call_.sizes) values.push_back("sizes." + size.parameter);
    code += fmt::format("{}}}) EVO_CHECK(size <= 2147483647, \"a size of \", size, \" is too large\");\n",
                        fmt::join(values, ", "));
    return code + "  return sizes;\n}\n";
  }

  static std::string unused(std::string parameters) {
    for (std::size_t at = 0; (at = parameters.find("const Tensor& ", at)) != std::string::npos; at += 30)
      parameters.insert(at, "[[maybe_unused]] ");
    return parameters;
  }

  std::string expectation(const TorchTensor& tensor) const {
    const TorchTensor& first = *call_.read().front();
    std::string code = fmt::format("  expect({0}, \"{0}\", ScalarType::{1}, {{{2}}}, {3}, \"{3}\");\n", tensor.name,
                                   tensor.dtype->scalar, listed(tensor.tensor->dims), first.name);
    if (tensor.tensor->strides.empty()) return code + fmt::format("  expect_contiguous({0}, \"{0}\");\n", tensor.name);
    return code +
           fmt::format("  expect_strides({0}, \"{0}\", {{{1}}});\n", tensor.name, listed(tensor.tensor->strides));
  }

  static std::string address(const TorchTensor& tensor) {
    if (tensor.output) {
      return tensor.pointer == "void*"
                 ? tensor.name + ".mutable_data_ptr()"
                 : fmt::format("static_cast<{}>({}.mutable_data_ptr())", tensor.pointer, tensor.name);
    }
    return tensor.pointer == "const void*"
               ? tensor.name + ".const_data_ptr()"
               : fmt::format("static_cast<{}>({}.const_data_ptr())", tensor.pointer, tensor.name);
  }

  /// The cases of the kernel's programs.
  std::string labels(std::size_t kernel) const {
    std::string text;
    for (std::size_t i = 0; i < binding_.kernels.size(); ++i)
      if (binding_.kernels[i].request == &binding_.request.kernels[kernel])
        text += fmt::format("{}    case {}:", text.empty() ? "" : "\n", i);
    return text;
  }

  /// The statements that call a kernel's launcher, each line after `indent`.
  std::string call_of(std::size_t kernel, std::string_view indent) const {
    std::vector<std::string> arguments;
    for (const TorchTensor& tensor : call_.tensors) arguments.push_back(address(tensor));
    std::vector<std::string> sizes;
    for (const TorchSize& size : call_.sizes) sizes.push_back(fmt::format("static_cast<int>({})", size.parameter));
    arguments.insert(arguments.end(), sizes.begin(), sizes.end());
    const std::string& launcher = binding_.launchers[kernel];
    std::string code;
    if (needs_workspace(programs_of(kernel))) {
      code += fmt::format(
          "{0}const int64_t bytes = static_cast<int64_t>({1}_workspace_bytes({2}));\n"
          "{0}const Tensor workspace = new_tensor({3}, {{bytes}}, ScalarType::Byte);\n",
          indent, launcher, fmt::join(sizes, ", "), call_.read().front()->name);
      arguments.emplace_back("workspace.mutable_data_ptr()");
    }
    arguments.emplace_back("stream");
    return code + wrapped(fmt::format("{}status = {}(", indent, launcher), arguments, ");");
  }

  /// The operator that writes into tensors of the caller.
  std::string into_outputs() const {
    std::vector<std::string> parameters;
    for (const TorchTensor& tensor : call_.tensors)
      if (!tensor.output) parameters.push_back("const Tensor& " + tensor.name);
    for (const TorchTensor* tensor : call_.outputs()) parameters.push_back("const Tensor& " + tensor->name);
    for (const std::string& size : call_.size_arguments()) parameters.push_back("int64_t " + size);
    std::string code = "\n" + wrapped("void into_outputs(", parameters, ") {") + known_sizes();
    for (const TorchTensor& tensor : call_.tensors) code += expectation(tensor);
    const std::string& first = call_.read().front()->name;
    code += fmt::format(
        "  const DeviceGuard guard(device_number({0}));\n"
        "  const cudaStream_t stream = cuda_stream(device_number({0}));\n"
        "  cudaError_t status = cudaErrorInvalidValue;\n",
        first);
    std::vector<std::string> sizes;
    for (const TorchSize& size : call_.sizes) sizes.push_back(size.parameter);
    if (binding_.measured.empty()) {
      code += call_of(0, "  ");
    } else {
      code += fmt::format("  switch (choose({})) {{\n", fmt::join(sizes, ", "));
      for (std::size_t kernel = 0; kernel < binding_.launchers.size(); ++kernel)
        code += fmt::format("{} {{\n{}      break;\n    }}\n", labels(kernel), call_of(kernel, "      "));
      code += "    default: break;\n  }\n";
    }
    std::string size_texts;
    for (const std::string& size : sizes)
      size_texts += fmt::format("{}\"{} = \", {}", size_texts.empty() ? "" : ", \", \", ", size, size);
    code += fmt::format(
        "  EVO_CHECK(status != cudaErrorInvalidValue, \"no kernel for \", {}, \": {}.supports() says which sizes there "
        "are\");\n",
        size_texts, binding_.request.name);
    return code + "  EVO_CHECK(status == cudaSuccess, \"CUDA error: \", cudaGetErrorString(status));\n}\n";
  }

  /// The operator that returns new tensors.
  std::string functional() const {
    const std::vector<const TorchTensor*> outputs = call_.outputs();
    std::string type = "Tensor";
    if (outputs.size() > 1) {
      std::vector<std::string> types(outputs.size(), "Tensor");
      type = fmt::format("std::tuple<{}>", fmt::join(types, ", "));
    }
    std::string code = "\n" + wrapped(type + " functional(", read_parameters(), ") {") + known_sizes();
    std::vector<std::string> arguments;
    std::vector<std::string> results;
    for (const TorchTensor& tensor : call_.tensors) {
      if (!tensor.output) {
        arguments.push_back(tensor.name);
        continue;
      }
      results.push_back(fmt::format("new_{}", tensor.name));
      const std::string made = tensor.tensor->inout
                                   ? fmt::format("copied({})", tensor.name)
                                   : fmt::format("new_tensor({}, {{{}}}, ScalarType::{})", call_.read().front()->name,
                                                 listed(tensor.tensor->dims), tensor.dtype->scalar);
      code += fmt::format("  Tensor {} = {};\n", results.back(), made);
    }
    arguments.insert(arguments.end(), results.begin(), results.end());
    for (const std::string& size : call_.size_arguments()) arguments.push_back(size);
    code += fmt::format("  into_outputs({});\n", fmt::join(arguments, ", "));
    const std::string all = fmt::format("{}", fmt::join(results, ", "));
    return code +
           (results.size() == 1 ? fmt::format("  return {};\n}}\n", all) : fmt::format("  return {{{}}};\n}}\n", all));
  }

  std::string schemas() const {
    const std::string& name = call_.task->name;
    std::vector<std::string> read;
    std::vector<std::string> written;
    char alias = 'a';
    for (const TorchTensor* tensor : call_.read()) read.push_back("Tensor " + tensor->name);
    for (const TorchTensor& tensor : call_.tensors)
      written.push_back(tensor.output ? fmt::format("Tensor({}!) {}", alias++, tensor.name) : "Tensor " + tensor.name);
    for (const std::string& size : call_.size_arguments()) {
      read.push_back("int " + size);
      written.push_back("int " + size);
    }
    const std::vector<std::string> results(call_.outputs().size(), "Tensor");
    const std::string result = results.size() == 1 ? "Tensor" : fmt::format("({})", fmt::join(results, ", "));
    return fmt::format("m.def(\"{0}({1}) -> {2}\");\nm.def(\"{0}_out({3}) -> ()\");\n", name, fmt::join(read, ", "),
                       result, fmt::join(written, ", "));
  }

  std::string implementations() const {
    return fmt::format("m.impl(\"{0}\", EVO_BOX(functional));\nm.impl(\"{0}_out\", EVO_BOX(into_outputs));\n",
                       call_.task->name);
  }

  const TorchBinding& binding_;
  const TorchCall& call_;
};

}  // namespace

std::string torch_binding_code(const TorchBinding& binding) {
  return BindingWriter(binding).operators();
}

std::string torch_function_source(const TorchBinding& binding, const std::string& function) {
  std::string code =
      "// torch forbids the operators of small floats, which kernels may use.\n#undef __CUDA_NO_HALF_OPERATORS__\n"
      "#undef __CUDA_NO_HALF_CONVERSIONS__\n#undef __CUDA_NO_HALF2_OPERATORS__\n"
      "#undef __CUDA_NO_BFLOAT16_CONVERSIONS__\n";
  for (std::size_t i = 0; i < binding.launchers.size(); ++i) {
    const std::string file = export_cuda(binding.request.kernels[i], binding.launchers[i]);
    code += file.substr(0, file.find("#ifdef EVO_MAIN")) + "#endif  // __CUDACC_RTC__\n";
  }
  return code + BindingWriter(binding).function(function);
}

}  // namespace evo
