#include "population/package/torch_call.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

#include "engine/base/error.h"
#include "engine/expression/expression_python.h"

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

std::string python_shape(const Tensor& tensor, const Bindings& options) {
  std::string shape = "(";
  for (const Expression& dim : tensor.dims) shape += to_python(dim, options) + ", ";
  if (tensor.dims.size() > 1) shape.resize(shape.size() - 2);
  return tensor.dims.size() == 1 ? shape.substr(0, shape.size() - 1) + ")" : shape + ")";
}

std::string names_of(const std::vector<const TorchTensor*>& tensors) {
  std::vector<std::string> names;
  for (const TorchTensor* tensor : tensors) names.push_back(tensor->name);
  return fmt::format("{}", fmt::join(names, ", "));
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
    if (std::ranges::find(task.specialised, parameter) == task.specialised.end())
      text += fmt::format("{} > 0 and ", parameter);
  return fmt::format("{}({})", text, fmt::join(cases, " or "));
}

}  // namespace evo
