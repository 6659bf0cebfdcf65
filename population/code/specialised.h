#pragma once

#include <string>
#include <vector>

#include "engine/expression/expression_cpp.h"
#include "population/code/kernel_source.h"
#include "population/code/request.h"

namespace evo {

/// The names that an exported file defines.
struct FileNames {
  std::string launcher;  ///< "evo_fp8_sdpa": the launcher's name, with which the other public names begin.
  std::string content;   ///< "1f0c6ab97d25": of what the file holds. Every name that is not public carries it.

  /// "evo_fp8_sdpa_1f0c6ab97d25_host"
  std::string name_space(const std::string& of) const { return launcher + "_" + content + "_" + of; }
};

/// The kernels of one specialisation as an exported file names them.
struct Specialised {
  const ExportRequest* request = nullptr;  ///< Its family and genome make the kernels.
  std::size_t program = 0;                 ///< Index into the request's programs.
  FileNames names;
  Bindings values;         ///< {D: 64}
  std::string suffix;      ///< "D64", of several kernels "k0_D64"; empty when the name needs none.
  std::string name_space;  ///< "evo_fp8_sdpa_1f0c6ab97d25_D64"
  Bindings scope;          ///< Everything that is known before a launch, folded into the host code.
};

enum class Naming {
  by_specialisation,
  numbered,  ///< Names carry the kernel's number, as several kernels have one specialisation.
};

/// Every program of every request, in order. They refer to the requests.
std::vector<Specialised> specialised_of(const std::vector<ExportRequest>& requests, const FileNames& names,
                                        Naming naming);

/// Whether a shape is of the specialisation.
bool is_of(const Shape& shape, const Bindings& specialisation);

/// A shape that was timed, and the kernel that was fastest at it.
struct Measured {
  std::size_t kernel = 0;  ///< Index into the file's kernels.
  const Shape* shape = nullptr;
  double us = 0;  ///< Median with warm caches.
};

/// The C++ name of a launch's kernel, and of the reference's: "scale", "ns::scale", "reduce<float, 256>".
std::string kernel_of(const LaunchSpec& launch, const Specialised& specialised);
std::string reference_kernel_of(const Specialised& specialised);

/// The namespace of the family's kernels, and that of the reference.
KernelBlock block_of(const Specialised& specialised);
KernelBlock reference_block_of(const Specialised& specialised);

/// The name of a tensor, shape parameter, workspace or tensor map in the host code: its own name, or "evo_" and its
/// name when C++ or the host code has another use for that name.
std::string host_name(const std::string& name);

/// "evo_fp8_sdpa"
std::string default_launcher(const std::string& task);

/// Whether a function may have this name in C and C++.
bool is_function_name(const std::string& name);

/// host_name of the task's shape parameters, for expressions.
expr::WrittenNames written_parameters(const Task& task);

/// A tensor that is there under the chosen options.
struct TensorPlace {
  const Tensor* tensor = nullptr;
  bool output = false;
};

/// The tensors of a call: the inputs, then the outputs, in the task's order.
std::vector<TensorPlace> present_tensors(const ExportRequest& request);

/// "const float*": the launcher's type for a tensor. C++ has none for 8-bit codes and small floats: "void*".
std::string pointer_type(const TensorPlace& place, const ExportRequest& request);

/// The expression, which may be an integer, as true or false.
Expression as_condition(const Expression& expression);

/// "D == 64": the condition under which a call is of this specialisation.
std::string condition_of(const Specialised& specialised);

/// Whether calls may need scratch memory. The launcher then takes a workspace argument.
bool needs_workspace(const std::vector<Specialised>& specialisations);

}  // namespace evo
