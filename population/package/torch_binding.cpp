#include "population/package/torch_binding.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <set>

#include "engine/expression/expression_cpp.h"
#include "population/export/export.h"
#include "population/export/host_code.h"
#include "population/export/text.h"

namespace evo {
namespace {

// @NAME@ @CLASSIC@
constexpr std::string_view kBindingHead =
    R"cuda(// Binds the kernels of @NAME@ to torch. Written by evo export --format torch.
#ifndef Py_LIMITED_API
#define Py_LIMITED_API 0x03090000
#endif
#include <Python.h>

#include <cuda_runtime.h>
#include <torch/version.h>

#include <cmath>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

// torch's stable ABI: what is built with one version runs with later ones. Before torch 2.10 the classic one.
#if !defined(EVO_CLASSIC_TORCH) && (TORCH_VERSION_MAJOR > 2 || (TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR >= 10))
#ifndef TORCH_TARGET_VERSION
#define TORCH_TARGET_VERSION 0x020a000000000000ULL
#endif
#ifndef USE_CUDA
#define USE_CUDA
#endif
#include <torch/csrc/inductor/aoti_torch/c/shim.h>
#include <torch/csrc/stable/accelerator.h>
#include <torch/csrc/stable/library.h>
#include <torch/csrc/stable/ops.h>
#include <torch/csrc/stable/tensor.h>
#include <torch/headeronly/core/ScalarType.h>

using Tensor = torch::stable::Tensor;
using ScalarType = torch::headeronly::ScalarType;
using DeviceGuard = torch::stable::accelerator::DeviceGuard;

static Tensor new_tensor(const Tensor& like, std::vector<int64_t> sizes, ScalarType dtype) { return torch::stable::new_empty(like, sizes, dtype); }
[[maybe_unused]] static Tensor copied(const Tensor& tensor) { return torch::stable::clone(tensor); }
static int device_number(const Tensor& tensor) { return tensor.get_device_index(); }
static cudaStream_t cuda_stream(int device) {
  void* stream = nullptr;
  TORCH_ERROR_CODE_CHECK(aoti_torch_get_current_cuda_stream(device, &stream));
  return static_cast<cudaStream_t>(stream);
}
// Not STD_TORCH_CHECK: its stream of characters crashes where a compiler links libstdc++ into each library.
[[noreturn]] static void refuse(const std::string& why) { throw std::runtime_error(why); }
#define EVO_LIBRARY(space, m) STABLE_TORCH_LIBRARY(space, m)
#define EVO_LIBRARY_IMPL(space, key, m) STABLE_TORCH_LIBRARY_IMPL(space, key, m)
#define EVO_BOX(function) TORCH_BOX(&function)
#else
@CLASSIC@#include <torch/library.h>
#define EVO_LIBRARY(space, m) TORCH_LIBRARY(space, m)
#define EVO_LIBRARY_IMPL(space, key, m) TORCH_LIBRARY_IMPL(space, key, m)
#define EVO_BOX(function) &function
#endif

)cuda";

constexpr std::string_view kClassicInterface = R"cuda(#include <ATen/ATen.h>
#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAGuard.h>

using Tensor = at::Tensor;
using ScalarType = at::ScalarType;
using DeviceGuard = c10::cuda::CUDAGuard;

static Tensor new_tensor(const Tensor& like, std::vector<int64_t> sizes, ScalarType dtype) { return at::empty(sizes, like.options().dtype(dtype)); }
[[maybe_unused]] static Tensor copied(const Tensor& tensor) { return tensor.clone(); }
static int device_number(const Tensor& tensor) { return tensor.get_device(); }
static cudaStream_t cuda_stream(int device) { return at::cuda::getCurrentCUDAStream(static_cast<c10::DeviceIndex>(device)); }
[[noreturn]] static void refuse(const std::string& why) {
  TORCH_CHECK(false, why);
  throw std::runtime_error(why);  // Not reached.
}
)cuda";

// @NAME@ @DTYPES@ @ALIGNMENT@
constexpr std::string_view kBindingChecks = R"cuda(
namespace {

std::string text_of(const std::string& text) { return text; }
std::string text_of(int64_t number) { return std::to_string(number); }
std::string text_of(const std::vector<int64_t>& sizes) {
  std::string text;
  for (const int64_t size : sizes) text += (text.empty() ? "" : ", ") + std::to_string(size);
  return "[" + text + "]";
}
std::string text_of(ScalarType dtype) {
  switch (dtype) {
@DTYPES@    default: return "another dtype";
  }
}

// "@NAME@: " and the parts.
template <class... Parts>
std::string said(const Parts&... parts) {
  std::string text = "@NAME@: ";
  ((text += text_of(parts)), ...);
  return text;
}

#define EVO_CHECK(right, ...) do { if (!(right)) refuse(said(__VA_ARGS__)); } while (false)

void expect_dims(const Tensor& tensor, const char* name, int64_t dims) {
  EVO_CHECK(tensor.dim() == dims, "expected ", name, " to have ", dims, " dimensions, but got ", int64_t{tensor.dim()});
}

// What every tensor must be, besides contiguous or of certain strides.
void expect(const Tensor& tensor, const char* name, ScalarType dtype, const std::vector<int64_t>& sizes, const Tensor& first, const char* first_name) {
  EVO_CHECK(tensor.is_cuda(), "expected ", name, " to be a CUDA tensor");
  EVO_CHECK(device_number(tensor) == device_number(first), "expected all tensors to be on the same device, but ", name, " is on cuda:", int64_t{device_number(tensor)}, " and ",
            first_name, " on cuda:", int64_t{device_number(first)});
  EVO_CHECK(tensor.scalar_type() == dtype, "expected ", name, " to be ", dtype, ", but got ", tensor.scalar_type());
  expect_dims(tensor, name, static_cast<int64_t>(sizes.size()));
  std::vector<int64_t> got;
  for (int64_t dim = 0; dim < tensor.dim(); ++dim) got.push_back(tensor.size(dim));
  EVO_CHECK(got == sizes, "expected ", name, " of shape ", sizes, ", but got ", got);
  EVO_CHECK(reinterpret_cast<std::uintptr_t>(tensor.const_data_ptr()) % @ALIGNMENT@ == 0, "expected ", name, " to begin at a multiple of @ALIGNMENT@ bytes: ", name, ".clone() does");
}

[[maybe_unused]] void expect_contiguous(const Tensor& tensor, const char* name) {
  EVO_CHECK(tensor.is_contiguous(), "expected ", name, " to be contiguous: ", name, ".contiguous() is");
}

[[maybe_unused]] void expect_strides(const Tensor& tensor, const char* name, const std::vector<int64_t>& strides) {
  std::vector<int64_t> got;
  bool right = true;
  for (int64_t dim = 0; dim < tensor.dim(); ++dim) {
    got.push_back(tensor.stride(dim));
    right = right && (tensor.size(dim) < 2 || got.back() == strides[static_cast<size_t>(dim)]);
  }
  EVO_CHECK(right, "expected ", name, " with strides ", strides, ", but got ", got);
}
)cuda";

// @SCHEMAS@ @IMPLEMENTATIONS@
constexpr std::string_view kBindingTail = R"cuda(
}  // namespace

// The builder names the extension, and with it the operators' namespace.
#define EVO_EXPANDED(macro, ...) macro(__VA_ARGS__)
#define EVO_JOINED_(a, b) a##b
#define EVO_JOINED(a, b) EVO_JOINED_(a, b)
#define EVO_TEXT_(text) #text
#define EVO_TEXT(text) EVO_TEXT_(text)

EVO_EXPANDED(EVO_LIBRARY, TORCH_EXTENSION_NAME, m) {
@SCHEMAS@}

EVO_EXPANDED(EVO_LIBRARY_IMPL, TORCH_EXTENSION_NAME, CUDA, m) {
@IMPLEMENTATIONS@}

// Importing the library registers the operators; the module itself is empty.
PyMODINIT_FUNC EVO_JOINED(PyInit_, TORCH_EXTENSION_NAME)() {
  static PyModuleDef module = {PyModuleDef_HEAD_INIT, EVO_TEXT(TORCH_EXTENSION_NAME), nullptr, 0, nullptr, nullptr, nullptr, nullptr, nullptr};
  return PyModule_Create(&module);
}
)cuda";

// @CLASSIC@ @FUNCTION@
constexpr std::string_view kFunctionHead = R"cuda(
// ---- Binds the launcher to torch.
#include <torch/extension.h>
@CLASSIC@)cuda";

constexpr std::string_view kFunctionTail = R"cuda(
}  // namespace

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  m.def("@FUNCTION@", &functional);
}
)cuda";

/// Writes what is particular to a call.
class BindingWriter {
 public:
  explicit BindingWriter(const TorchBinding& binding) : binding_(binding), call_(binding.call) {}

  /// Operators of torch.
  std::string operators() const {
    const std::string& name = binding_.request.name;
    std::string code = filled(kBindingHead, {{"@NAME@", name}, {"@CLASSIC@", std::string(kClassicInterface)}}) + "\n";
    for (std::size_t i = 0; i < binding_.launchers.size(); ++i)
      code += fmt::format("// kernels/{}.cu\n{}", binding_.launchers[i], launcher_declarations(programs_of(i)));
    return code + functions() +
           filled(kBindingTail, {{"@SCHEMAS@", schemas()}, {"@IMPLEMENTATIONS@", implementations()}});
  }

  /// A function of pybind11 in the file of the launchers.
  std::string function(const std::string& name) const {
    return filled(kFunctionHead, {{"@CLASSIC@", std::string(kClassicInterface)}}) + functions() +
           filled(kFunctionTail, {{"@FUNCTION@", name}});
  }

 private:
  std::string functions() const {
    std::string dtypes;
    for (const TorchDType& dtype : torch_dtypes())
      dtypes += fmt::format("    case ScalarType::{}: return \"{}\";\n", dtype.scalar, dtype.python);
    std::string code = filled(
        kBindingChecks,
        {{"@NAME@", binding_.request.name}, {"@DTYPES@", dtypes}, {"@ALIGNMENT@", std::to_string(kTensorAlignment)}});
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
    std::vector<std::string> values;
    for (const Expression& expression : expressions) values.push_back(cpp(expression));
    return fmt::format("{}", fmt::join(values, ", "));
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
    return fmt::format("  m.def(\"{0}({1}) -> {2}\");\n  m.def(\"{0}_out({3}) -> ()\");\n", name, fmt::join(read, ", "),
                       result, fmt::join(written, ", "));
  }

  std::string implementations() const {
    return fmt::format("  m.impl(\"{0}\", EVO_BOX(functional));\n  m.impl(\"{0}_out\", EVO_BOX(into_outputs));\n",
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
