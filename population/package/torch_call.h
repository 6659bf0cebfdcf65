#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "population/code/specialised.h"
#include "population/export/choice.h"
#include "population/package/kernels_to_package.h"

/// A call of the exported kernels as torch sees it: tensors with dtypes and shapes, sizes that follow from them.
namespace evo {

/// The names of a dtype in torch.
struct TorchDType {
  DType dtype;
  std::string_view python;  ///< "torch.float16"
  std::string_view scalar;  ///< "Half", of ScalarType
};
/// Every dtype that torch has.
const std::vector<TorchDType>& torch_dtypes();

struct TorchTensor {
  const Tensor* tensor = nullptr;
  std::string name;     ///< In Python and C++.
  std::string pointer;  ///< The launcher's type: "const float*".
  const TorchDType* dtype = nullptr;
  bool output = false;
  bool read = false;  ///< An input, or an output that holds values before the call.
};

/// Where a size is read: dimension `dim` of `tensor`.
struct TorchSize {
  std::string parameter;
  std::size_t tensor = 0;  ///< Index into the call's tensors, which is read.
  std::size_t dim = 0;
  bool argument = false;  ///< No tensor that is read tells it: an argument of the call.
};

struct TorchCall {
  const Task* task = nullptr;
  Bindings options;
  std::vector<TorchTensor> tensors;  ///< In the launcher's order: inputs, then outputs.
  std::vector<TorchSize> sizes;      ///< In the order of the task's shape parameters.

  std::vector<const TorchTensor*> read() const;     ///< In order.
  std::vector<const TorchTensor*> outputs() const;  ///< In order.
  std::vector<std::string> size_arguments() const;  ///< The parameters that are arguments.
};

/// Throws usage_error for a tensor that torch cannot hold: of a dtype that it lacks, or an output with strides.
TorchCall torch_call(const ExportRequest& request);

/// The launchers of the package's kernels: the package's name, with a number where there are several.
std::vector<std::string> launchers_of(const PackageRequest& request);

/// By which a call's kernel is chosen; empty for one kernel. A specialisation that no timed shape has is the first
/// kernel's that has it. `kernels`: of the request, numbered.
std::vector<Measured> measured_to_choose(const PackageRequest& request, const std::vector<Specialised>& kernels);

/// The architecture of a kernel's device as torch writes it: "9.0a".
std::string torch_arch(const ExportRequest& kernel);

/// Fit for a string of Python, of TOML and for Markdown.
std::string plain_text(const std::string& text);
/// What the task says of itself, likewise; its name where it says nothing.
std::string summary_of(const Task& task);

/// "q, k, v": what a call takes, tensors and sizes.
std::string call_arguments(const TorchCall& call);

/// "q=q, k=k": the same for the task's reference.py.
std::string arguments_by_name(const TorchCall& call);

/// The options as items of a dictionary: "mask": "none", "scaled": True.
std::string python_options(const TorchCall& call);

/// Python that draws the arguments of a call, a line for each, by the functions of torch_draws.py.
std::string drawn_inputs(const TorchCall& call);

/// The dims as Python: "(B, H, S, D)".
std::string python_shape(const Tensor& tensor, const Bindings& options);

/// "(q, k, v)" without the parentheses.
std::string names_of(const std::vector<const TorchTensor*>& tensors);

/// The condition under which a size has a kernel, in Python: "(D == 64 or D == 128) and M % 8 == 0". If several kernels
/// have one specialisation, the size must meet the requirements of each.
std::string python_support(const std::vector<Specialised>& kernels);

}  // namespace evo
