#include "population/package/torch_call.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

#include "engine/base/error.h"
#include "engine/base/text.h"
#include "engine/expression/expression_python.h"
#include "population/code/text.h"

namespace evo {
namespace {

/// Words that a schema, Python or the packages' own texts have another use for.
const std::set<std::string_view> kPythonWords = {
    "False",    "None",   "True",     "and",       "as",     "assert", "async",    "await",  "break",  "class",
    "continue", "def",    "del",      "elif",      "else",   "from",   "except",   "for",    "global", "finally",
    "if",       "import", "in",       "is",        "lambda", "not",    "or",       "pass",   "raise",  "return",
    "try",      "while",  "nonlocal", "with",      "yield",  "self",   "out",      "math",   "torch",  "ops",
    "stream",   "status", "choose",   "workspace", "kernel", "sizes",  "supports", "launch", "first"};

std::string torch_name(const std::string& name) {
  return kPythonWords.contains(name) || host_name(name) != name ? name + "_" : name;
}

const TorchDType& torch_dtype(const Tensor& tensor, DType dtype) {
  const auto found = std::ranges::find(torch_dtypes(), dtype, &TorchDType::dtype);
  if (found != torch_dtypes().end()) return *found;
  throw usage_error(
      fmt::format("{} is {}, for which torch has no dtype: export one .cu file instead (without --format)", tensor.name,
                  name_of(dtype)));
}

}  // namespace

const std::vector<TorchDType>& torch_dtypes() {
  static const std::vector<TorchDType> dtypes = {
      {DType::boolean, "torch.bool", "Bool"},
      {DType::u8, "torch.uint8", "Byte"},
      {DType::s8, "torch.int8", "Char"},
      {DType::s16, "torch.int16", "Short"},
      {DType::s32, "torch.int32", "Int"},
      {DType::s64, "torch.int64", "Long"},
      {DType::e4m3, "torch.float8_e4m3fn", "Float8_e4m3fn"},
      {DType::e5m2, "torch.float8_e5m2", "Float8_e5m2"},
      {DType::f16, "torch.float16", "Half"},
      {DType::bf16, "torch.bfloat16", "BFloat16"},
      {DType::f32, "torch.float32", "Float"},
      {DType::f64, "torch.float64", "Double"},
  };
  return dtypes;
}

std::vector<const TorchTensor*> TorchCall::read() const {
  std::vector<const TorchTensor*> found;
  for (const TorchTensor& tensor : tensors)
    if (tensor.read) found.push_back(&tensor);
  return found;
}

std::vector<const TorchTensor*> TorchCall::outputs() const {
  std::vector<const TorchTensor*> found;
  for (const TorchTensor& tensor : tensors)
    if (tensor.output) found.push_back(&tensor);
  return found;
}

std::vector<std::string> TorchCall::size_arguments() const {
  std::vector<std::string> found;
  for (const TorchSize& size : sizes)
    if (size.argument) found.push_back(size.parameter);
  return found;
}

TorchCall torch_call(const ExportRequest& request) {
  TorchCall call{&request.task, request.provenance.target.options, {}, {}};
  for (const TensorPlace& place : present_tensors(request)) {
    const Tensor& tensor = *place.tensor;
    if (place.output && !tensor.strides.empty())
      throw usage_error(fmt::format("{} has strides: packages for torch return dense tensors", tensor.name));
    call.tensors.push_back({&tensor, torch_name(tensor.name), pointer_type(place, request),
                            &torch_dtype(tensor, dtype_of(tensor, call.options)), place.output,
                            !place.output || tensor.inout});
  }
  for (const std::string& parameter : request.task.shape_parameters) {
    if (kPythonWords.contains(parameter) || host_name(parameter) != parameter)
      throw usage_error(
          fmt::format("the shape parameter '{}' is a word of Python, C++ or torch: rename it", parameter));
    TorchSize size{parameter, 0, 0, true};
    for (std::size_t i = 0; i < call.tensors.size() && size.argument; ++i) {
      const Tensor& tensor = *call.tensors[i].tensor;
      for (std::size_t dim = 0; dim < tensor.dims.size() && size.argument && call.tensors[i].read; ++dim) {
        if (to_python(tensor.dims[dim], call.options) == parameter) size = {parameter, i, dim, false};
      }
    }
    call.sizes.push_back(size);
  }
  return call;
}

std::vector<std::string> launchers_of(const PackageRequest& request) {
  if (request.kernels.size() == 1) return {request.name};
  std::vector<std::string> launchers;
  for (std::size_t i = 0; i < request.kernels.size(); ++i) launchers.push_back(fmt::format("{}_{}", request.name, i));
  return launchers;
}

std::vector<Measured> measured_to_choose(const PackageRequest& request, const std::vector<Specialised>& kernels) {
  if (request.kernels.size() == 1) return {};
  std::vector<Measured> all = measured_of(kernels);
  std::set<std::string> known;
  for (const Measured& m : all) known.insert(condition_of(kernels[m.kernel]));
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    if (!known.insert(condition_of(kernels[i])).second) continue;
    const std::vector<Shape>& validated = kernels[i].request->provenance.target.validated;
    const auto shape = std::ranges::find_if(validated, [&](const Shape& one) { return is_of(one, kernels[i].values); });
    if (shape != validated.end()) all.push_back({i, &*shape, 0});
  }
  return all;
}

std::string torch_arch(const ExportRequest& kernel) {
  std::string arch = kernel.provenance.device.arch;  // "sm_90a"
  arch = arch.substr(arch.find('_') + 1);
  return arch.insert(arch.find_last_of("0123456789"), ".");
}

std::string plain_text(const std::string& text) {
  std::string plain = comment_safe(text);
  std::ranges::replace(plain, '"', '\'');
  std::ranges::replace(plain, '\\', '/');
  return plain;
}

std::string summary_of(const Task& task) {
  return plain_text(task.summary.empty() ? task.name : task.summary);
}

std::string call_arguments(const TorchCall& call) {
  std::string arguments = names_of(call.read());
  for (const std::string& size : call.size_arguments()) arguments += ", " + size;
  return arguments;
}

std::string arguments_by_name(const TorchCall& call) {
  std::vector<std::string> arguments;
  for (const TorchTensor* tensor : call.read())
    arguments.push_back(fmt::format("{}={}", tensor->tensor->name, tensor->name));
  for (const std::string& size : call.size_arguments()) arguments.push_back(fmt::format("{0}={0}", size));
  return fmt::format("{}", fmt::join(arguments, ", "));
}

std::string python_options(const TorchCall& call) {
  std::vector<std::string> items;
  for (const auto& [name, value] : call.options)
    items.push_back(fmt::format("\"{}\": {}", name, expr::python_literal(value)));
  return fmt::format("{}", fmt::join(items, ", "));
}

std::string drawn_inputs(const TorchCall& call) {
  std::string code;
  for (const TorchTensor* tensor : call.read()) {
    const bool floating = is_floating(tensor->dtype->dtype);
    std::string_view draw = floating ? "normal" : tensor->tensor->scale.empty() ? "zeros" : "codes";
    for (const TorchTensor& other : call.tensors) {
      if (other.tensor->scale == tensor->tensor->name)
        draw = is_floating(other.dtype->dtype) ? "scales_of_floats" : "scales_of_integers";
      if (other.tensor->zero_point == tensor->tensor->name) draw = "random_zero_points";
    }
    code += fmt::format("{}({}, *{}),\n", draw, tensor->dtype->python, python_shape(*tensor->tensor, call.options));
  }
  for (const std::string& size : call.size_arguments()) code += fmt::format("{},\n", size);
  return code;
}

std::string python_shape(const Tensor& tensor, const Bindings& options) {
  std::string shape = "(";
  for (const Expression& dim : tensor.dims) shape += to_python(dim, options) + ", ";
  if (tensor.dims.size() > 1) shape.resize(shape.size() - 2);
  return tensor.dims.size() == 1 ? shape.substr(0, shape.size() - 1) + ")" : shape + ")";
}

std::string names_of(const std::vector<const TorchTensor*>& tensors) {
  return joined(tensors, ", ", &TorchTensor::name);
}

std::string python_support(const std::vector<Specialised>& kernels) {
  std::map<std::string, std::vector<std::string>> requirements;  // by specialisation
  std::vector<std::string> order;
  for (const Specialised& kernel : kernels) {
    std::vector<std::string> values;
    for (const auto& [name, value] : kernel.values)
      values.push_back(fmt::format("{} == {}", name, expr::python_literal(value)));
    const std::string condition = fmt::format("{}", fmt::join(values, " and "));
    if (!requirements.contains(condition)) order.push_back(condition);
    std::vector<std::string>& required = requirements[condition];
    for (const Expression* legal : {&kernel.request->task.legal, &kernel.request->family.legal}) {
      const std::string text = to_python(*legal, kernel.scope);
      if (text != "True" && std::ranges::find(required, text) == required.end()) required.push_back(text);
    }
  }
  std::vector<std::string> cases;
  for (const std::string& condition : order) {
    std::vector<std::string> all = requirements[condition];
    if (!condition.empty()) all.insert(all.begin(), condition);
    cases.push_back(all.empty() ? "True" : fmt::format("({})", fmt::join(all, " and ")));
  }
  const Task& task = kernels.front().request->task;
  std::string text;
  for (const std::string& parameter : task.shape_parameters)
    if (!task.is_specialised(parameter)) text += fmt::format("{} > 0 and ", parameter);
  return fmt::format("{}({})", text, fmt::join(cases, " or "));
}

}  // namespace evo
